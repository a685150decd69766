"""Cells of recurrent networks against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore
from infinicore import tensor

RANDOM = np.random.default_rng(8)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def case(gates):
    """Input, state, and weights and biases of this many gates."""
    shapes = [(3, 4), (3, 5), (gates * 5, 4), (gates * 5, 5), (gates * 5,), (gates * 5,)]
    return [RANDOM.standard_normal(shape) for shape in shapes]


def close(got, wanted):
    assert np.allclose(got.numpy(force=True), wanted)


def test_plain_cells():
    x, h, w, u, b, c = given = case(1)
    sums = x @ w.T + b + h @ u.T + c
    close(infinicore.rnn_tanh_cell(*map(tensor, given)), np.tanh(sums))
    close(infinicore.rnn_relu_cell(*map(tensor, given)), np.maximum(sums, 0))
    close(infinicore.rnn_relu_cell(*map(tensor, given[:4])), np.maximum(sums - b - c, 0))


def test_gru_cell():
    x, h, w, u, b, c = given = case(3)
    new, old = np.split(x @ w.T + b, 3, 1), np.split(h @ u.T + c, 3, 1)
    reset, update = sigmoid(new[0] + old[0]), sigmoid(new[1] + old[1])
    fresh = np.tanh(new[2] + reset * old[2])
    close(infinicore.gru_cell(*map(tensor, given)), (1 - update) * fresh + update * h)


def test_lstm_cell():
    x, h, w, u, b, c = case(4)
    cell = RANDOM.standard_normal((3, 5))
    take, keep, fresh, give = np.split(x @ w.T + b + h @ u.T + c, 4, 1)
    wanted = sigmoid(keep) * cell + sigmoid(take) * np.tanh(fresh)
    got = infinicore.lstm_cell(tensor(x), (tensor(h), tensor(cell)), *map(tensor, (w, u, b, c)))
    close(got[1], wanted)
    close(got[0], sigmoid(give) * np.tanh(wanted))


def test_refusals():
    x, h, w, u, *_ = map(tensor, case(1))
    with pytest.raises(ValueError, match="rnn_tanh_cell: the last size of input is 5"):
        infinicore.rnn_tanh_cell(h, h, w, u)
    with pytest.raises(TypeError, match="lstm_cell: hx is Tensor: expected two tensors"):
        infinicore.lstm_cell(x, h, w, u)
