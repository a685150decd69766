"""Tensors: views, conversions, copies, and the protocols of the language."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import infinicore as ic

from .strategies import DTYPES, layouts


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_views(data: st.DataObject) -> None:
    array = data.draw(layouts())
    tensor = ic.as_tensor(array)
    assert tuple(tensor.shape) == array.shape == tuple(tensor.size())
    assert tensor.numel() == array.size and tensor.ndim == tensor.dim() == array.ndim
    assert tensor.nbytes == array.size * array.itemsize
    np.testing.assert_array_equal(tensor.T.numpy(force=True), array.T)
    np.testing.assert_array_equal(tensor.contiguous().numpy(force=True), array)
    assert tensor.contiguous().is_contiguous()
    np.testing.assert_array_equal(tensor.clone().numpy(force=True), array)
    np.testing.assert_array_equal(tensor.reshape(array.size).numpy(force=True), array.reshape(-1))
    np.testing.assert_array_equal(tensor.flatten().numpy(force=True), array.reshape(-1))
    order = data.draw(st.permutations(range(array.ndim)))
    np.testing.assert_array_equal(tensor.permute(*order).numpy(force=True), array.transpose(order))
    assert tensor.tolist() == array.tolist()
    if array.ndim:
        dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
        assert tensor.size(dim) == array.shape[dim] and len(tensor) == len(array)
        np.testing.assert_array_equal(
            tensor.unsqueeze(dim).numpy(force=True), np.expand_dims(array, dim)
        )
        parts = [each.numpy(force=True) for each in tensor]
        assert len(parts) == len(array)
        for one, other in zip(parts, array, strict=True):
            np.testing.assert_array_equal(one, other)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_reshape(data: st.DataObject) -> None:
    """Views where NumPy makes views, copies where it copies."""
    array = data.draw(layouts())
    count = array.size
    sizes = []
    while count > 1 and data.draw(st.booleans()):
        divisor = data.draw(st.sampled_from([d for d in range(1, count + 1) if count % d == 0]))
        sizes.append(divisor)
        count //= divisor
    sizes.append(count)
    tensor = ic.as_tensor(array)
    found = tensor.reshape(sizes)
    np.testing.assert_array_equal(found.numpy(force=True), array.reshape(sizes))
    if array.size > 1 and np.shares_memory(array, array.reshape(sizes)):
        assert found._memory == tensor._memory
        np.testing.assert_array_equal(tensor.view(*sizes).numpy(force=True), array.reshape(sizes))
    if sizes.count(-1) == 0 and array.size:
        open_one = list(sizes)
        open_one[data.draw(st.integers(0, len(sizes) - 1))] = -1
        assert tuple(tensor.reshape(open_one).shape) == tuple(sizes)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_copy(data: st.DataObject) -> None:
    """Any strides, any types, broadcast."""
    array = data.draw(layouts())
    kind = data.draw(st.sampled_from(DTYPES))
    tensor = ic.as_tensor(array)
    target = ic.empty(tuple(array.shape)[::-1], dtype=ic.utils.numpy_to_infinicore_dtype(kind)).T
    with np.errstate(all="ignore"):
        expected = array.astype(kind)
    assert target.copy_(tensor) is target
    np.testing.assert_array_equal(target.numpy(force=True), expected)
    np.testing.assert_array_equal(tensor.to(target.dtype).numpy(force=True), expected)
    wide = ic.zeros((2, *array.shape), dtype=target.dtype).copy_(tensor)
    np.testing.assert_array_equal(wide.numpy(force=True), np.stack([expected, expected]))


def test_copy_of_other_things() -> None:
    x = ic.zeros(2, 3)
    assert x.copy_(5).tolist() == [[5] * 3] * 2
    assert x.copy_([1, 2, 3]).tolist() == [[1, 2, 3]] * 2
    assert x.copy_(np.arange(6).reshape(2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="copy_: src has shape"):
        x.copy_(ic.ones(4))
    assert x.zero_().tolist() == [[0] * 3] * 2
    assert x.T.fill_(True).tolist() == [[1] * 2] * 3
    big = 2**60 + 1
    assert ic.full((2,), big).tolist() == [big, big]
    # Overlapping, with another type over the same bytes.
    y = ic.arange(4, dtype=ic.int32)
    y.copy_(y.view(ic.float32).view(ic.int32))
    assert y.tolist() == [0, 1, 2, 3]


def test_complex_numbers() -> None:
    x = ic.tensor([1 + 2j, 3])
    assert x.dtype is ic.complex64
    assert x.to(ic.complex128).tolist() == [1 + 2j, 3]
    assert x.to(ic.float32).tolist() == [1, 3]
    assert ic.tensor([1.5, 2]).to(ic.complex64).tolist() == [1.5, 2]
    assert x.clone().fill_(2j).tolist() == [2j, 2j]
    assert ic.ones(2, dtype=ic.complex128).tolist() == [1, 1]
    assert complex(x[0]) == 1 + 2j


def test_types() -> None:
    x = ic.tensor([1.7, -2.3])
    named = {
        "float": ic.float32,
        "double": ic.float64,
        "half": ic.float16,
        "bfloat16": ic.bfloat16,
        "int": ic.int32,
        "long": ic.int64,
        "short": ic.int16,
        "char": ic.int8,
        "bool": ic.bool,
        "cfloat": ic.complex64,
    }
    for name, kind in named.items():
        made = getattr(x, name)()
        assert made.dtype is kind is x.to(kind).dtype is x.type(kind).dtype
    assert x.int().tolist() == [1, -2] and x.bool().tolist() == [True, True]
    assert x.float() is x and x.to(ic.float32, copy=True) is not x
    assert x.to(x.device) is x and x.cpu().cpu().tolist() == x.tolist()
    assert x.to("cpu").device == ic.device("cpu") and x.cpu().cpu().device == ic.device("cpu")
    assert x.to(ic.ones(1, dtype=ic.int8)).dtype is ic.int8
    assert x.to("cpu", ic.float64).dtype is ic.float64
    assert x.to(dtype=ic.float64, device="cpu").dtype is ic.float64
    with pytest.raises(TypeError, match="to: expected"):
        x.to(3)
    assert x.view(ic.int32).view(ic.float32).tolist() == x.tolist()
    assert x.view(ic.uint8).shape == [8]
    with pytest.raises(RuntimeError, match="view"):
        ic.zeros(3, dtype=ic.uint8).view(ic.float32)


def test_scalars() -> None:
    assert float(ic.tensor(2.5)) == 2.5 and int(ic.tensor([3])) == 3
    assert bool(ic.tensor(0)) is False and bool(ic.tensor([[1.0]])) is True
    assert operator.index(ic.tensor(4)) == 4 and [10, 20, 30][ic.tensor(1)] == 20
    assert isinstance(ic.tensor(True).item(), bool)
    assert ic.tensor(2**63, dtype=ic.uint64).item() == 2**63
    for kind in (ic.float16, ic.bfloat16, ic.float8):
        assert ic.tensor([0.5, -3.0], dtype=kind).tolist() == [0.5, -3.0]
    with pytest.raises(RuntimeError, match="item: the tensor has 2 elements"):
        ic.ones(2).item()
    with pytest.raises(RuntimeError, match="neither true nor false"):
        bool(ic.ones(2))
    with pytest.raises(TypeError, match="index"):
        operator.index(ic.tensor(1.0))
    with pytest.raises(TypeError):
        len(ic.tensor(1))
    with pytest.raises(TypeError):
        iter(ic.tensor(1))


def test_contains() -> None:
    x = ic.arange(5)
    assert 3 in x and 7 not in x


def test_copies_of_objects() -> None:
    x = ic.arange(6).reshape(2, 3)
    both = copy.deepcopy([x, x])
    assert both[0] is both[1] and both[0]._memory != x._memory
    assert both[0].tolist() == x.tolist()
    assert copy.copy(x)._memory == x._memory
    assert x.detach()._memory == x._memory and x._underlying is x
    assert ic.Tensor(x)._memory == x._memory
    assert len({x: 1, x.clone(): 2}) == 2


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    for kind in ("float32", "bfloat16", "float8", "int64", "bool", "complex64"):
        for x in (ic.arange(6).to(getattr(ic, kind)).reshape(2, 3).T, ic.ones(0, 2), ic.tensor(3)):
            found = pickle.loads(pickle.dumps(x, protocol))
            assert found.dtype is x.dtype and found.shape == x.shape
            assert found.tolist() == x.tolist()
    x = ic.arange(1000)
    if protocol >= 5:
        buffers: list[Any] = []
        text = pickle.dumps(x, protocol, buffer_callback=buffers.append)
        assert len(text) < 1000 and pickle.loads(text, buffers=buffers).tolist() == x.tolist()


def test_debug(tmp_path: Any, capsys: Any) -> None:
    x = ic.arange(6, dtype=ic.int16).reshape(2, 3)
    x.debug()
    assert "[0, 1, 2]" in capsys.readouterr().out
    x.T.debug(str(tmp_path / "x.bin"))
    assert np.fromfile(tmp_path / "x.bin", np.int16).tolist() == [0, 3, 1, 4, 2, 5]


def test_matrix_views() -> None:
    x = ic.arange(24).reshape(2, 3, 4)
    assert x.mT.shape == [2, 4, 3] and x.flatten(1).shape == [2, 12] and x.flatten(0, 1)[5, 3] == 23
    with pytest.raises(RuntimeError, match="mT"):
        _ = ic.ones(2).mT
    with pytest.raises(RuntimeError, match="t: "):
        x.t()
    assert ic.ones(2, 3).t().shape == (3, 2) and x.view_as(ic.ones(24)).shape == [24]
    assert x.new_zeros(2, 2).dtype is ic.int64 and x.new_full((2,), 7).tolist() == [7, 7]
    assert x.new_tensor([1.0]).dtype is ic.int64


def test_nothing_is_read_while_recording() -> None:
    x = ic.ones(2)
    reads = {
        "item": lambda: x[0].item(),
        "tolist": x.tolist,
        "numpy": x.numpy,
        "bool": lambda: bool(x[0]),
        "float": lambda: float(x[0]),
        "pickle": lambda: pickle.dumps(x),
        "dlpack": x.__dlpack__,
        "array": lambda: np.asarray(x),
        "bytes": x.tobytes,
    }
    for name, read in reads.items():
        ic.start_graph_recording()
        try:
            with pytest.raises(RuntimeError, match="recorded"):
                read()
            assert "recorded" in repr(x), name
        finally:
            ic.stop_graph_recording()


def test_arguments_by_name() -> None:
    x = ic.arange(6).reshape(2, 3)
    assert x.permute(dims=[1, 0]).shape == x.permute([1, 0]).shape == x.permute(1, 0).shape
    assert x.view(shape=[6]).shape == [6] and x[:1].expand(size=(4, 3)).shape == [4, 3]
    assert x.as_strided(size=[2], stride=[3]).tolist() == [0, 3]
    assert x.narrow(dim=1, start=1, length=2).tolist() == [[1, 2], [4, 5]]
    assert ic.Tensor(underlying=x).tolist() == x.tolist()
