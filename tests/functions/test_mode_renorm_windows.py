"""mode, renorm, windows for signals, small functions, and contexts without gradients."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.place import put


def same(ours: Any, theirs: Any) -> None:
    other = ref.of(ours)
    assert other.dtype == theirs.dtype
    assert other.shape == theirs.shape
    assert ref.allclose(other, theirs, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_mode(dim: int, keepdim: bool) -> None:
    x = ref.randint(0, 3, (4, 7, 9), seed=dim)[..., ::2]
    values, indices = infinicore.mode(put(x), dim, keepdim)
    same(values, ref.mode(x, dim, keepdim).values)
    places = ref.of(indices if keepdim else indices.unsqueeze(dim))
    found = x.gather(dim, places)
    same(values if keepdim else values.unsqueeze(dim), found)
    assert infinicore.tensor(2.0).mode().values.item() == 2.0
    with pytest.raises(IndexError, match="mode: "):
        infinicore.mode(infinicore.ones(0))


@pytest.mark.parametrize("p", [1, 2, 3.5])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_renorm(dim: int, p: float) -> None:
    x = ref.randn(3, 4, 5)
    same(infinicore.renorm(put(x), p, dim, 1.5), ref.renorm(x, p, dim, 1.5))


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
@pytest.mark.parametrize("length", [0, 1, 2, 7])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(name: str, length: int, periodic: bool) -> None:
    name = f"{name}_window"
    same(getattr(infinicore, name)(length, periodic), getattr(ref, name)(length, periodic))
    with pytest.raises(ValueError, match=f"{name}: window_length"):
        getattr(infinicore, name)(-1)


def test_small_ones() -> None:
    x = ref.tensor([1.0, float("nan"), 0.0])
    ours = put(x)
    same(infinicore.fill(ours, 3), ref.fill(x, 3))
    same(infinicore.isreal(ours), ref.isreal(x))
    same(infinicore.conj(ours), x)
    same(infinicore.ldexp(ours, 2.5), ref.ldexp(x, ref.tensor(2.5)))


def test_without_gradients() -> None:
    with infinicore.no_grad(), infinicore.inference_mode():
        assert not infinicore.is_grad_enabled()

    @infinicore.no_grad()
    def one() -> int:
        return 1

    @infinicore.inference_mode
    def two() -> int:
        return 2

    assert one() + two() == 3
