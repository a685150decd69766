"""Cells of recurrent networks: the next state from an input and the previous state.

Weights contain the gates stacked vertically, in torch's order.
"""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect


def _gates(name: str, x: Tensor, weight: Tensor, bias: Tensor | None, argument: str) -> Tensor:
    size = x.shape[-1]
    expect(
        size == weight.shape[1], name, f"the last size of {argument}", size, f"{weight.shape[1]}"
    )
    return infinicore.nn.functional.linear(x, weight, bias)


def _sum_of_gates(
    name: str,
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> Tensor:
    return _gates(name, input, w_ih, b_ih, "input") + _gates(name, hx, w_hh, b_hh, "hx")


@function
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh), for rows of input and hx.

    >>> one = infinicore.ones(1, 1)
    >>> infinicore.rnn_tanh_cell(one, one, one, one)
    tensor([[0.9640]])
    """
    gates = _sum_of_gates("rnn_tanh_cell", input, hx, w_ih, w_hh, b_ih, b_hh)
    return infinicore.tanh(gates)


@function
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """relu(w_ih @ input + b_ih + w_hh @ hx + b_hh), for rows of input and hx.

    >>> one = infinicore.ones(1, 1)
    >>> infinicore.rnn_relu_cell(one, one, one, one)
    tensor([[2.]])
    """
    gates = _sum_of_gates("rnn_relu_cell", input, hx, w_ih, w_hh, b_ih, b_hh)
    return infinicore.nn.functional.relu(gates)


@function
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """The next state of a gated recurrent unit. The gates are reset, update, new.

    >>> zero = infinicore.zeros(1, 1)
    >>> infinicore.gru_cell(zero, zero + 1, infinicore.zeros(3, 1), infinicore.zeros(3, 1))
    tensor([[0.5000]])
    """
    name = "gru_cell"
    new = _gates(name, input, w_ih, b_ih, "input")
    old = _gates(name, hx, w_hh, b_hh, "hx")
    return _gru_state(new, old, hx)


def _gru_state(new: Tensor, old: Tensor, hx: Tensor) -> Tensor:
    """The next state from the gates of the input and of the state."""
    inputs, states = new.chunk(3, -1), old.chunk(3, -1)
    reset = (inputs[0] + states[0]).sigmoid()
    update = (inputs[1] + states[1]).sigmoid()
    fresh = (inputs[2] + reset * states[2]).tanh()
    return fresh + update * (hx - fresh)


@function
def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The next state (h, c) of a long short-term memory. The gates are input, forget, cell, output.

    >>> zero = infinicore.zeros(1, 1)
    >>> weight = infinicore.zeros(4, 1)
    >>> infinicore.lstm_cell(zero, (zero, zero + 1), weight, weight)[1]
    tensor([[0.5000]])
    """
    name = "lstm_cell"
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise TypeError(f"{name}: hx is {type(hx).__name__}: expected two tensors")
    gates = _gates(name, input, w_ih, b_ih, "input") + _gates(name, hx[0], w_hh, b_hh, "hx[0]")
    return _lstm_state(gates, hx[1])


def _lstm_state(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The next state from the gates and the cell."""
    take, keep, fresh, give = gates.chunk(4, -1)
    made = keep.sigmoid() * cell + take.sigmoid() * fresh.tanh()
    return give.sigmoid() * made.tanh(), made
