"""Test tensors: values of all modes and types, layouts, files, descriptors, workspaces."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import pytest

from kit.requirements import need

torch = need("torch")

from libinfiniop import (  # noqa: E402
    LIBINFINIOP,
    CTensor,
    InfiniDeviceEnum,
    InfiniDtype,
    InfiniError,
    TestTensor,
    TestWorkspace,
    _memory,
    rearrange_tensor,
    to_numpy_dtype,
    to_torch_dtype,
)

CPU = InfiniDeviceEnum.CPU
WITHOUT_TORCH = (InfiniDtype.INVALID, InfiniDtype.C16)
DTYPES = [dt for dt in InfiniDtype if dt not in WITHOUT_TORCH]
LAYOUTS = [
    ((2, 3), None),
    ((2, 3), (3, 1)),
    ((2, 3), (1, 2)),
    ((2, 3), (10, 2)),
    ((4, 1, 5), (5, 7, 1)),
    ((2, 3), (3, 2)),  # interleaved dimensions without overlapping elements
    ((), None),
    ((0, 3), None),
]


@pytest.fixture(params=["shared with torch", "by the runtime"])
def placed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to store data, on the CPU: the second one as if torch did not support the
    device."""
    if request.param == "by the runtime":
        monkeypatch.setattr(_memory, "torch_device_of", lambda device: None)
    return str(request.param)


def same(a: Any, b: Any) -> bool:
    """Bit by bit."""
    return a.dtype == b.dtype and a.shape == b.shape and bytes_of(a) == bytes_of(b)


def bytes_of(tensor: Any) -> bytes:
    flat = tensor.contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""


def in_memory(tensor: TestTensor, count: int) -> bytes:
    return ctypes.string_at(tensor.data(), count)


# ---- Types --------------------------------------------------------------------------------------


def test_types_of_torch() -> None:
    assert to_torch_dtype(InfiniDtype.BF16) is torch.bfloat16
    assert to_torch_dtype(13) is torch.float32
    assert to_torch_dtype(InfiniDtype.F8) is torch.float8_e4m3fn
    assert to_torch_dtype(InfiniDtype.BYTE) is torch.uint8
    assert to_torch_dtype(InfiniDtype.U32) is torch.uint32
    assert to_torch_dtype(InfiniDtype.U32, compatability_mode=True) is torch.int32
    assert to_torch_dtype(torch.float16) is torch.float16
    with pytest.raises(ValueError, match="no type for C16"):
        to_torch_dtype(InfiniDtype.C16)
    with pytest.raises(ValueError, match="dt is 77: expected an InfiniDtype"):
        to_torch_dtype(77)
    with pytest.raises(ValueError, match="INVALID"):
        to_torch_dtype(InfiniDtype.INVALID)
    with pytest.raises(ValueError, match=r"expected an InfiniDtype or a torch\.dtype"):
        to_torch_dtype(torch.float8_e5m2)


def test_types_of_numpy() -> None:
    import numpy as np

    assert to_numpy_dtype(InfiniDtype.F16) == np.float16
    assert to_numpy_dtype(InfiniDtype.BOOL) == np.bool_
    assert to_numpy_dtype(InfiniDtype.C128) == np.complex128
    assert to_numpy_dtype(InfiniDtype.U64, compatability_mode=True) == np.int64
    assert to_numpy_dtype(InfiniDtype.BF16, compatability_mode=True) == np.float32
    assert to_numpy_dtype(InfiniDtype.C32, compatability_mode=True) == np.complex64
    import ml_dtypes

    if hasattr(ml_dtypes, "complex32"):  # from 0.6 on
        assert to_numpy_dtype(InfiniDtype.C32) == ml_dtypes.complex32
    else:
        with pytest.raises(ValueError, match="no type for C32"):
            to_numpy_dtype(InfiniDtype.C32)
    assert to_numpy_dtype(InfiniDtype.BF16) == ml_dtypes.bfloat16
    assert to_numpy_dtype(InfiniDtype.F8) == ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize("dt", DTYPES, ids=lambda dt: dt.name)
def test_sizes_agree(dt: InfiniDtype) -> None:
    from libinfiniop import InfiniDtypeSizes

    assert torch.empty(0, dtype=to_torch_dtype(dt)).element_size() == InfiniDtypeSizes[dt]


# ---- Values and layouts -------------------------------------------------------------------------


@pytest.mark.parametrize("dt", DTYPES, ids=lambda dt: dt.name)
@pytest.mark.parametrize("mode", ["random", "zeros", "ones", "randint"])
def test_modes(placed: str, mode: str, dt: InfiniDtype) -> None:
    tensor = TestTensor((5, 7), (1, 6), dt, CPU, mode=mode)
    values = tensor.torch_tensor()
    assert values.shape == (5, 7) and values.dtype == to_torch_dtype(dt)
    assert same(tensor.actual_tensor(), values)
    assert tensor.actual_tensor().stride() == (1, 6)
    if mode in ("zeros", "ones"):
        wide = values.to(torch.complex128 if values.is_complex() else torch.float64)
        assert (wide == (1 if mode == "ones" else 0)).all()
    elif dt != InfiniDtype.BOOL:
        assert len(set(map(bytes, [bytes_of(v) for v in values.reshape(-1)]))) > 5
    if mode == "random" and values.is_floating_point():
        assert (values.float() >= 0).all() and (values.float() <= 1).all()
    if mode == "randint" and values.is_floating_point():
        wide = values.double()
        assert (wide == wide.round()).all() and wide.isfinite().all()


@pytest.mark.parametrize(("shape", "strides"), LAYOUTS)
def test_layouts(placed: str, shape: tuple[int, ...], strides: Any) -> None:
    tensor = TestTensor(shape, strides, InfiniDtype.F32, CPU)
    assert same(tensor.actual_tensor(), tensor.torch_tensor())
    if strides is not None:
        assert tensor.actual_tensor().stride() == strides
    assert list(tensor.c_shape) == list(shape)
    assert len(tensor.c_strides) == len(shape) == tensor.ndim
    assert not tensor.is_broadcast()
    if tensor.torch_tensor().numel():
        assert in_memory(tensor, 4) == bytes_of(tensor.torch_tensor())[:4]


def test_data_is_where_it_says(placed: str) -> None:
    tensor = TestTensor((3,), (2,), InfiniDtype.F32, CPU, mode="ones")
    ctypes.c_float.from_address(tensor.data() + 8).value = 5.0
    assert tensor.actual_tensor().tolist() == [1.0, 5.0, 1.0]
    assert tensor.torch_tensor().tolist() == [1.0, 1.0, 1.0]
    if placed == "shared with torch":
        tensor.actual_tensor()[2] = 7
        assert ctypes.c_float.from_address(tensor.data() + 16).value == 7.0
        assert tensor.data() == tensor.actual_tensor().data_ptr()


def test_broadcast(placed: str) -> None:
    tensor = TestTensor((3, 4), (1, 0), InfiniDtype.I32, CPU, mode="randint", randint_high=9)
    assert tensor.is_broadcast()
    assert list(tensor.c_shape) == [3, 4] and list(tensor.c_strides) == [1, 0]
    assert tensor.torch_tensor().shape == tensor.actual_tensor().shape == (3, 1)
    assert in_memory(tensor, 12) == bytes_of(tensor.torch_tensor())
    assert not TestTensor((3, 4), None, InfiniDtype.I32, CPU).is_broadcast()


def test_ranges() -> None:
    drawn = TestTensor((200,), None, InfiniDtype.I8, CPU, "randint", randint_low=-3, randint_high=3)
    assert set(drawn.torch_tensor().tolist()) == {-3, -2, -1, 0, 1, 2}
    drawn = TestTensor((200,), None, InfiniDtype.U8, CPU, "random", randint_low=250)
    assert set(drawn.torch_tensor().tolist()) == set(range(250, 256))
    assert TestTensor((99,), None, InfiniDtype.I64, CPU).torch_tensor().abs().max() > 10**6
    with pytest.raises(ValueError, match=r"U8 holds the integers 0 to 255; randint_low is -1"):
        TestTensor((2,), None, InfiniDtype.U8, CPU, "randint", randint_low=-1)
    with pytest.raises(ValueError, match="no integer from randint_low 4"):
        TestTensor((2,), None, InfiniDtype.U8, CPU, "randint", randint_low=4, randint_high=4)


def test_scale_and_bias() -> None:
    made = TestTensor((3,), None, InfiniDtype.F16, CPU, "ones", scale=3, bias=-0.5)
    assert made.torch_tensor().tolist() == [2.5] * 3 and made.actual_tensor().tolist() == [2.5] * 3
    assert (
        TestTensor((2,), None, InfiniDtype.F8, CPU, "ones", scale=4).torch_tensor().float()[0] == 4
    )
    made = TestTensor((2,), None, InfiniDtype.I32, CPU, "ones", scale=2.5, bias=0.25)
    assert made.torch_tensor().tolist() == [2, 2]
    assert TestTensor((1,), None, InfiniDtype.U16, CPU, "ones", bias=6).torch_tensor().tolist() == [
        7
    ]
    given = torch.ones(3)
    TestTensor.from_torch(given, InfiniDtype.F32, CPU)
    made = TestTensor((3,), (1,), InfiniDtype.F32, CPU, "manual", scale=2, set_tensor=given)
    assert made.actual_tensor().tolist() == [2, 2, 2] and given.tolist() == [1, 1, 1]


def test_float8() -> None:
    made = TestTensor((40,), None, InfiniDtype.F8, CPU, "float8_e4m3fn")
    assert made.torch_tensor().dtype is torch.float8_e4m3fn
    assert 0 < made.torch_tensor().float().mean() < 1
    bits = TestTensor((40,), None, InfiniDtype.U8, CPU, "float8_e4m3fn").torch_tensor()
    assert bits.dtype is torch.uint8 and bits.view(torch.float8_e4m3fn).float().max() <= 1
    with pytest.raises(ValueError, match=r"dt is F32: expected F8"):
        TestTensor((40,), None, InfiniDtype.F32, CPU, "float8_e4m3fn")


def test_random_follows_the_seed() -> None:
    made = []
    for _ in range(2):
        torch.manual_seed(5)
        made.append(TestTensor((9,), None, InfiniDtype.F32, CPU).torch_tensor())
    assert torch.equal(*made)


# ---- Given values -------------------------------------------------------------------------------


def test_from_torch(placed: str) -> None:
    given = torch.arange(12.0).reshape(3, 4).t()
    made = TestTensor.from_torch(given, InfiniDtype.F32, CPU)
    assert tuple(made.shape) == (4, 3) and made.actual_tensor().stride() == (1, 4)
    assert torch.equal(made.actual_tensor(), given)
    assert made.torch_tensor() is given  # nothing to convert
    assert made.data() != given.data_ptr()  # an operator must not write to the expected values
    half = TestTensor.from_torch(given, InfiniDtype.F16, CPU)
    assert half.actual_tensor().dtype is torch.float16
    expanded = TestTensor.from_torch(torch.arange(3.0)[:, None].expand(3, 4), InfiniDtype.F32, CPU)
    assert expanded.is_broadcast() and expanded.actual_tensor().shape == (3, 1)


def test_set_tensor(placed: str) -> None:
    made = TestTensor((2, 3), (1, 2), InfiniDtype.F32, CPU, "zeros")
    address = made.data()
    made.set_tensor(torch.arange(6, dtype=torch.int64).reshape(2, 3))
    assert made.torch_tensor().tolist() == made.actual_tensor().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert made.data() == address and made.actual_tensor().stride() == (1, 2)
    with pytest.raises(ValueError, match=r"new_tensor has shape \(3, 2\): expected \(2, 3\)"):
        made.set_tensor(torch.zeros(3, 2))
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor"):
        made.set_tensor([1, 2])  # type: ignore[arg-type]


def test_update_torch_tensor(placed: str) -> None:
    made = TestTensor((2,), None, InfiniDtype.F32, CPU, "zeros")
    made.update_torch_tensor(torch.ones(2))
    assert made.torch_tensor().tolist() == [1, 1] and made.actual_tensor().tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor"):
        made.update_torch_tensor(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("dt", DTYPES, ids=lambda dt: dt.name)
def test_from_binary(placed: str, tmp_path: Path, dt: InfiniDtype) -> None:
    values = TestTensor((4, 6), None, dt, CPU).torch_tensor()
    path = tmp_path / "values.bin"
    path.write_bytes(bytes_of(values))
    assert same(TestTensor.from_binary(path, (4, 6), None, dt, CPU).actual_tensor(), values)
    by_columns = TestTensor.from_binary(str(path), (6, 4), (1, 6), dt, CPU)
    assert same(by_columns.actual_tensor(), values.t())
    assert by_columns.actual_tensor().stride() == (1, 6)
    assert same(by_columns.torch_tensor(), values.t())
    spread = TestTensor.from_binary(path, (4, 5), (6, 0), dt, CPU)
    assert same(spread.actual_tensor(), values[:, :1])


def test_from_binary_refuses(tmp_path: Path) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(bytes(22))
    with pytest.raises(
        ValueError, match=r"short\.bin has 22 bytes: expected 24 for shape \(2, 3\)"
    ):
        TestTensor.from_binary(path, (2, 3), None, InfiniDtype.F32, CPU)
    with pytest.raises(FileNotFoundError):
        TestTensor.from_binary(tmp_path / "none.bin", (2, 3), None, InfiniDtype.F32, CPU)
    assert TestTensor.from_binary(path, (0, 3), None, InfiniDtype.F32, CPU).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((2, 3), (1,), InfiniDtype.F32, CPU), r"strides is \(1,\): expected as many as shape"),
        (((2, 3), (-3, 1), InfiniDtype.F32, CPU), "torch has no negative strides"),
        (((2, -3), None, InfiniDtype.F32, CPU), "expected no negative sizes"),
        (((2, 3), (1, 1), InfiniDtype.F32, CPU), "would share memory"),
        (((2, 3), None, InfiniDtype.INVALID, CPU), "TestTensor: dt is InfiniDtype.INVALID"),
        (((2,), None, "F32", CPU), "expected an InfiniDtype"),
        (((2,), None, InfiniDtype.F32, CPU, "rand"), "mode is 'rand': expected random, zeros"),
        (((2,), None, InfiniDtype.F32, CPU, "manual"), "takes its values from set_tensor"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TestTensor(*arguments)


def test_a_device_is_a_number() -> None:
    with pytest.raises(TypeError, match="device is 'cpu': expected an InfiniDeviceEnum"):
        TestTensor((2,), None, InfiniDtype.F32, "cpu")  # type: ignore[arg-type]


def test_set_tensor_needs_its_mode() -> None:
    with pytest.raises(ValueError, match="for modes manual and binary, not 'ones'"):
        TestTensor((2,), None, InfiniDtype.F32, CPU, "ones", set_tensor=torch.ones(2))


def test_a_device_that_is_not_there() -> None:
    if _memory.torch_device_of(InfiniDeviceEnum.METAX):
        pytest.skip("torch addresses it here")
    with pytest.raises(InfiniError, match=r"INFINI_STATUS_DEVICE_NOT_FOUND.*no metax device"):
        TestTensor((2,), None, InfiniDtype.F32, InfiniDeviceEnum.METAX)


# ---- Rearranging --------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", DTYPES, ids=lambda dt: dt.name)
def test_rearrange_tensor(dt: InfiniDtype) -> None:
    values = TestTensor((3, 4), None, dt, CPU).torch_tensor()
    made = rearrange_tensor(values, [1, 5])
    assert made.stride() == (1, 5) and same(made, values)
    gap = made.as_strided((1,), (1,), 3)
    assert bytes_of(gap) == bytes(values.element_size())


def test_rearrange_refuses() -> None:
    with pytest.raises(ValueError, match=r"rearrange_tensor: strides is .* no negative strides"):
        rearrange_tensor(torch.ones(2, 2), [-2, 1])
    with pytest.raises(ValueError, match=r"strides \(0, 1\).* would share memory"):
        rearrange_tensor(torch.ones(2, 2), [0, 1])
    assert rearrange_tensor(torch.ones(1, 2), [0, 1]).stride() == (0, 1)


# ---- Descriptors and workspaces -----------------------------------------------------------------


def test_descriptors() -> None:
    made = CTensor(InfiniDtype.F32, (2, 3), None)
    assert made.descriptor and list(made.c_strides) == [3, 1] and made.ndim == 2
    made.destroy_desc()
    assert made.descriptor is None
    made.destroy_desc()
    with pytest.raises(ValueError, match="1 strides for a shape of 2 sizes"):
        CTensor(InfiniDtype.F32, (2, 3), (1,))
    assert CTensor(torch.int8, (), None).dt is InfiniDtype.I8


def test_a_dropped_tensor_takes_its_descriptor_along() -> None:
    made = CTensor(InfiniDtype.F32, (2,), None)
    finalizer = made._destroy
    assert finalizer.alive
    del made
    gc.collect()
    assert not finalizer.alive


def test_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "torch_device_of", lambda device: None)
    freed = []
    monkeypatch.setattr(_memory, "_free", lambda address, place: freed.append(address))
    made = TestTensor((1000,), None, InfiniDtype.F32, CPU)
    address = made.data()
    del made
    gc.collect()
    assert freed == [address]
    LIBINFINIOP.infinirtFree(address)


def test_workspaces(placed: str) -> None:
    some = TestWorkspace(100, CPU)
    assert some.size().value == 100 and isinstance(some.size(), ctypes.c_uint64)
    assert some.data() and ctypes.string_at(some.data() or 0, 100) == bytes([1] * 100)
    none = TestWorkspace(0, CPU)
    assert none.data() is None and none.size().value == 0 and none.tensor is None
    with pytest.raises(ValueError, match="size is -1"):
        TestWorkspace(-1, CPU)


def test_repr() -> None:
    made = TestTensor((2, 3), (1, 2), InfiniDtype.F16, CPU)
    assert repr(made) == "<TestTensor F16 (2, 3), strides (1, 2) on CPU>"
