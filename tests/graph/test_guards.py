"""Recorded functions notice that what they have closed over was replaced."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore import nn

X = infinicore.ones(3)
scale = infinicore.ones(3)


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(infinicore.ones(3))
        self.plain = infinicore.ones(3)

    def forward(self, x: Any) -> Any:
        return x * self.weight * self.plain


def by_global() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    def change() -> None:
        globals()["scale"] = infinicore.ones(3) * 5

    globals()["scale"] = infinicore.ones(3)
    return lambda x: x * scale, change


def by_helper() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    body, change = by_global()

    def helper(x: Any) -> Any:
        return body(x)

    return lambda x: helper(x), change


def by_cell() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    weight = infinicore.ones(3)

    def change() -> None:
        nonlocal weight
        weight = infinicore.ones(3) * 5

    return lambda x: x * weight, change


def by_list() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    weights = [infinicore.ones(3)]

    def change() -> None:
        weights[0] = infinicore.ones(3) * 5

    return lambda x: x * weights[0], change


def by_longer_list() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    weights = [infinicore.ones(3)]
    return lambda x: x * sum(weights), lambda: weights.append(infinicore.ones(3) * 4)


def by_dict() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    weights = {"a": infinicore.ones(3)}
    return lambda x: x * weights["a"], lambda: weights.update(a=infinicore.ones(3) * 5)


def by_set() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    weight = infinicore.ones(3)

    def change() -> None:
        weight.set_(infinicore.ones(3) * 5)

    return lambda x: x * weight, change


def by_module() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    module = nn.Sequential(Scale())

    def change() -> None:
        module[0].weight = nn.Parameter(infinicore.ones(3) * 5)

    return lambda x: module(x), change


def by_attribute() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    module = Scale()

    def change() -> None:
        module.plain = infinicore.ones(3) * 5

    return module.forward, change


def by_dtype() -> tuple[Callable[[Any], Any], Callable[[], None]]:
    module = Scale()

    def change() -> None:
        module.to(infinicore.float64)
        module.plain = infinicore.ones(3) * 5

    return lambda x: module(x), change


WAYS = [value for name, value in list(globals().items()) if name.startswith("by_")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_was_replaced_is_recorded_again(way: Any) -> None:
    body, change = way()
    step = infinicore.graph(body)
    assert step(X).tolist() == [1.0] * 3
    before = step.graphs
    assert step(X).tolist() == [1.0] * 3
    assert step.graphs[0] is before[0]
    change()
    assert step(X).tolist() == [5.0] * 3
    assert step(X).dtype == body(X).dtype
    assert len(step.graphs) == 1


def test_values_that_change_in_place_need_no_recording() -> None:
    module = Scale()
    step = infinicore.graph(lambda x: module(x))
    step(X)
    before = step.graphs[0]
    module.weight.copy_(infinicore.ones(3) * 5)
    module.note = "another attribute"  # counted as a change, and found to be none
    assert step(X).tolist() == [5.0] * 3
    assert step.graphs[0] is before


def test_a_method_of_a_module() -> None:
    class Model(Scale):
        @infinicore.graph
        def step(self, x: Any) -> Any:
            return self(x)

    model = Model()
    assert model.step(X).tolist() == [1.0] * 3
    model.weight = nn.Parameter(infinicore.ones(3) * 5)
    assert model.step(X).tolist() == [5.0] * 3


def test_graphs_are_limited_and_forgotten() -> None:
    step = infinicore.graph(lambda x: x + 1, limit=2)
    for size in (1, 2, 3, 3):
        step(infinicore.ones(size))
    assert [graph.outputs[0].shape for graph in step.graphs] == [(2,), (3,)]
    step.clear()
    assert step.graphs == []
    assert step(X).tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="limit is 0: expected 1 or more"):
        infinicore.graph(lambda x: x, limit=0)


def test_values_that_change_often_are_warned_of() -> None:
    @infinicore.graph
    def scaled(x: Any, factor: float) -> Any:
        return x * factor

    with pytest.warns(UserWarning, match="scaled was recorded 16 times .* for factor"):
        _ = [scaled(X, factor) for factor in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in range(20):
            infinicore.graph(lambda x, k: x * k)(infinicore.ones(size + 1), 2)
