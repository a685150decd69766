"""Definitions that say, for each coordinate of the output, from which elements of the inputs it is
computed.

    @operator("Flipud(!output, input)", ..., lowered=True)
    @gather(axis=0)
    def flipud(out, input):
        (row,) = out.at
        return input[out.sizes[0] - 1 - row]

`out.at` are the coordinates, `out.sizes` and `input.sizes` the sizes of the dimensions that the
definition names; all others are batch dimensions. `input[i, j]` is an element that must exist,
`input.at(i, j, otherwise=0)` one that may not. Coordinates are integers; `real` makes numbers of
them. `total` and `largest` fold over a range. Back ends have kernels for such operators, or they
are lowered: the definition is the reference, evaluated for arrays of coordinates.

Which dimensions are named: `batch=n`, all but the first n; `last=n`, the last n; `axis=n` or
`axis="attribute"`, that one; `flat`: tensors are seen as one line. `split` gives, for each named
dimension of the output, the factors that it is seen as (their product must be its size):
coordinates come for these. `texts` lists, for an attribute, the texts that the definition knows:
all others are seen as the first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .expression import Array


@dataclass(frozen=True)
class Gather:
    """The options of a definition."""

    definition: Callable[..., Any]
    batch: int | None = None
    last: int | None = None
    axis: int | str | None = None
    flat: bool = False
    split: Callable[..., Any] | None = None
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def tensors(self) -> list[str]:
        """The inputs' names."""
        return [
            name
            for name, parameter in list(inspect.signature(self.definition).parameters.items())[1:]
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]

    def carried(self, rank: int) -> int:
        """The number of batch dimensions of an output of that rank; they come first."""
        if self.batch is not None:
            return self.batch
        return rank - (self.last or 1)


@dataclass(frozen=True)
class Out:
    """A definition's view of the output."""

    at: tuple[Any, ...]
    sizes: tuple[Any, ...]


# ---- Functions that definitions use beyond those of `expression` --------------------------------


def real(x: Any) -> Any:
    """A coordinate as a number, in double precision."""
    import numpy

    return numpy.asarray(x, numpy.float64)


def integer(x: Any) -> Any:
    """A number as a coordinate; it must have no fraction."""
    import numpy

    return numpy.asarray(x).astype(numpy.int64)


def single(x: Any) -> Any:
    """A number rounded to single precision."""
    import numpy

    return numpy.asarray(x, numpy.float32).astype(numpy.float64)


def item(values: Any, index: int, otherwise: Any = 0) -> Any:
    """An entry of a list attribute, or a default if the list is too short."""
    return otherwise if values is None or index >= len(values) else values[index]


def total(count: Any, term: Callable[[Any], Any]) -> Any:
    """The sum of term(k) for k from 0 to count - 1."""
    import numpy

    result: Any = 0.0
    for k in range(int(numpy.max(count, initial=0))):
        result = result + numpy.where(k < count, term(k), 0.0)
    return result


def largest(count: Any, term: Callable[[Any], Any]) -> Any:
    """The largest of them; a NaN wins."""
    import numpy

    result: Any = -numpy.inf
    for k in range(int(numpy.max(count, initial=0))):
        result = numpy.where(k < count, numpy.maximum(result, term(k)), result)
    return result


# ---- The reference ------------------------------------------------------------------------------


class Elements:
    """An input of the reference: its batch dimensions come first."""

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
        if any(place.ndim > self.coordinates for place in places):  # they differ along the batch
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
    for name, known in program.texts.items():
        if attributes[name] not in known:
            attributes[name] = known[0]
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
    result = program.definition(Out(at, seen[carried:]), *inputs, **attributes)
    result = numpy.broadcast_to(result, seen[:carried] + tuple(sizes)).reshape(seen)
    if axis is not None:
        result = numpy.moveaxis(result, -1, axis)
    return result.reshape(shape)


def gather(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turns a definition into a reference; see the module's docstring."""

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
        return reference

    return wrap
