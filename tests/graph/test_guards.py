"""Recorded functions notice when variables that they close over are replaced."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore import nn

pytestmark = pytest.mark.host  # guards check Python objects on every device

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


def by_body_that_is_a_module() -> tuple[Any, Callable[[], None]]:
    module = Scale()

    def change() -> None:
        module.weight = nn.Parameter(infinicore.ones(3) * 5)

    return module, change


def by_partial() -> tuple[Any, Callable[[], None]]:
    module, change = by_body_that_is_a_module()
    return functools.partial(lambda model, x: model(x), module), change


def by_recorded_function() -> tuple[Any, Callable[[], None]]:
    body, change = by_cell()
    inner = infinicore.graph(body)
    return lambda x: inner(x), change


def by_variables_of_one_name() -> tuple[Any, Callable[[], None]]:
    first, second = Scale(), Scale()

    def make(layer: Any) -> Callable[[Any], Any]:
        return lambda x: layer(x)

    one, two = make(first), make(second)

    def change() -> None:
        first.weight = nn.Parameter(infinicore.ones(3) * 5)

    return lambda x: two(one(x)), change


def by_new_list() -> tuple[Any, Callable[[], None]]:
    weights = [infinicore.ones(3)]

    def change() -> None:
        nonlocal weights
        weights = [infinicore.ones(3) * 5]

    return lambda x: x * weights[0], change


def by_none() -> tuple[Any, Callable[[], None]]:
    bias = None

    def change() -> None:
        nonlocal bias
        bias = infinicore.ones(3) * 4

    return lambda x: x if bias is None else x + bias, change


def by_new_key() -> tuple[Any, Callable[[], None]]:
    weights = {"a": infinicore.ones(3)}
    return lambda x: x * sum(weights.values()), lambda: weights.update(b=infinicore.ones(3) * 4)


def by_list_of_a_module() -> tuple[Any, Callable[[], None]]:
    module = Scale()
    module.caches = [infinicore.ones(3)]

    def change() -> None:
        module.caches[0] = infinicore.ones(3) * 5

    return lambda x: x * module.caches[0], change


def by_plain_object() -> tuple[Any, Callable[[], None]]:
    class Model:
        def __init__(self) -> None:
            self.weight = infinicore.ones(3)

        def __call__(self, x: Any) -> Any:
            return x * self.weight

    model = Model()

    def change() -> None:
        model.weight = infinicore.ones(3) * 5

    return model, change


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
    module.note = "another attribute"  # counted as a change, and found unchanged
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


def test_strides_are_looked_at() -> None:
    weight = infinicore.arange(4, dtype=infinicore.float32).reshape(2, 2)
    module = nn.Linear(2, 2, bias=False)
    module.weight = nn.Parameter(weight)
    step = infinicore.graph(lambda x: module(x))
    x = infinicore.tensor([[1.0, 0.0]])
    assert step(x).tolist() == [[0.0, 2.0]]
    module.weight = nn.Parameter(weight.T)
    assert step(x).tolist() == [[0.0, 1.0]]


def test_tensors_that_a_function_stores_are_none_of_its_inputs() -> None:
    class Model(Scale):
        def forward(self, x: Any) -> Any:
            self.last = x * 2
            return super().forward(self.last)

    model, recordings = Model(), []

    @infinicore.graph
    def step(x: Any) -> Any:
        recordings.append(x.shape)
        return model(x)

    for size in (1, 3, 1, 3, 1, 3):
        step(infinicore.ones(size, 3))
    assert len(recordings) == 2


def test_attributes_are_no_variables() -> None:
    recordings = []

    def step(x: Any) -> Any:
        recordings.append(x.shape)
        return x.sort().values

    namespace = step.__globals__
    recorded = infinicore.graph(step)
    try:
        for _ in range(3):
            namespace["values"] = recorded(X)
    finally:
        namespace.pop("values")
    assert len(recordings) == 1


def test_a_module_with_a_recorded_function_is_copied() -> None:
    class Model(Scale):
        def __init__(self) -> None:
            super().__init__()
            self.step = infinicore.graph(self.forward)

    model = Model()
    model.step(X)
    made = copy.deepcopy(model)
    made.weight.copy_(infinicore.ones(3) * 5)
    assert made.step(X).tolist() == [5.0] * 3
    assert model.step(X).tolist() == [1.0] * 3


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
        times = infinicore.graph(lambda x, k: x * k)
        for size in range(20):
            times(infinicore.ones(size + 1), 2)
