"""libinfiniccl and libinfinirt through ctypes, as a C program uses them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import infinicore
from infinicore.ccl._prototypes import PROTOTYPES, UniqueId

FOLDER = Path(infinicore.__file__).parent / "_root" / "lib"
CPU, SUCCESS = 0, 0
SUM, PROD, MAX, MIN, AVG = range(5)
OPS = {"sum": SUM, "prod": PROD, "max": MAX, "min": MIN, "avg": AVG}
# infiniDtype_t of NumPy's names.
DTYPES = {
    "int8": 3,
    "int16": 4,
    "int32": 5,
    "int64": 6,
    "uint8": 7,
    "uint16": 8,
    "uint32": 9,
    "uint64": 10,
    "float8_e4m3fn": 11,
    "float16": 12,
    "float32": 13,
    "float64": 14,
    "bfloat16": 19,
    "bool": 2,
    "complex64": 17,
}

rt = ctypes.CDLL(str(FOLDER / "libinfinirt.so"), mode=ctypes.RTLD_GLOBAL)
ccl = ctypes.CDLL(str(FOLDER / "libinfiniccl.so"))
rt.infiniGetLastErrorMessage.restype = ctypes.c_char_p
for _name, _types in PROTOTYPES.items():
    getattr(ccl, _name).argtypes = list(_types)


class CclError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(rt.infiniGetLastErrorMessage().decode())
        self.status = status


def call(name: str, *arguments: Any) -> None:
    status = getattr(ccl, f"infiniccl{name}")(*arguments)
    if status != SUCCESS:
        raise CclError(status)


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
    return rt.infiniGetLastErrorMessage().decode() if status.value else ""
