"""Recurrent networks, compared with torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from kit.place import put
from kit.requirements import need

RANDOM = np.random.default_rng(6)


def pairs(got: Any, wanted: Any) -> Any:
    if isinstance(wanted, tuple):
        for one, two in zip(got, wanted, strict=True):
            yield from pairs(one, two)
    else:
        yield got, wanted


def compare(name: str, args: Any, keywords: Any, *inputs: Any) -> None:
    torch = need("torch")
    theirs = getattr(torch.nn, name)(*args, **keywords).eval()
    ours = getattr(nn, name)(*args, **keywords)
    assert repr(ours) == repr(theirs)
    ours.load_state_dict({key: put(value) for key, value in theirs.state_dict().items()})

    def as_torch(x: Any) -> Any:
        return tuple(map(as_torch, x)) if isinstance(x, tuple) else torch.from_numpy(x)

    def as_ours(x: Any) -> Any:
        return tuple(map(as_ours, x)) if isinstance(x, tuple) else infinicore.tensor(x)

    with torch.no_grad():
        wanted = theirs(*map(as_torch, inputs))
    for one, two in pairs(ours(*map(as_ours, inputs)), wanted):
        assert tuple(one.shape) == tuple(two.shape)
        assert np.allclose(one.numpy(force=True), two.numpy(), rtol=1e-4, atol=1e-5)


def random(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_networks(name: str, bidirectional: bool, batch_first: bool) -> None:
    keywords = {"bidirectional": bidirectional, "batch_first": batch_first}
    compare(name, (4, 6), keywords, random(5, 3, 4))
    keywords |= {"num_layers": 2, "bias": False}
    states = random(4 if bidirectional else 2, 5 if batch_first else 3, 6)
    given: Any = (states, states + 1) if name == "LSTM" else states
    compare(name, (4, 6), keywords, random(5, 3, 4), given)
    compare(name, (4, 6), keywords, random(5, 4))


def test_other_forms() -> None:
    compare("RNN", (4, 6), {"nonlinearity": "relu"}, random(5, 3, 4))
    for bidirectional in (False, True):
        keywords = {"proj_size": 2, "num_layers": 2, "bidirectional": bidirectional}
        compare("LSTM", (4, 6), keywords, random(5, 3, 4))


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells(name: str) -> None:
    compare(name, (4, 6), {}, random(3, 4))
    compare(name, (4, 6), {}, random(4))
    state: Any = (random(3, 6), random(3, 6)) if name == "LSTMCell" else random(3, 6)
    compare(name, (4, 6), {"bias": False}, random(3, 4), state)


def test_a_cell_of_relu() -> None:
    compare("RNNCell", (4, 6), {"nonlinearity": "relu"}, random(3, 4))


def test_a_network_is_its_cell_step_by_step() -> None:
    """Without torch."""
    network, cell = nn.LSTM(3, 5), nn.LSTMCell(3, 5)
    for value in network.parameters():
        value.copy_(infinicore.tensor(random(*value.shape)))
    cell.load_state_dict({key.removesuffix("_l0"): v for key, v in network.state_dict().items()})
    x = infinicore.tensor(random(4, 2, 3))
    whole, (h, c) = network(x)
    state = None
    for step in range(4):
        state = cell(x[step], state)
        assert np.allclose(state[0].numpy(force=True), whole[step].numpy(force=True), atol=1e-6)
    assert np.allclose(state[1].numpy(force=True), c[0].numpy(force=True), atol=1e-6)
    assert h.shape == (1, 2, 5)


def test_refusals() -> None:
    network = nn.LSTM(3, 5)
    with pytest.raises(TypeError, match="packed sequences are not supported"):
        network((infinicore.ones(2, 3),))
    with pytest.raises(RuntimeError, match="LSTM: the last size of input is 4"):
        network(infinicore.ones(2, 1, 4))
    with pytest.raises(TypeError, match="two tensors"):
        network(infinicore.ones(2, 1, 3), infinicore.ones(1, 1, 5))
    with pytest.raises(ValueError, match="GRU: expected hidden_size"):
        nn.GRU(3, 0)
    with pytest.raises(ValueError, match="nonlinearity is 'sin'"):
        nn.RNN(3, 4, nonlinearity="sin")
