"""libinfiniccl and libinfinirt through ctypes, as a C program uses them."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import infinicore
from infinicore.ccl._library import CclError, call, last_message
from infinicore.ccl._prototypes import UniqueId

FOLDER = Path(infinicore.__file__).parent / "_root" / "lib"
CPU, SUCCESS = 0, 0
DEVICE = os.environ.get("INFINI_DEVICE") or "cpu"  # pytest's --device
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


def kind() -> int:
    number: int = infinicore.device(DEVICE)._underlying[0]
    return number


def place(rank: int) -> int:
    """The device of a rank of this process. All ranks share the first CPU; GPUs are shared where
    NCCL is configured for it, else the test is skipped."""
    if DEVICE == "cpu":
        return 0
    count = infinicore.get_device_count(DEVICE)
    if rank >= count and not can_share_devices():
        import pytest  # ranks in processes of their own do without

        pytest.skip(f"needs {rank + 1} devices, or a library that lets ranks share one")
    return rank % count


@functools.cache
def can_share_devices() -> bool:
    """NCCL must be configured for it, and not every version supports it."""
    if os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") != "1":
        return False
    made = (ctypes.c_void_p * 2)()
    try:
        call("CommInitAll", kind(), made, 2, (ctypes.c_int * 2)(0, 0))
    except CclError as error:
        if not re.search("Duplicate GPU|same GPU", str(error)):
            raise
        return False
    for handle in made:
        call("CommDestroy", ctypes.c_void_p(handle))
    return True


def use(rank: int) -> None:
    """Makes the rank's device the current one."""
    if DEVICE != "cpu":
        assert rt.infinirtSetDevice(kind(), place(rank)) == SUCCESS


def new_stream(rank: int = 0) -> ctypes.c_void_p:
    use(rank)
    stream = ctypes.c_void_p()
    assert rt.infinirtStreamCreate(ctypes.byref(stream)) == SUCCESS
    return stream


def wait(stream: ctypes.c_void_p) -> None:
    assert rt.infinirtStreamSynchronize(stream) == SUCCESS


def outcome(comm: ctypes.c_void_p, stream: ctypes.c_void_p | None) -> str:
    """The error of a communicator after the stream's work; empty: none."""
    status = rt.infinirtStreamSynchronize(stream)
    said = failure(comm)
    assert status == SUCCESS or said, "the wait fails, and the communicator does not say why"
    return said


@contextmanager
def communicators(ranks: int) -> Iterator[list[ctypes.c_void_p]]:
    """Of one process."""
    numbers = [place(rank) for rank in range(ranks)]
    made = (ctypes.c_void_p * ranks)()
    call("CommInitAll", kind(), made, ranks, (ctypes.c_int * ranks)(*numbers))
    handles = [ctypes.c_void_p(handle) for handle in made]
    yield handles
    for handle in handles:
        call("CommDestroy", handle)


# ---- Arrays in a device's memory -----------------------------------------------------------------

_TO_DEVICE, _TO_HOST = 1, 2
_there: dict[int, tuple[Any, ctypes.c_void_p]] = {}  # arrays that have a copy on a device


def address(array: Any) -> ctypes.c_void_p:
    """The memory that an operation uses: the array on the CPU, else a copy on the current
    device."""
    if DEVICE == "cpu":
        return ctypes.c_void_p(array.ctypes.data)
    if id(array) not in _there and array.nbytes:
        memory = ctypes.c_void_p()
        assert rt.infinirtMalloc(ctypes.byref(memory), ctypes.c_size_t(array.nbytes)) == SUCCESS
        _there[id(array)] = (array, memory)
        upload(array)
    return _there[id(array)][1] if array.nbytes else ctypes.c_void_p()


def _copy(to: ctypes.c_void_p, source: ctypes.c_void_p, array: Any, direction: int) -> None:
    assert rt.infinirtMemcpy(to, source, ctypes.c_size_t(array.nbytes), direction) == SUCCESS


def upload(array: Any) -> None:
    if DEVICE != "cpu":
        _copy(_there[id(array)][1], ctypes.c_void_p(array.ctypes.data), array, _TO_DEVICE)


def download(array: Any) -> None:
    if DEVICE != "cpu":
        _copy(ctypes.c_void_p(array.ctypes.data), _there[id(array)][1], array, _TO_HOST)


def fetch() -> None:
    """Copies all arrays back that have a copy on a device."""
    for array, memory in _there.values():
        download(array)
        assert rt.infinirtFree(memory) == SUCCESS
    _there.clear()


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
    """The error of a communicator since then; empty: none."""
    status = ctypes.c_int()
    call("CommGetAsyncError", comm, ctypes.byref(status))
    return last_message() if status.value else ""
