"""libinfiniccl and libinfinirt through ctypes, as a C program uses them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import infinicore
from infinicore.ccl._library import CclError, call, last_message
from infinicore.ccl._prototypes import UniqueId

FOLDER = Path(infinicore.__file__).parent / "_root" / "lib"
CPU, SUCCESS = 0, 0
SUM, PROD, MAX, MIN, AVG = range(5)
OPS = {"sum": SUM, "prod": PROD, "max": MAX, "min": MIN, "avg": AVG}
# infiniDtype_t of NumPy's names.
NAMES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float16", "float32", "float64", "bfloat16", "bool", "complex64"),
)
DTYPES = {name: getattr(infinicore, name)._underlying for name in NAMES}

rt = ctypes.CDLL(str(FOLDER / "libinfinirt.so"))

__all__ = ["CclError", "UniqueId", "call"]  # for the tests, with what follows


def new_stream() -> ctypes.c_void_p:
    stream = ctypes.c_void_p()
    assert rt.infinirtStreamCreate(ctypes.byref(stream)) == SUCCESS
    return stream


def wait(stream: ctypes.c_void_p) -> None:
    assert rt.infinirtStreamSynchronize(stream) == SUCCESS


@contextmanager
def communicators(ranks: int) -> Iterator[list[ctypes.c_void_p]]:
    """Of one process, all on its first CPU device."""
    made = (ctypes.c_void_p * ranks)()
    call("CommInitAll", CPU, made, ranks, (ctypes.c_int * ranks)(*[0] * ranks))
    handles = [ctypes.c_void_p(handle) for handle in made]
    yield handles
    for handle in handles:
        call("CommDestroy", handle)


def unique_id() -> UniqueId:
    made = UniqueId()
    call("GetUniqueId", ctypes.byref(made))
    return made


def join(ranks: int, made: UniqueId, rank: int) -> ctypes.c_void_p:
    comm = ctypes.c_void_p()
    call("CommInitRank", ctypes.byref(comm), ranks, made, rank)
    return comm


def counts(numbers: list[int]) -> Any:
    return (ctypes.c_size_t * len(numbers))(*numbers)


def failure(comm: ctypes.c_void_p) -> str:
    """What went wrong in a communicator since; empty: nothing."""
    status = ctypes.c_int()
    call("CommGetAsyncError", comm, ctypes.byref(status))
    return last_message() if status.value else ""
