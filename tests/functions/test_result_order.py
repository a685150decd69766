"""An elementwise result has the memory order of its inputs where these agree, as in torch."""

from __future__ import annotations

import pytest

import infinicore as ic

ONE = ["neg", "exp", "round", "isnan", "logical_not", "abs", "sign"]


def transposed(dtype: ic.dtype) -> ic.Tensor:
    values = ic.arange(40 * 70, dtype=ic.float32).view(40, 70) / 1000 - 1
    return values.to(dtype).transpose(0, 1)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", [ic.float32, ic.float16, ic.bfloat16], ids=str)
def test_one_input(name: str, dtype: ic.dtype) -> None:
    x = transposed(dtype)
    made = getattr(ic, name)(x)
    assert made.stride() == x.stride() == (1, 70)
    assert (made == getattr(ic, name)(x.contiguous())).all().item()


def test_several_inputs() -> None:
    x = transposed(ic.float32)
    assert ic.nn.functional.leaky_relu(x).stride() == (1, 70)
    plain = x.contiguous()
    assert (x + x).stride() == (x * 2).stride() == (x > x).stride() == (1, 70)
    assert (x + x[:, :1]).stride() == (1, 70)
    assert (x + plain).is_contiguous() and (plain + x[:1]).is_contiguous()
    assert ((x + plain) == 2 * plain).all().item()


def test_gaps_are_left_out() -> None:
    x = transposed(ic.int32)[:, ::2]
    assert (-x).stride() == (1, 70) and x.to(ic.float32).stride() == (1, 70)
    y = transposed(ic.int32)[::2]
    assert (-y).stride() == (1, 35)
    assert ((-y) == -(y.contiguous())).all().item()


def test_who_asks_for_an_order_gets_it() -> None:
    x = transposed(ic.float32)
    assert x.contiguous().is_contiguous() and x.clone().is_contiguous()
    assert ic.neg(x, out=ic.empty_like(x)).is_contiguous()
