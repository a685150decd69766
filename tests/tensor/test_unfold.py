"""Windows of a dimension as a view."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore


@pytest.mark.parametrize(("size", "step"), [(1, 1), (2, 1), (3, 2), (5, 1), (0, 1)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_windows(dim: int, size: int, step: int) -> None:
    whole = np.arange(2 * 6 * 7).reshape(6, 7, 2)[:, ::-1, 1].copy()
    x = infinicore.from_numpy(whole)[1:]
    axis = dim % 2
    expected = np.lib.stride_tricks.sliding_window_view(whole[1:], max(size, 1), axis)
    expected = np.take(expected, range(0, expected.shape[axis], step), axis)
    if size == 0:
        expected = np.empty((*x.shape[:axis], x.shape[axis] + 1, *x.shape[axis + 1 :], 0))
    made = x.unfold(dim, size, step)
    assert tuple(made.shape) == expected.shape
    assert (made.numpy(force=True) == expected).all()


def test_it_is_a_view() -> None:
    x = infinicore.zeros(4)
    x.unfold(0, 2, 2)[1, 1] = 5.0
    assert x.tolist() == [0.0, 0.0, 0.0, 5.0]
    assert infinicore.tensor(3).unfold(0, 1, 1).shape == (1,)


@pytest.mark.parametrize("wrong", [(2, 1, 1), (0, 5, 1), (0, -1, 1), (0, 2, 0)], ids=str)
def test_what_does_not_fit(wrong: tuple[int, int, int]) -> None:
    with pytest.raises((IndexError, RuntimeError), match="unfold: "):
        infinicore.zeros(4, 4).unfold(*wrong)
