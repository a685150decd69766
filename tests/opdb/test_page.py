"""The page of differences matches the tables, and its statements are correct."""

from __future__ import annotations

import fnmatch

import numpy as np
import pytest

import infinicore
from infinicore import nn

from .page import LEFT_OUT, PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.opdb.page"


def test_others() -> None:
    assert nn.Linear(2, 2).bias is None
    array = np.ones(2, np.float32)
    copied = infinicore.from_numpy(array)
    array[0] = 5
    assert copied.tolist() == [1, 1]
    with pytest.raises((RuntimeError, ValueError)):
        infinicore.ones((2,) * 9)
    assert (infinicore.tensor([1]) // 0).tolist() == [0]
    assert infinicore.ones(1).requires_grad is False
    with pytest.raises(ValueError, match="out"):
        infinicore.add(infinicore.ones(4), 1, out=infinicore.empty(0))
    assert infinicore.tensor([-1.5, 300.0]).to(infinicore.uint8).tolist() == [0, 255]
    x = infinicore.zeros(4)
    x[1:].resize_(9).fill_(1)
    assert x.tolist() == [0, 0, 0, 0]
    small = infinicore.tensor([[0.01]])
    assert nn.functional.rms_norm(small, (1,)).item() < 0.96
    assert infinicore.special.laguerre_polynomial_l(small, 1 << 20).isnan().item()
    z = infinicore.tensor([1j])
    z.conj().fill_(0)
    assert z.tolist() == [1j]


def test_what_is_left_out_is_left_out() -> None:
    functions = {name for name in dir(infinicore) if callable(getattr(infinicore, name))}
    functions -= {name for name in functions if isinstance(getattr(infinicore, name), type)}
    for text in LEFT_OUT.values():
        for pattern in text.split():
            names = {*functions, *vars(infinicore.Tensor)}
            assert not fnmatch.filter(names, pattern), pattern
