"""`infinicore.nn.init`: distributions and their arguments."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest

import infinicore
from infinicore import nn
from infinicore.nn import init

pytestmark = pytest.mark.host

DEVIATIONS = {
    "uniform_": 1 / math.sqrt(12),
    "normal_": 1.0,
    "trunc_normal_": 0.8796,
    "xavier_uniform_": math.sqrt(2 / 96),
    "xavier_normal_": math.sqrt(2 / 96),
    "kaiming_uniform_": math.sqrt(2 / 32),
    "kaiming_normal_": math.sqrt(2 / 32),
    "orthogonal_": 1 / 8,
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations_and_generators(name: str) -> None:
    fill = getattr(init, name)
    weight, again = infinicore.empty(64, 32), infinicore.empty(64, 32)
    assert fill(weight, generator=infinicore.Generator().manual_seed(5)) is weight
    assert abs(weight.std().item() / DEVIATIONS[name] - 1) < 0.08
    fill(again, generator=infinicore.Generator().manual_seed(5))
    assert bool((weight == again).all())


def test_values() -> None:
    layer = nn.Linear(3, 3)
    assert init.eye_(layer.weight) is layer.weight
    assert layer.weight.tolist() == [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]
    assert init.constant_(infinicore.empty(2), 3.5).tolist() == [3.5, 3.5]
    kernel = init.dirac_(infinicore.empty(4, 2, 3, 3), groups=2)
    assert kernel.sum().item() == 4 and kernel[2, 0, 1, 1].item() == 1
    assert (
        infinicore.count_nonzero(init.sparse_(infinicore.empty(10, 4), 0.25), 0).tolist() == [7] * 4
    )
    wide = init.orthogonal_(infinicore.empty(3, 2, 4), gain=2.0).reshape(3, 8)
    assert infinicore.allclose(wide @ wide.T, infinicore.eye(3) * 4, atol=1e-5)


def test_refusals() -> None:
    calls: list[tuple[Any, str]] = [
        (lambda: init.xavier_uniform_(infinicore.empty(3)), "xavier_uniform_: tensor has 1"),
        (lambda: init.kaiming_normal_(infinicore.empty(3, 3), mode="x"), "kaiming_normal_: mode"),
        (lambda: init.calculate_gain("x"), "calculate_gain: nonlinearity is 'x'"),
        (lambda: init.eye_(infinicore.empty(3)), "eye_: tensor has 1"),
        (lambda: init.trunc_normal_(infinicore.empty(3), a=2, b=1), "trunc_normal_: b is 1"),
    ]
    for call, text in calls:
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.requires("torch")
def test_names_and_parameters_are_torchs() -> None:
    import torch

    for name in init.__all__:
        theirs = inspect.signature(getattr(torch.nn.init, name)).parameters
        ours = inspect.signature(getattr(init, name)).parameters
        assert list(theirs) == list(ours), name
        assert [p.default for p in theirs.values()] == [p.default for p in ours.values()], name
    for name in ("tanh", "relu", "selu", "linear", "conv2d", "sigmoid"):
        assert math.isclose(torch.nn.init.calculate_gain(name), init.calculate_gain(name))
