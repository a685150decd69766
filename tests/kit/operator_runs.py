"""A case of an operator, run four ways: without a stream, on a stream, captured, replayed with new
data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spec.operators.language.model import Tensor

from .drawing import FLOATS, Draw, Shape
from .layouts import Rule, broadcast, contiguous
from .memory import Maker
from .operators import Described, Layout, Placed
from .reference import compare, evaluate, tolerances

SUCCESS = "INFINI_STATUS_SUCCESS"


class Trial:
    """The tensors of a case in memory, its references, and the ways to run it."""

    def __init__(
        self,
        make: Maker,
        draw: Draw,
        rule: Rule = contiguous,
        outputs: Rule | None = None,
        in_place: tuple[str, str] | None = None,
        shared: tuple[str, str] | None = None,
    ) -> None:
        """`in_place`: an output that shares the memory of an input; `shared`: an input that shares
        the memory of another one."""
        self.make, self.draw, self.operator = make, draw, draw.operator
        self.in_place, self.shared = in_place, shared
        self.repeats = rule is broadcast
        self.tensors: dict[str, Any] = {}
        for tensor in self.operator.tensors:
            shape = draw.shapes[tensor.name]
            chosen = (outputs or rule) if tensor.written else rule
            self.tensors[tensor.name] = self._place(tensor, shape, chosen)
        for pair in filter(None, (in_place, shared)):
            self.tensors[pair[0]] = self.tensors[pair[1]]
        self.extra = {
            name: Placed(make, extra.dtype, contiguous(extra.shape, "dense"))
            for name, extra in draw.extra.items()
        }
        self.described = Described(
            make, self.operator, self.tensors, draw.attributes, draw.run_number
        )

    def _place(self, tensor: Tensor, shape: Any, rule: Rule) -> Any:
        if shape is None:
            return None
        if isinstance(shape, list):
            return [self._place(tensor, each, rule) for each in shape]
        dtype = self.draw.dtypes[tensor.name]
        if rule is broadcast and dtype not in FLOATS and tensor.name in self.draw.rules.values:
            rule = contiguous  # offsets and the like do not repeat
        return Placed(self.make, dtype, rule(shape, tensor.layout))

    # ---- Data -----------------------------------------------------------------------------------

    def data(self, seed: int) -> dict[str, Any]:
        """Values of the inputs, equal along repeated dimensions."""
        drawn = self.draw.values(seed)
        if self.shared:
            drawn[self.shared[0]] = drawn[self.shared[1]]
        for name, values in drawn.items():
            placed = self.tensors.get(name)
            if isinstance(placed, Placed):
                drawn[name] = collapsed(values, placed.layout)
            elif isinstance(placed, list):
                pairs = zip(values, placed, strict=True)
                drawn[name] = [collapsed(value, each.layout) for value, each in pairs]
        return drawn

    def load(self, values: dict[str, Any]) -> None:
        for tensor in self.operator.tensors:
            placed = self.tensors[tensor.name]
            if placed is None or (self.in_place and tensor.name == self.in_place[0]):
                continue
            given = values.get(tensor.name)
            if isinstance(placed, list):
                for each, value in zip(placed, given or [None] * len(placed), strict=True):
                    each.write(value)
            else:
                placed.write(given)
        for name, placed in self.extra.items():
            placed.write(values.get(name))

    # ---- Running --------------------------------------------------------------------------------

    def pointers(self) -> dict[str, Any]:
        """Addresses by the names of the run function's parameters, lists of them for arrays."""
        run = self.operator.runs[self.described.run_number]
        pointers: dict[str, Any] = {}
        for pointer in run.pointers:
            found = self.tensors.get(pointer.tensor) if pointer.tensor else None
            if not pointer.tensor:
                found = self.extra.get(pointer.name)
            if isinstance(found, list):
                pointers[pointer.name] = [each.address for each in found]
            elif pointer.array and isinstance(found, Placed):
                pointers[pointer.name] = split(found, found.layout.shape[0])
            else:
                pointers[pointer.name] = None if found is None else found.address
        return pointers

    def run(self, stream: int | None) -> None:
        status = self.described.run(self.pointers(), self.draw.scalars, stream)
        assert status == SUCCESS, f"{status}: {self.make.rt.message()}"

    def expect(self, values: dict[str, Any]) -> tuple[list[str], list[Any], list[Any]]:
        names = [tensor.name for tensor in self.operator.outputs]
        names += [name for name, extra in self.draw.extra.items() if extra.role != "in"]
        expected = evaluate(self.draw, values)
        assert len(expected) == len(names), f"the definition gives {len(expected)} results"
        return names, expected, tolerances(self.draw, values, expected, names, self.repeats)

    def check(self, reference: tuple[list[str], list[Any], list[Any]], values: Any) -> None:
        names, expected, allowed = reference
        results: dict[str, Any] = {}
        for name in names:
            placed = self.extra[name] if name in self.extra else self.tensors[name]
            results[name] = None if placed is None else placed.values()
        own = self.draw.rules.compare
        if own:
            own(self.draw, values, results, dict(zip(names, expected, strict=True)))
        else:
            for name, result, limit in zip(names, expected, allowed, strict=True):
                if results[name] is not None:
                    placed = self.extra[name] if name in self.extra else self.tensors[name]
                    compare(name, placed.dtype, results[name], result, limit)
        for tensor in self.operator.tensors:
            placed = self.tensors[tensor.name]
            for each in placed if isinstance(placed, list) else [placed]:
                if each is not None and not tensor.written and not self._shared(tensor.name):
                    each.assert_unchanged()

    def _shared(self, name: str) -> bool:
        return bool(self.in_place and self.in_place[1] == name)

    def four_ways(self) -> None:
        """The whole test of a case."""
        rt, make = self.make.rt, self.make
        assert self.described.status == SUCCESS, f"{self.described.status}: {rt.message()}"
        first, second = self.data(1), self.data(2)
        one, two = self.expect(first), self.expect(second)

        self.load(first)
        self.run(None)
        rt.DeviceSynchronize()
        self.check(one, first)

        stream = make.stream()
        self.load(second)
        self.run(stream)
        rt.StreamSynchronize(stream)
        self.check(two, second)
        if self.operator.host_result:
            return

        rt.StreamBeginCapture(stream, rt.StreamCaptureModeThreadLocal)
        self.run(stream)
        graph = make.exec(make.own_graph(rt.StreamEndCapture(stream)))
        for values, reference in ((first, one), (second, two)):
            self.load(values)
            rt.GraphLaunch(graph, stream)
            rt.StreamSynchronize(stream)
            self.check(reference, values)


def collapsed(values: Any, layout: Layout) -> Any:
    """Values that are equal along the dimensions of stride 0."""
    for dim, (size, stride) in enumerate(zip(layout.shape, layout.strides, strict=True)):
        if stride == 0 and size > 1:
            values = np.repeat(np.take(values, [0], axis=dim), size, axis=dim)
    return values


def split(placed: Placed, count: int) -> list[int]:
    """Addresses of the parts of a dense tensor along its first dimension."""
    step = math.prod(placed.layout.shape[1:]) * placed.element.itemsize
    return [placed.address + i * step for i in range(count)]


__all__ = ["Shape", "Trial", "collapsed"]
