"""Gather programs: definitions that say, for each coordinate of the output, which elements of the
inputs it is made of.

    @operator("Flipud(!output, input)", ..., kernel=True)
    @gather(axis=0)
    def flipud(out, input):
        (row,) = out.at
        return input[out.sizes[0] - 1 - row]

`out.at` are the coordinates, `out.sizes` and `input.sizes` the sizes of the dimensions that the
definition names; all others are carried along. `input[i, j]` is an element that must exist,
`input.at(i, j, otherwise=0)` one that may not. Coordinates are integers; `real` makes numbers of
them. `total` and `largest` fold over a range. Called with arrays the definition is the reference;
traced it becomes C++, in spec/generate/gather.py.

Which dimensions are named: `batch=n`, all but the first n; `last=n`, the last n; `axis=n` or
`axis="attribute"`, that one; `flat`: tensors are seen as one line. `ranks` are the numbers of named
dimensions that the output may have, `dims` those of inputs that differ from the output. `split`
gives, for each named dimension of the output, the factors that it is seen as (their product must be
its size): coordinates come for these. `inner` is the coordinate that loops run along. `cases` lists
values of attributes for which the definition is traced separately, and which it sees as they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .expression import BOOL, FLOAT, INT, Array, Node, lift, where

ANY = "any other"  # among cases: a value that is not known when the definition is traced


@dataclass(frozen=True)
class Gather:
    """What a definition says of itself."""

    definition: Callable[..., Any]
    batch: int | None = None
    last: int | None = None
    axis: int | str | None = None
    flat: bool = False
    ranks: tuple[int, ...] = (1,)
    dims: Mapping[str, int] = field(default_factory=dict)
    split: Callable[..., Any] | None = None
    inner: int = -1
    cases: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    otherwise: Any = None  # the case of texts that are none of the cases; None: they are refused
    # Whether there is at most one rounding, so that F32 can be computed in F32; for a case.
    exact: Callable[[Mapping[str, Any]], bool] = lambda case: False
    cpu: bool = True  # the CPU has no faster kernel of its own
    cuda: bool | None = None  # nor have CUDA-like devices; None: as the CPU

    @property
    def tensors(self) -> list[str]:
        """The inputs' names."""
        return [
            name
            for name, parameter in list(inspect.signature(self.definition).parameters.items())[1:]
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]

    def carried(self, rank: int) -> int:
        """How many dimensions of an output of that rank are carried along; they come first."""
        if self.batch is not None:
            return self.batch
        return rank - (self.last or 1)

    def apply(self, out: Out, inputs: list[Any], attributes: Mapping[str, Any]) -> Any:
        return self.definition(out, *inputs, **attributes)


@dataclass(frozen=True)
class Out:
    """The output, as a definition sees it."""

    at: tuple[Any, ...]
    sizes: tuple[Any, ...]


# ---- Functions that definitions use beyond those of `expression` --------------------------------

_tracing: list[Trace] = []


def real(x: Any) -> Any:
    """A coordinate as a number, in double precision."""
    if isinstance(x, Node):
        return Node("real", (x,), FLOAT)
    import numpy

    return numpy.asarray(x, numpy.float64)


def integer(x: Any) -> Any:
    """A number as a coordinate; it must have no fraction."""
    if isinstance(x, Node):
        return Node("integer", (x,), INT)
    import numpy

    return numpy.asarray(x).astype(numpy.int64)


def single(x: Any) -> Any:
    """A number rounded to single precision."""
    if isinstance(x, Node):
        return Node("single", (x,), FLOAT)
    import numpy

    return numpy.asarray(x, numpy.float32).astype(numpy.float64)


def item(values: Any, index: int, otherwise: Any = 0) -> Any:
    """An entry of a list among the attributes; something else when the list has none there."""
    if isinstance(values, Node):
        found = Node("item", (), values.kind, (values.data, index))
        given = Node("given", (), BOOL, (values.data, index))
        return where(given, found, otherwise)
    return otherwise if values is None or index >= len(values) else values[index]


def binomial(n: Any, k: Any) -> Any:
    if isinstance(n, Node) or isinstance(k, Node):
        return Node("binomial", (lift(n), lift(k)), FLOAT)
    import math

    return math.comb(n, k)


def total(count: Any, term: Callable[[Any], Any]) -> Any:
    """The sum of term(k) for k from 0 to count - 1."""
    return _fold("total", count, term)


def largest(count: Any, term: Callable[[Any], Any]) -> Any:
    """The largest of them; a NaN wins."""
    return _fold("largest", count, term)


def _fold(op: str, count: Any, term: Callable[[Any], Any]) -> Any:
    if _tracing:
        return _tracing[-1].fold(op, lift(count), term)
    import numpy

    count = numpy.asarray(count)
    result: Any = 0.0 if op == "total" else -numpy.inf
    for k in range(int(count.max(initial=0))):
        value = term(k)
        if op == "total":
            result = result + numpy.where(k < count, value, 0.0)
        else:
            result = numpy.where(k < count, numpy.maximum(result, value), result)
    return result


# ---- The reference ------------------------------------------------------------------------------


class Elements:
    """An input of the reference: its carried dimensions come first."""

    def __init__(self, array: Array, carried: int, coordinates: int):
        self.array, self.carried, self.coordinates = array, carried, coordinates
        self.sizes = array.shape[carried:]

    def __getitem__(self, index: Any) -> Any:
        import numpy

        index = index if isinstance(index, tuple) else (index,)
        places = []
        for place, size in zip(index, self.sizes, strict=True):
            place = numpy.clip(numpy.asarray(place), 0, max(size - 1, 0))
            places.append(place.reshape((1,) * (self.coordinates - place.ndim) + place.shape))
        if 0 in self.sizes:
            shape = self.array.shape[: self.carried]
            places_shape = numpy.broadcast_shapes(*(place.shape for place in places))
            return numpy.zeros(shape + places_shape, self.array.dtype)
        lead: tuple[Any, ...] = (slice(None),) * self.carried
        if any(place.ndim > self.coordinates for place in places):  # they differ along carried ones
            grid = numpy.ogrid[tuple(slice(0, size) for size in self.array.shape[: self.carried])]
            lead = tuple(each.reshape(each.shape + (1,) * self.coordinates) for each in grid)
        return self.array[lead + tuple(numpy.broadcast_arrays(*places))]

    def at(self, *index: Any, otherwise: Any = 0) -> Any:
        import numpy

        inside = numpy.asarray(True)
        for place, size in zip(index, self.sizes, strict=True):
            inside = inside & (numpy.asarray(place) >= 0) & (numpy.asarray(place) < size)
        return numpy.where(inside, self[index], otherwise)


def _reference(program: Gather, arrays: list[Array], attributes: dict[str, Any]) -> Array:
    import numpy

    shapes = attributes.pop("shapes")
    shape = next(shapes[name] for name in shapes if name not in program.tensors)
    for name, cases in program.cases.items():
        if isinstance(attributes[name], str | None) and attributes[name] not in cases:
            attributes[name] = program.otherwise
    axis = attributes.get(program.axis) if isinstance(program.axis, str) else program.axis
    if program.flat:
        arrays, seen = [array.reshape(-1) for array in arrays], (int(numpy.prod(shape)),)
    elif axis is not None:
        arrays = [numpy.moveaxis(array, axis, -1) for array in arrays]
        seen = tuple(numpy.moveaxis(numpy.empty(shape, bool), axis, -1).shape)
    else:
        seen = tuple(shape) or (1,)
        arrays = [array if array.ndim else array.reshape(1) for array in arrays]
    carried = 0 if program.flat else program.carried(len(seen))
    sizes: tuple[Any, ...] = seen[carried:]
    plain = [Elements(array, carried, len(sizes)) for array in arrays]
    if program.split:
        factors = program.split(Out((), sizes), *plain, **attributes)
        sizes = tuple(factor for group in factors for factor in group)
    inputs = [Elements(array, carried, len(sizes)) for array in arrays]
    at = tuple(numpy.ogrid[tuple(slice(0, size) for size in sizes)]) if sizes else ()
    result = program.apply(Out(at, seen[carried:]), inputs, attributes)
    result = numpy.broadcast_to(result, seen[:carried] + tuple(sizes)).reshape(seen)
    if axis is not None:
        result = numpy.moveaxis(result, -1, axis)
    return result.reshape(shape)


def gather(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a gather program of a definition; see the module's text."""

    def wrap(definition: Callable[..., Any]) -> Callable[..., Any]:
        program = Gather(definition, **options)

        @functools.wraps(definition)
        def reference(*args: Any, **keywords: Any) -> Array:
            names = program.tensors
            given = dict(zip(names, args, strict=False)) | {
                name: keywords.pop(name) for name in names if name in keywords
            }
            return _reference(program, [given[name] for name in names], keywords)

        signature = inspect.signature(definition)
        parameters = list(signature.parameters.values())[1:]
        shapes = inspect.Parameter("shapes", inspect.Parameter.KEYWORD_ONLY)
        vars(reference)["__signature__"] = inspect.Signature([*parameters, shapes])
        vars(reference)["gather"] = program
        return reference

    return wrap


# ---- Tracing ------------------------------------------------------------------------------------


class Source:
    """An input of a traced definition."""

    def __init__(self, trace: Trace, number: int, dims: int, kind: str):
        self.trace, self.number, self.kind = trace, number, kind
        self.sizes = tuple(Node("size", (), INT, (number, dim)) for dim in range(dims))

    def __getitem__(self, index: Any) -> Node:
        index = index if isinstance(index, tuple) else (index,)
        offset: Node | None = None
        for dim, (place, _) in enumerate(zip(index, self.sizes, strict=True)):
            step = lift(place) * Node("stride", (), INT, (self.number, dim))
            offset = step if offset is None else offset + step
        assert offset is not None
        # A load stays inside the folds that it is written in: they may have no turn at all.
        return Node("load", (offset, *self.trace.folds[-1:]), self.kind, self.number)

    def at(self, *index: Any, otherwise: Any = 0) -> Node:
        inside: Any = None
        for place, size in zip(index, self.sizes, strict=True):
            test = Node("within", (lift(place), size), BOOL)
            inside = test if inside is None else Node("both", (inside, test), BOOL)
        found = self[index]
        return Node("guarded", (inside, found, lift(otherwise)), found.kind)


class Trace:
    """One way through a definition: a number of named dimensions, and a case of each attribute."""

    def __init__(self, program: Gather, rank: int, case: Mapping[str, Any], operator: Any):
        self.program, self.rank, self.case = program, rank, dict(case)
        self.folds: list[Node] = []
        kinds = {tensor.name: tensor for tensor in operator.tensors}
        indices = {"I32", "I64"}
        attributes: dict[str, Any] = {}
        for number, param in enumerate(operator.attributes):
            if param.name in case and case[param.name] is not ANY:
                attributes[param.name] = case[param.name]
            elif param.kind in ("list", "numbers", "text"):
                kind = FLOAT if param.kind == "numbers" else INT
                attributes[param.name] = Node("list", (), kind, number)
            else:
                kind = FLOAT if param.kind == "number" else INT
                attributes[param.name] = Node("attribute", (), kind, number)
        self.inputs = [
            Source(
                self,
                number,
                program.dims.get(name, rank),
                INT if set(kinds[name].dtypes) == indices else "value",
            )
            for number, name in enumerate(program.tensors)
        ]
        sizes = tuple(Node("extent", (), INT, dim) for dim in range(rank))
        self.factors: tuple[tuple[Node, ...], ...] = tuple((size,) for size in sizes)
        _tracing.append(self)
        try:
            if program.split:
                groups = program.split(Out((), sizes), *self.inputs, **attributes)
                self.factors = tuple(tuple(map(lift, group)) for group in groups)
            count = sum(map(len, self.factors))
            self.coordinates = tuple(Node("coordinate", (), INT, dim) for dim in range(count))
            result = program.apply(Out(self.coordinates, sizes), self.inputs, attributes)
        finally:
            _tracing.pop()
        self.result: Node | None = None if result is NotImplemented else lift(result)

    def fold(self, op: str, count: Node, term: Callable[[Any], Any]) -> Node:
        index = Node("index", (), INT)
        self.folds.append(index)
        body = lift(term(index))
        self.folds.pop()
        return Node(op, (count, body), body.kind, index)

    @property
    def exact(self) -> bool:
        return self.program.exact(self.case)

    @property
    def moves(self) -> bool:
        """Whether elements are only moved, so that nothing but their size matters."""
        node = self.result
        while node is not None and node.op == "guarded":
            if node.args[2].op != "constant" or node.args[2].data != 0:
                return False
            node = node.args[1]
        return node is not None and node.op == "load" and not any(map(_loads, node.args))


def _loads(node: Node) -> bool:
    """Whether elements are read to compute it; indices do not count."""
    return (node.op == "load" and node.kind != INT) or any(map(_loads, node.args))


def traces(operator: Any) -> list[Trace]:
    """All ways through an operator's definition."""
    program: Gather | None = getattr(operator.definition, "gather", None)
    if program is None:
        return []
    cases: list[dict[str, Any]] = [{}]
    for name, values in program.cases.items():
        cases = [{**case, name: value} for case in cases for value in values]
    found = [Trace(program, rank, case, operator) for case in cases for rank in program.ranks]
    return [trace for trace in found if trace.result is not None]
