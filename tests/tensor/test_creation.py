"""Making tensors: sizes, values, ranges, lists, random numbers."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import infinicore as ic
from kit import ref


def test_sizes() -> None:
    for make in (ic.empty, ic.zeros, ic.ones, ic.rand, ic.randn):
        for made in (
            make(2, 3),
            make((2, 3)),
            make([2, 3]),
            make(size=(2, 3)),
            make(ic.Size([2, 3])),
        ):
            assert made.shape == [2, 3] and made.dtype is ic.float32
            assert made.device == ic.get_default_device()
        assert make(()).shape == () and make().shape == () and make(0).shape == (0,)
        assert make(2, dtype=ic.float64).dtype is ic.float64
        with pytest.raises(ValueError, match="a size is -1"):
            make(2, -1)
        with pytest.raises(TypeError, match="dtype"):
            make(2, dtype="f")
    assert ic.zeros(2, dtype=ic.int8).tolist() == [0, 0] and ic.ones(1, dtype=bool).tolist() == [
        True
    ]
    assert ic.strided_empty((2, 3), (1, 2)).stride() == (1, 2)
    assert ic.empty_strided((2, 3), (3, -1)).stride(-1) == -1
    assert ic.empty(2, device="cpu", pin_memory=True).is_pinned() in (True, False)


def test_values() -> None:
    assert ic.full((2,), 3).dtype is ic.int64 and ic.full((2,), 3.0).dtype is ic.float32
    assert ic.full((2,), True).dtype is ic.bool and ic.full((1,), 1j).dtype is ic.complex64
    assert ic.full((2, 2), 7, dtype=ic.float16).tolist() == [[7, 7]] * 2
    x = ic.ones(2, 3, dtype=ic.int32)
    assert ic.zeros_like(x).dtype is ic.int32 and ic.full_like(x, 5).tolist() == [[5] * 3] * 2
    assert ic.empty_like(x.T).shape == [3, 2] and ic.empty_like(x.T).is_contiguous()
    assert ic.ones_like(x, dtype=ic.float32).dtype is ic.float32
    out = ic.empty(3)
    assert ic.full((3,), 2.5, out=out) is out and out.tolist() == [2.5] * 3
    with pytest.raises(OverflowError, match="300"):
        ic.full((2,), 300, dtype=ic.uint8)
    with pytest.raises(TypeError, match="zeros_like: input"):
        ic.zeros_like(3)


NUMBERS = st.integers(-40, 40) | st.floats(-40, 40, allow_nan=False).map(lambda x: round(x, 2))


@settings(max_examples=80, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS.filter(lambda step: abs(step) > 0.05))
def test_arange(start: Any, end: Any, step: Any) -> None:
    if (end - start) / step < 0:
        with pytest.raises(ValueError, match="arange"):
            ic.arange(start, end, step)
        return
    expected = ref.arange(start, end, step)
    found = ic.arange(start, end, step)
    assert str(found.dtype).split(".")[1] == str(expected.dtype)
    np.testing.assert_allclose(found.numpy(force=True), expected.array, rtol=1e-6, atol=1e-6)


def test_ranges() -> None:
    assert ic.arange(3).tolist() == [0, 1, 2] and ic.arange(2, 5, dtype=ic.float16).tolist() == [
        2,
        3,
        4,
    ]
    assert ic.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    big = 2**60
    assert ic.arange(big + 1, big + 4).tolist() == [big + 1, big + 2, big + 3]
    for bad in ((0, 5, 0), (0, 5, -1), (0, float("inf"))):
        with pytest.raises(ValueError, match="arange"):
            ic.arange(*bad)
    for start, end, steps in (
        (0, 1, 5),
        (-3, 7.5, 11),
        (5, 5, 3),
        (1, 2, 1),
        (0, 1, 0),
        (1e8, 1, 7),
    ):
        for kind in ("float32", "float64", "int64"):
            expected = ref.linspace(start, end, steps, dtype=getattr(ref, kind))
            found = ic.linspace(start, end, steps, dtype=getattr(ic, kind))
            np.testing.assert_allclose(found.numpy(force=True), expected.array, rtol=1e-6)
    np.testing.assert_allclose(ic.logspace(-1, 2, 4, 2).tolist(), [0.5, 1, 2, 4])
    assert ic.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert ic.eye(2, dtype=ic.bool).tolist() == [[True, False], [False, True]]
    assert ic.eye(0).shape == [0, 0]
    for make in ("tril_indices", "triu_indices"):
        for row, col, offset in ((3, 3, 0), (4, 2, 1), (2, 5, -1), (0, 3, 0)):
            expected = np.stack(getattr(np, make)(row, offset, col))
            assert getattr(ic, make)(row, col, offset).tolist() == expected.tolist()


def test_data() -> None:
    assert ic.tensor(3).shape == () and ic.tensor(3).dtype is ic.int64
    assert ic.tensor([1, 2.5]).tolist() == [1, 2.5] and ic.tensor([True, 2]).dtype is ic.int64
    assert ic.tensor([]).dtype is ic.float32 and ic.tensor([[], []]).shape == [2, 0]
    assert ic.tensor([ic.tensor(1), np.float32(2)]).tolist() == [1, 2]
    assert ic.tensor([np.arange(2), np.arange(2)]).shape == [2, 2]
    assert ic.tensor(np.arange(4).reshape(2, 2).T).tolist() == [[0, 2], [1, 3]]
    assert ic.tensor(np.float64(2)).dtype is ic.float64
    x = ic.tensor([1.0, 2.0])
    y = ic.tensor(x)
    y[0] = 9
    assert x.tolist() == [1, 2]
    assert ic.as_tensor(x) is x and ic.as_tensor(x, ic.int32).dtype is ic.int32
    array = np.arange(3.0)
    shared, own = ic.as_tensor(array), ic.tensor(array)
    array[0] = 7
    assert shared[0] == 7 and own[0] == 0
    array.flags.writeable = False
    assert ic.as_tensor(array).tolist() == [7, 1, 2]  # a copy
    assert ic.asarray([1, 2]).dtype is ic.int64 and ic.scalar_tensor(2).dtype is ic.float32
    with pytest.raises(ValueError, match="not of one length"):
        ic.tensor([[1, 2], [3]])
    with pytest.raises(ValueError, match="not of one length"):
        ic.tensor([1, [2]])
    with pytest.raises(TypeError, match="expected numbers"):
        ic.tensor(["a"])
    with pytest.raises(TypeError):
        ic.tensor(object())


def test_lists() -> None:
    assert ic.from_list([[1, 2], [3, 4]], dtype=ic.float32).tolist() == [[1, 2], [3, 4]]
    for bad, error in (
        (([1, "a"], ic.int64), TypeError),
        (([1], None), TypeError),
        ((3, ic.int64), TypeError),
        (([], ic.int64), ValueError),
        (([[1], [2, 3]], ic.int64), ValueError),
        (([[[1]]], ic.int64), ValueError),
    ):
        with pytest.raises(error, match="from_list"):
            ic.from_list(bad[0], dtype=bad[1])
    assert ic.from_list_by_numpy([[[1.5]]]).dtype is ic.float64
    assert ic.from_list_by_numpy([1], dtype=ic.int8).dtype is ic.int8
    with pytest.raises(TypeError, match="from_list_by_numpy"):
        ic.from_list_by_numpy(np.ones(2))


def test_random() -> None:
    ic.manual_seed(3)
    first = [ic.rand(5).tolist(), ic.randn(5).tolist(), ic.randint(10, (5,)).tolist()]
    again = ic.rand(5).tolist()
    assert again != first[0] and ic.initial_seed() == 3
    ic.manual_seed(3)
    assert first == [
        ic.rand(5).tolist(),
        ic.randn(5).tolist(),
        ic.randint(0, 10, size=(5,)).tolist(),
    ]
    many = ic.rand(20000).numpy(force=True)
    assert many.min() >= 0 and many.max() < 1 and abs(many.mean() - 0.5) < 0.02
    many = ic.randn(20000, dtype=ic.float64).numpy(force=True)
    assert abs(many.mean()) < 0.05 and abs(many.std() - 1) < 0.05
    many = ic.randint(-3, 4, (1000,)).numpy(force=True)
    assert set(many.tolist()) == set(range(-3, 4))
    assert sorted(ic.randperm(50).tolist()) == list(range(50)) != ic.randperm(50).tolist()
    assert ic.randperm(0).shape == (0,) and ic.randperm(3, dtype=ic.int32).dtype is ic.int32
    x = ic.empty(1000).uniform_(2, 3)
    assert x.numpy(force=True).min() >= 2 and x.numpy(force=True).max() <= 3
    assert abs(ic.empty(10000).normal_(5, 0.1).numpy(force=True).mean() - 5) < 0.1
    assert ic.rand_like(x).shape == [1000] and ic.randint_like(x, 3).dtype is ic.float32
    assert ic.empty(100, dtype=ic.uint8).random_().numpy(force=True).min() >= 0
    for call in (
        lambda: ic.randint(5, 5, (2,)),
        lambda: ic.manual_seed(2**70),
        lambda: ic.randperm(-1),
    ):
        with pytest.raises(ValueError, match=r"rand|seed"):
            call()
    with pytest.raises(TypeError, match="floating-point"):
        ic.rand(2, dtype=ic.int32)


def test_random_in_a_graph() -> None:
    """Every replay has numbers of its own."""
    ic.start_graph_recording()
    x = ic.rand(4)
    graph = ic.stop_graph_recording()
    graph.run()
    first = x.tolist()
    graph.run()
    assert x.tolist() != first


def test_constants_while_recording() -> None:
    ic.start_graph_recording()
    x = ic.tensor([1.0, 2.0])
    y = ic.zeros(2).copy_(x)
    graph = ic.stop_graph_recording()
    graph.run()
    assert y.tolist() == [1, 2]


def test_default_device() -> None:
    ic.set_default_device("cpu")
    assert ic.get_default_device() == ic.device("cpu")
    ic.set_default_device(None)
    with ic.context.device("cpu") as chosen:
        assert ic.ones(2).device == chosen


def test_distributions() -> None:
    ic.manual_seed(1)
    assert abs(ic.bernoulli(ic.full((20000,), 0.3)).numpy(force=True).mean() - 0.3) < 0.02
    assert ic.empty(50, dtype=ic.int64).bernoulli_(1.0).tolist() == [1] * 50
    assert abs(ic.empty(20000).exponential_(2.0).numpy(force=True).mean() - 0.5) < 0.02
    weights = ic.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    drawn = ic.multinomial(weights, 4000, replacement=True).numpy(force=True)
    assert drawn.shape == (2, 4000) and set(drawn[1]) == {1} and set(drawn[0]) == {0, 2}
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.04
    first = [ic.multinomial(weights[0], 2).tolist() for _ in range(400)]
    assert all(sorted(each) == [0, 2] for each in first)
    assert abs(sum(each[0] == 2 for each in first) / 400 - 0.75) < 0.1
    assert ic.normal(5.0, 0.0, (3,)).tolist() == [5] * 3
    moved = ic.normal(ic.full((9000,), 2.0), ic.full((1,), 0.1)).numpy(force=True)
    assert abs(moved.mean() - 2) < 0.02 and abs(moved.std() - 0.1) < 0.02
    for bad in (lambda: ic.multinomial(weights, 4), lambda: ic.empty(2).bernoulli_(2)):
        with pytest.raises(ValueError, match="expected"):
            bad()


def test_complex_parts() -> None:
    x = ic.tensor([[1 + 2j, 3 - 4j]])
    assert x.real.tolist() == [[1, 3]] and x.imag.tolist() == [[2, -4]]
    x.imag.fill_(7)
    assert x.tolist() == [[1 + 7j, 3 + 7j]]
    assert ic.view_as_real(x.T).tolist() == [[[1, 7]], [[3, 7]]]
    assert ic.view_as_complex(ic.view_as_real(x)).tolist() == x.tolist()
    assert ic.complex(ic.ones(2), ic.tensor(3.0)).tolist() == [1 + 3j] * 2
    assert ic.real(ic.ones(2)).tolist() == [1, 1]
    for bad in (lambda: ic.imag(ic.ones(2)), lambda: ic.view_as_complex(ic.ones(3))):
        with pytest.raises(RuntimeError, match="expected"):
            bad()
