"""Calls of operators: immediate, or described once and run many times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore.op._arrays import empty_as, empty_like, item_size
from infinicore.op._operator import Function, function


def call(name: str, inputs: Sequence[Any], values: dict[str, Any], out: Any, stream: Any) -> Any:
    """The implementation of the generated functions. Without a stream, the work is complete when
    this returns."""
    this = function(name)
    if this.is_plain:
        made = out if out is not None else empty_as(inputs[0])
        attributes = this.attribute_values(values) if values else ()
        scalars = this.scalar_values(values) if this.scalars else ()
        if _core.run_map(this.index, (made, *inputs), attributes, scalars, stream):
            return made
    views = this.views(inputs)
    results = this.take_outputs(views, out) if this.outputs else []
    if values or this.derived:
        this.settle(views, values)
    if this.added_to and out is None and values[this.added_to[1]]:
        raise TypeError(f"{name}: out= is needed: {this.added_to[1]} is not 0")
    for missing in this.infer(views, values):
        made = empty_like(inputs, missing.shape, missing.dtype)
        views[missing.place] = _core.view(made)
        index = next(i for i, (_, place, _) in enumerate(this.outputs) if place == missing.place)
        results[index] = made
    plan = _core.Plan(this.index, views[: len(this.tensors)], this.attribute_values(values))
    data = [views[place] for place in this.data_places]
    told = plan._run(this.number, data, this.scalar_values(values), stream)
    if this.found:
        return _take_found(this, views, told, inputs)
    if results:
        return results[0] if len(results) == 1 else _without_absent(this, results)
    modified = [
        given
        for (_, place, *_), given in zip(this.inputs, inputs, strict=True)
        if place in this.modified
    ]
    return modified[0] if len(modified) == 1 else tuple(modified)


def _without_absent(this: Function, results: list[Any]) -> Any:
    """Optional results that are absent are left out."""
    kept = tuple(result for result in results if result is not None)
    return kept[0] if len(kept) == 1 else kept


def _take_found(this: Function, views: list[Any], told: Any, inputs: Sequence[Any]) -> Any:
    """Copies a result allocated by the run function, and frees it."""
    from infinicore import rt

    assert this.found is not None
    dtype, shape, maker = this.found
    if dtype.startswith("="):
        names = [tensor.name for tensor in this.tensors]
        dtype = views[names.index(dtype[1:])].dtype
    address, count = told
    sizes = {"count": count, "rank": len(views[0].shape)}
    result = empty_like(inputs, [sizes[name] for name in shape], dtype)
    made = _core.view(result)
    nbytes = math.prod(made.shape) * item_size(dtype)
    if nbytes:
        rt.Memcpy(made.ptr, address, nbytes, rt.MemcpyDefault)
    if maker == "device" and rt.kind() != "cpu":
        rt.Free(address)
    else:
        _core.free_host(address, maker == "host")
    return result


class Plan(_core.Plan):
    """A described operator, which runs any number of times with little overhead. Call it with the
    data in the order of the C run function (`parameters`), usually results first. Scalars of the
    run function are keywords.

    >>> plan = op.describe("silu", x=x)
    >>> plan(y, x, stream=stream)
    """

    def __init__(self, this: Function, views: list[Any], values: dict[str, Any]) -> None:
        super().__init__(this.index, views[: len(this.tensors)], this.attribute_values(values))
        self._function = this
        self._number = this.number
        self._values = values
        self._fixed = this.scalar_values(values) if this.scalars else ()
        self.parameters = tuple(name for name, *_ in this.pointers)

    def __call__(self, *data: Any, stream: Any = None, **scalars: Any) -> None:
        given = self._fixed
        if scalars:
            if unknown := set(scalars) - set(self._function.scalars):
                raise TypeError(f"{self.name}: no scalars of the run function: {sorted(unknown)}")
            given = self._function.scalar_values({**self._values, **scalars})
        self._run(self._number, data, given, stream)

    def __repr__(self) -> str:
        return f"<Plan of {self.name}({', '.join(self.parameters)})>"


def describe(name: str, *inputs: Any, out: Any = None, **arguments: Any) -> Plan:
    """Check, plan and keep an operator for tensors of given shapes, strides and element types.

    Inputs are passed as to the function of that name, positionally or by name; only their layouts
    matter. Without `out`, results are assumed to be dense, with the inferred shape.

    >>> plan = op.describe("add", a, b)
    >>> plan.workspace_size
    0
    >>> plan(c, a, b)
    """
    this = function(name)
    names = [slot[0] for slot in this.inputs]
    if len(inputs) > len(names):
        raise TypeError(f"{name}: expected at most {len(names)} tensors ({', '.join(names)})")
    given = [*inputs, *(arguments.pop(n, None) for n in names[len(inputs) :])]
    values = {**this.defaults, **arguments}
    views = this.views(given)
    this.take_outputs(views, out)
    wanted = {a.name for a in this.attributes} | {*this.scalars} - {*this.derived, *this.counts}
    if unknown := set(arguments) - wanted:
        raise TypeError(f"{name}: no parameters of the operator: {sorted(unknown)}")
    if lacking := wanted - {*values} - {*this.derived, *this.counts}:
        raise TypeError(f"{name}: missing: {', '.join(sorted(lacking))}")
    this.settle(views, values)
    for missing in this.infer(views, values):
        views[missing.place] = this.described(missing)
    return Plan(this, views, values)
