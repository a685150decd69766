"""Memory that is shared with NumPy, torch and others, and how long it lives."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import infinicore as ic
from kit.requirements import need

pytestmark = pytest.mark.host  # test_exchange_device.py has the rest


@pytest.fixture(scope="module")
def torch() -> Any:
    return need("torch")


NAMES = "float32 float64 float16 int8 int16 int32 int64 uint8 uint16 bool complex64"
TYPES = f"{NAMES} bfloat16 float8_e4m3fn complex128"


@pytest.mark.parametrize("name", TYPES.split())
def test_torch_both_ways(torch: Any, name: str) -> None:
    source = torch.arange(6, dtype=torch.float32).to(getattr(torch, name)).reshape(2, 3)
    for there in (source, source.T, source[:, ::2], source[0, 0], source[:0]):
        tensor = ic.from_torch(there)
        assert tensor.dtype is ic.utils.to_infinicore_dtype(there.dtype)
        assert tuple(tensor.shape) == tuple(there.shape) and tensor.stride() == there.stride()
        assert tensor.numel() == 0 or tensor.data_ptr() == there.data_ptr()
        back = torch.from_dlpack(tensor)
        assert back.dtype is there.dtype and back.shape == there.shape
        assert back.data_ptr() == there.data_ptr() or there.numel() == 0
        assert back.stride() == there.stride()
    if name not in ("bool", "float8_e4m3fn"):
        tensor = ic.from_torch(source)
        tensor[0, 0] = 5
        assert source[0, 0] == 5


def test_torch_of_other_kinds(torch: Any) -> None:
    assert ic.from_torch(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    with pytest.raises(TypeError, match="from_torch: expected a torch tensor"):
        ic.from_torch(np.ones(2))
    with pytest.raises(TypeError, match="from_dlpack"):
        ic.from_dlpack(3)


def test_memory_lives(torch: Any) -> None:
    source = torch.ones(1000)
    gone = weakref.ref(source)
    tensor = ic.from_torch(source)
    view = tensor[10:20]
    del source, tensor
    gc.collect()
    assert view.tolist() == [1] * 10
    del view
    gc.collect()
    assert gone() is None
    # The other way.
    tensor = ic.ones(1000)
    before = ic.memory_stats()["allocated"]
    there, array = torch.from_dlpack(tensor), tensor.numpy()
    del tensor
    assert there.sum() == 1000 and array.sum() == 1000
    assert ic.memory_stats()["allocated"] == before
    del there, array
    gc.collect()
    assert ic.memory_stats()["allocated"] < before


def test_owner_of_a_buffer_lives() -> None:
    class Array(np.ndarray):
        pass

    array = np.arange(100.0).view(Array)
    gone = weakref.ref(array)
    tensor = ic.as_tensor(array)
    del array
    gc.collect()
    assert gone() is not None and tensor[99] == 99
    del tensor
    gc.collect()
    assert gone() is None


def test_freed_in_another_thread(torch: Any) -> None:
    source = torch.ones(100)
    gone = weakref.ref(source)
    held = [ic.from_torch(source)]
    del source
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert gone() is None


def test_dlpack_of_numpy() -> None:
    array = np.arange(6.0).reshape(2, 3)
    tensor = ic.from_dlpack(array)
    tensor[0, 0] = 9
    assert array[0, 0] == 9
    assert np.from_dlpack(ic.arange(3)).tolist() == [0, 1, 2]
    array.flags.writeable = False
    with pytest.raises(BufferError):
        ic.from_dlpack(array)
    assert ic.from_dlpack(tensor)._memory == tensor._memory
    assert ic.from_dlpack(np.ones(2), copy=True).tolist() == [1, 1]


def test_dlpack_capsules() -> None:
    tensor = ic.arange(4)
    assert tensor.__dlpack_device__() == (1, 0)
    assert '"dltensor"' in repr(tensor.__dlpack__())
    assert '"dltensor_versioned"' in repr(tensor.__dlpack__(max_version=(1, 0)))
    for capsule in (tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 1), stream=-1)):
        found = ic.from_dlpack(capsule)
        assert found.data_ptr() == tensor.data_ptr()
        with pytest.raises(BufferError, match="not used yet"):
            ic.from_dlpack(capsule)
    copied = ic.from_dlpack(tensor.__dlpack__(copy=True))
    assert copied.tolist() == tensor.tolist() and copied.data_ptr() != tensor.data_ptr()
    with pytest.raises(BufferError, match="not"):
        tensor.__dlpack__(dl_device=(2, 0))
    assert ic.from_dlpack(tensor.__dlpack__(dl_device=(1, 0))).tolist() == [0, 1, 2, 3]
    # The capsule was not consumed, so the memory is free again.
    before = ic.memory_stats()["allocated"]
    capsule = ic.ones(1000).__dlpack__()
    assert ic.memory_stats()["allocated"] > before
    del capsule
    assert ic.memory_stats()["allocated"] == before


def test_buffers() -> None:
    tensor = ic.arange(6, dtype=ic.int32).reshape(2, 3)
    view = memoryview(tensor)
    assert view.format == "i" and view.shape == (2, 3) and view.tolist() == tensor.tolist()
    view[0, 1] = 77
    assert tensor[0, 1] == 77
    assert memoryview(tensor.T).strides == (4, 12)
    assert bytes(ic.tensor([1, 2], dtype=ic.uint8)) == b"\x01\x02"
    with pytest.raises(BufferError, match="numpy"):
        memoryview(tensor.bfloat16())
    shared = ic.frombuffer(bytearray(b"\x00\x00\x80?" * 3), dtype=ic.float32, count=2, offset=4)
    assert shared.tolist() == [1, 1]
    with pytest.raises(BufferError):
        ic.frombuffer(b"read-only!!!", dtype=ic.int32)


def test_numpy() -> None:
    import ml_dtypes

    for name in NAMES.split():
        array = np.arange(6).reshape(2, 3).astype(name)
        tensor = ic.from_numpy(array)
        assert tensor.dtype is ic.utils.numpy_to_infinicore_dtype(name)
        assert tensor.numpy().dtype == array.dtype and (tensor.numpy() == array).all()
        assert np.asarray(tensor).ctypes.data == tensor.data_ptr()
        assert np.asarray(tensor, dtype="complex128").dtype == np.complex128
        face = tensor.T.__array_interface__
        assert face["strides"] == array.T.strides and face["typestr"] == array.dtype.str
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        array = np.array([1.5, -2], kind)
        tensor = ic.from_numpy(array)
        assert tensor.dtype in (ic.bfloat16, ic.float8) and tensor.tolist() == [1.5, -2]
        assert tensor.numpy().dtype == kind and np.asarray(tensor).dtype == kind
    own = ic.from_numpy(array := np.zeros(3))
    array[0] = 1
    assert own[0] == 0
    assert ic.from_numpy(np.arange(3), dtype=ic.float16).dtype is ic.float16
    assert ic.from_numpy(np.arange(3).astype(">i4")).tolist() == [0, 1, 2]
    assert ic.from_numpy(np.arange(6)[::-2]).tolist() == [5, 3, 1]
    for bad, error in (([1], TypeError), (np.zeros(0), ValueError), (np.array(["a"]), TypeError)):
        with pytest.raises(error, match="from_numpy"):
            ic.from_numpy(bad)
    assert (np.ones(2, np.float32) + ic.ones(2).numpy()).tolist() == [2, 2]


def test_addresses() -> None:
    data = (ctypes.c_float * 6)(*range(6))
    address = ctypes.addressof(data)
    tensor = ic.from_blob(address, (2, 3), dtype=ic.float32)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]] and tensor.data_ptr() == address
    wide = ic.strided_from_blob(address, (4, 3), (0, 1), dtype=ic.float32, device="cpu")
    assert wide.tolist() == [[0, 1, 2]] * 4
    back = ic.strided_from_blob(address + 20, [3], [-2], dtype=ic.float32)
    assert back.tolist() == [5, 3, 1]
    for bad in ("a", -1, 1.5):
        with pytest.raises(TypeError, match="data_ptr"):
            ic.from_blob(bad, (1,))
    with pytest.raises(RuntimeError, match="null"):
        ic.from_blob(0, (1,))


def test_strange_producers() -> None:
    class Old:
        """A producer that predates DLPack's versions."""

        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self) -> Any:
            return self.tensor.__dlpack__()

    assert ic.from_dlpack(Old(np.ones(2))).tolist() == [1, 1]

    class Broken:
        def __dlpack__(self, **_: Any) -> Any:
            return 3

    with pytest.raises((BufferError, TypeError)):
        ic.from_dlpack(Broken())


def test_types_of_other_libraries(torch: Any) -> None:
    utils = ic.utils
    for name in TYPES.split():
        kind = utils.to_infinicore_dtype(getattr(torch, name))
        assert utils.to_torch_dtype(kind) is getattr(torch, name)
        assert utils.numpy_to_infinicore_dtype(utils.infinicore_to_numpy_dtype(kind)) is kind
    for bad in (
        lambda: utils.to_torch_dtype("f"),
        lambda: utils.to_infinicore_dtype(torch.qint8),
        lambda: utils.to_infinicore_dtype(np.float32),
        lambda: utils.numpy_to_infinicore_dtype("U3"),
        lambda: utils.numpy_to_infinicore_dtype(object()),
        lambda: utils.infinicore_to_numpy_dtype(ic.complex32),
    ):
        with pytest.raises(ValueError, match="dtype: "):
            bad()
