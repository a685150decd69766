"""Indexing: every key that NumPy accepts gives NumPy's result."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import infinicore as ic

from .strategies import advanced_keys, basic_keys, layouts

DTYPES = ("float32", "int64", "uint8", "bool", "float64", "complex64", "complex128")


def as_key(key: Any, how: int) -> Any:
    """Arrays of a key as tensors, as lists, or as they are."""
    if isinstance(key, tuple):
        return tuple(as_key(item, how) for item in key)
    if isinstance(key, np.ndarray):
        return (ic.tensor(key), key.tolist() if key.size and key.ndim else ic.tensor(key), key)[how]
    return key


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_basic(data: st.DataObject) -> None:
    array = data.draw(layouts(dtypes=DTYPES))
    key = data.draw(basic_keys(array.shape))
    tensor = ic.as_tensor(array)
    found = tensor[key]
    np.testing.assert_array_equal(found.numpy(force=True), array[key])
    if found.numel():
        assert found._memory == tensor._memory  # a view


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_advanced(data: st.DataObject) -> None:
    array = data.draw(layouts(least=1, dtypes=DTYPES))
    key = data.draw(advanced_keys(array.shape))
    how = data.draw(st.integers(0, 2))
    try:
        expected = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            ic.tensor(array)[as_key(key, how)]
        return
    found = ic.as_tensor(array)[as_key(key, how)]
    assert tuple(found.shape) == expected.shape
    np.testing.assert_array_equal(found.numpy(force=True), expected)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_assignment(data: st.DataObject) -> None:
    array = data.draw(layouts(least=1, dtypes=DTYPES)).copy(order="K")
    advanced = data.draw(st.booleans())
    key = data.draw(advanced_keys(array.shape) if advanced else basic_keys(array.shape))
    try:
        shape = array[key].shape
    except IndexError:
        return
    # A value that broadcasts: some dimensions of size 1, some in front left out or too many.
    part = tuple(1 if data.draw(st.integers(0, 3)) == 0 else size for size in shape)
    part = part[data.draw(st.integers(0, len(part))) :]
    if shape and not advanced and data.draw(st.integers(0, 5)) == 0:
        part = (1, *part)
    value = (np.arange(int(np.prod(part))) + 100).reshape(part).astype(array.dtype)
    tensor = ic.tensor(array)
    strided = ic.empty_strided(array.shape[::-1], tensor.stride()[::-1], dtype=tensor.dtype)
    strided = strided.permute(*range(array.ndim - 1, -1, -1)) if array.ndim else strided
    for target in (tensor, strided.copy_(tensor)):
        expected = array.copy()
        expected[key] = value
        target[as_key(key, data.draw(st.integers(0, 2)))] = (
            ic.tensor(value) if data.draw(st.booleans()) else value
        )
        np.testing.assert_array_equal(target.numpy(force=True), expected)


def test_transposed_targets() -> None:
    """Dimensions that can't be merged are written element by element."""
    for dtype in ("float32", "complex64", "complex128", "int8"):
        array = np.arange(60).reshape(3, 4, 5).astype(dtype)
        tensor = ic.tensor(array).permute(2, 0, 1)
        expected = array.transpose(2, 0, 1).copy()
        key = ([0, -1, 2], slice(None, None, 2), [1, 3, -4])
        tensor[key] = 7
        expected[key] = 7
        np.testing.assert_array_equal(tensor.numpy(force=True), expected)


def test_small_floats() -> None:
    tensor = ic.arange(6).to(ic.float8).reshape(2, 3)
    tensor[[0, 1], [2, 0]] = 9
    assert tensor.to(ic.float32).tolist() == [[0, 1, 9], [9, 4, 5]]
    assert tensor[:, [2, 1]].to(ic.float32).tolist() == [[9, 1], [5, 4]]


def test_in_place_through_an_index() -> None:
    tensor, array = ic.zeros(4), np.zeros(4)
    tensor[[0, 2, 2]] += 1
    array[[0, 2, 2]] += 1
    assert tensor.tolist() == array.tolist()
    tensor[1:3] *= 5
    assert tensor.tolist() == [1, 0, 5, 0]
    tensor.index_put_((ic.tensor([0, 0, 3]),), ic.tensor([1.0, 2.0, 3.0]), accumulate=True)
    assert tensor.tolist() == [4, 0, 5, 3]


def test_overlapping_source() -> None:
    tensor = ic.arange(6)
    tensor[1:] = tensor[:-1]
    assert tensor.tolist() == [0, 0, 1, 2, 3, 4]
    tensor = ic.arange(6)
    tensor[[3, 4, 5]] = tensor[:3]
    assert tensor.tolist() == [0, 1, 2, 0, 1, 2]
    tensor = ic.arange(6)
    tensor[[1, 2, 3]] = tensor[0:3]
    assert tensor.tolist() == [0, 0, 1, 2, 4, 5]


def test_masks() -> None:
    tensor = ic.arange(6).reshape(2, 3)
    mask = ic.tensor([[True, False, True], [False, True, False]])
    assert tensor[mask].tolist() == [0, 2, 4]
    tensor[mask] = -1
    assert tensor.tolist() == [[-1, 1, -1], [3, -1, 5]]
    tensor[mask] = ic.tensor([7, 8, 9])
    assert tensor.tolist() == [[7, 1, 8], [3, 9, 5]]
    tensor[ic.tensor([False, True])] = ic.tensor([1, 2, 3])
    assert tensor.tolist() == [[7, 1, 8], [1, 2, 3]]
    tensor[ic.tensor([True, False])] = 2.9  # as in NumPy: without the fraction
    assert tensor.tolist() == [[2, 2, 2], [1, 2, 3]]
    assert tensor[True].shape == [1, 2, 3]
    assert tensor[False].shape == [0, 2, 3]
    assert tensor[np.bool_(True)].shape == [1, 2, 3]
    with pytest.raises(IndexError, match="mask of shape"):
        tensor[ic.tensor([True, False, True])]


def test_errors() -> None:
    tensor = ic.zeros(2, 3)
    with pytest.raises(IndexError, match="out of bounds for dimension 0 of size 2"):
        tensor[ic.tensor([0, 2], device="cpu")]
    with pytest.raises(IndexError, match="-4 is out of bounds for dimension 1"):
        tensor[:, [0, -4]]
    with pytest.raises(IndexError, match="out of bounds"):
        tensor[ic.tensor([5], dtype=ic.int32, device="cpu")] = 1
    with pytest.raises(IndexError, match="too many"):
        tensor[0, 0, [0]]
    with pytest.raises(IndexError, match="too many"):
        tensor[0, 0, 0]
    with pytest.raises(IndexError, match="expected integers"):
        tensor[ic.tensor([0.5])]
    with pytest.raises(IndexError, match="no common shape"):
        tensor[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexError, match="single ellipsis"):
        tensor[..., [0], ...]
    with pytest.raises(IndexError):
        tensor["a"]
    with pytest.raises(IndexError):
        tensor[1.5]
    with pytest.raises(ValueError, match="can't be put"):
        tensor[[0, 1]] = ic.ones(2, 2)
    with pytest.raises(ValueError, match="can't be put"):
        tensor[ic.tensor([True, False])] = ic.ones(2)
    with pytest.raises(ValueError, match="copy_"):
        tensor[0] = ic.ones(2)


def test_recorded() -> None:
    """Indices may change between replays; masked writes use the mask's current values."""
    x, index = ic.arange(12).reshape(4, 3).float(), ic.tensor([1, -1])
    mask, target = ic.tensor([True, False, False, True]), ic.zeros(4, 3)
    ic.start_graph_recording()
    try:
        rows = x[index]
        target[mask] = 5
        with pytest.raises(RuntimeError, match="recorded"):
            x[mask]
    finally:
        graph = ic.stop_graph_recording()
    for chosen in ([1, -1], [0, 2]):
        index.copy_(ic.tensor(chosen))
        graph.run()
        assert rows.tolist() == x.numpy(force=True)[chosen].tolist()
    assert target.tolist() == [[5] * 3, [0] * 3, [0] * 3, [5] * 3]
