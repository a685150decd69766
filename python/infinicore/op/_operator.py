"""One operator, read from the table when it is first called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from infinicore import _core
from infinicore.op._shapes import Shape, dense
from infinicore.op._table import FUNCTIONS, OPERATORS


class Tensor(NamedTuple):
    name: str
    role: str  # "in", "out" or "inout"
    optional: bool
    kinds: str  # element types; "=x" for that of tensor x, "+x" for the type of its sums
    shapes: tuple[tuple[str, ...], ...]  # alternatives
    array: str  # not empty: a list of tensors


class Attribute(NamedTuple):
    name: str
    letter: str
    length: str
    words: dict[str, int]


class Missing(NamedTuple):
    """A result that has to be allocated."""

    place: int
    shape: Shape
    dtype: str


class Function:
    """An operator with one of its run functions. Places are indices of tensors, followed by the run
    function's pointers without a descriptor."""

    def __init__(self, name: str) -> None:
        self.name = name
        operator, number = FUNCTIONS[name]
        row = OPERATORS[operator]
        run = row["runs"][number]
        self.operator, self.number, self.index = operator, number, row["index"]
        self.tensors = [Tensor(*tensor) for tensor in row["tensors"]]
        self.attributes = [Attribute(*attribute) for attribute in row["attributes"]]
        self.where: Sequence[str] = row.get("where", ())
        self.in_place: dict[str, str] = row.get("in_place", {})
        self.added_to: tuple[str, str] | None = row.get("added_to")
        self.found: tuple[str, tuple[str, ...], str] | None = row.get("found")
        self.c_name: str = run["name"]
        self.pointers: Sequence[tuple[str, int, str]] = run["pointers"]
        self.inputs: Sequence[tuple[str, int, bool, bool]] = run["inputs"]
        self.outputs: Sequence[tuple[str, int, bool]] = run["outputs"]
        self.scalars: Sequence[str] = run.get("scalars", ())
        self.derived: dict[str, tuple[tuple[str, ...], int]] = run.get("derived", {})
        self.defaults: dict[str, Any] = run.get("defaults", {})
        self.lengths: dict[str, str] = run.get("lengths", {})
        self.counts: dict[str, str] = run.get("counts", {})
        self.modified = [i for i, t in enumerate(self.tensors) if t.role == "inout"]
        count = len(self.tensors)
        # Where the data of each pointer of the run function comes from.
        self.data_places = [
            tensor if tensor >= 0 else count + i for i, (_, tensor, _) in enumerate(self.pointers)
        ]
        self.place_count = count + len(self.pointers)
        # Places with stride requirements -> "1": unit last stride, "d": dense.
        self.layouts = {
            i: letter for i, letter in enumerate(row.get("layouts", "")) if letter != "."
        }
        self.layouts |= dict.fromkeys((i for i in self.data_places if i >= count), "d")
        # Results -> an input with the same element type.
        self.tied: dict[str, int] = {}
        for i, tensor in enumerate(self.tensors):
            if tensor.role == "in" and tensor.kinds.startswith("=") and not tensor.optional:
                self.tied.setdefault(tensor.kinds[1:], i)
        # Fully elementwise: the common case, decided without looking at symbols.
        self.is_map = (
            all(tensor.shapes == (("*S",),) and not tensor.array for tensor in self.tensors)
            and len(self.outputs) == 1
            and not self.modified
        )
        self.takes_complex = any("C64" in tensor.kinds.split() for tensor in self.tensors)
        self.complex_as: str = row.get("complex_as", "")  # how complex operands are handled
        # The simplest of these: results like the first input, tensors in the same order everywhere,
        # attributes that are plain numbers.
        first = self.inputs[0][1] if self.inputs else -1
        self.is_plain = (
            self.is_map
            and [place for _, place, *_ in (*self.outputs, *self.inputs)]
            == [tensor for _, tensor, _ in self.pointers]
            == list(range(count))
            and self.tied.get(self.tensors[0].name) == first
            and not any(a.words or a.length or a.name in ("dim", "axis") for a in self.attributes)
            and not self.derived
            and not self.counts
        )

    # ---- Arguments ------------------------------------------------------------------------------

    def views(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs by place."""
        made: list[Any] = [None] * self.place_count
        for (name, place, optional, array), given in zip(self.inputs, inputs, strict=True):
            if given is None:
                if not optional:
                    raise TypeError(f"{self.name}: {name} is missing")
            elif array:
                made[place] = [_core.view(each, name) for each in given]
            else:
                made[place] = _core.view(given, name)
        return made

    def take_outputs(self, views: list[Any], out: Any) -> list[Any]:
        """Puts the given results into their places; returns the objects, None for missing ones."""
        if out is None:
            return [None] * len(self.outputs)
        given = (
            [out] if len(self.outputs) == 1 and not isinstance(out, (tuple, list)) else list(out)
        )
        if len(given) > len(self.outputs):
            names = ", ".join(name for name, *_ in self.outputs)
            raise TypeError(f"{self.name}: out= takes {len(self.outputs)} results ({names})")
        given += [None] * (len(self.outputs) - len(given))
        for (name, place, _), each in zip(self.outputs, given, strict=True):
            if each is not None:
                views[place] = _core.view(each, name)
        return given

    def settle(self, views: list[Any], values: dict[str, Any]) -> None:
        """Converts names to numbers, lists to their lengths, and negative dimensions to nonnegative
        ones."""
        for attribute in self.attributes:
            name = attribute.name
            if name in self.derived:
                continue
            value = values[name]
            if isinstance(value, str) and attribute.words:
                if value not in attribute.words:
                    known = ", ".join(map(repr, attribute.words))
                    raise ValueError(f"{self.name}: {name} is {value!r}: expected one of {known}")
                values[name] = attribute.words[value]
            elif name in ("dim", "axis"):
                values[name] = self._dims(views, value, bool(attribute.length))
            elif attribute.length and isinstance(value, (int, float)):
                values[name] = (value,) * self._length(attribute, views, values)
        for length, (sources, bytes_each) in self.derived.items():
            lists = [values[s] if s in values else self._given(views, s) for s in sources]
            counts = [len(each) for each in lists if each is not None]
            if any(count != counts[0] for count in counts):
                given = ", ".join(f"{s} {c}" for s, c in zip(sources, counts, strict=False))
                raise ValueError(f"{self.name}: lists of one length are expected, not {given}")
            values[length] = (counts[0] if counts else self._images(views)) * bytes_each
        for name, tensor in self.counts.items():
            place = next(i for i, t in enumerate(self.tensors) if t.name == tensor)
            # A result that does not exist yet has an entry for each row of the first input.
            first = _first(views)
            sizes = views[place].shape if views[place] is not None else first.shape[:-1]
            values[name] = math.prod(sizes)

    def _given(self, views: list[Any], name: str) -> Any:
        return next(views[place] for known, place, *_ in self.inputs if known == name)

    def _dims(self, views: list[Any], value: Any, listed: bool) -> Any:
        first = _first(views)
        rank = max(len(first.shape), 1)
        if not listed:
            return value + rank if value < 0 else value
        if value is None:
            return tuple(range(len(first.shape)))
        dims = (value,) if isinstance(value, int) else tuple(value)
        return tuple(dim + rank if dim < 0 else dim for dim in dims)

    def _length(self, attribute: Attribute, views: list[Any], values: dict[str, Any]) -> int:
        """The length of a list that was given as one number."""
        if attribute.length.isdigit() and attribute.length != "0":
            return int(attribute.length)
        for other in self.attributes:
            given = values.get(other.name)
            if other.length == attribute.length and isinstance(given, (tuple, list)):
                return len(given)
        return self._images(views)

    def _images(self, views: list[Any]) -> int:
        """The spatial dimensions of an image: all but the batch and the channels."""
        return max(len(_first(views).shape) - 2, 1)

    # ---- Shapes ---------------------------------------------------------------------------------

    def infer(self, tensors: list[Any], values: dict[str, Any]) -> list[Missing]:
        """The results to allocate. Operands, views or tensors, are expanded to their common
        shape."""
        scalars = [values.get(name, 0) for name in self.scalars]
        found = _core.infer(
            self.index, self.number, tensors, self.attribute_values(values), scalars
        )
        missing = []
        for place, shape, dtype in found:
            if dtype is None:
                tensors[place] = tensors[place].expand(shape)
            else:
                missing.append(Missing(place, shape, dtype))
        made = {each.place for each in missing}
        for name, place, _ in self.outputs:
            if place >= len(self.tensors) and tensors[place] is None and place not in made:
                raise TypeError(f"{self.name}: out= is needed: the inputs do not tell {name}")
        return missing

    # ---- What the extension module takes --------------------------------------------------------

    def attribute_values(self, values: dict[str, Any]) -> list[Any]:
        return [values[attribute.name] for attribute in self.attributes]

    def scalar_values(self, values: dict[str, Any]) -> list[Any]:
        return [values[name] for name in self.scalars]

    def described(self, missing: Missing) -> _core.View:
        """A view without memory, to describe a result that is not allocated yet."""
        return _core.described(missing.shape, missing.dtype, dense(missing.shape))


def _first(views: list[Any]) -> Any:
    return next(view for view in views if view is not None and not isinstance(view, list))


_functions: dict[str, Function] = {}


def function(name: str) -> Function:
    found = _functions.get(name)
    if found is None:
        if name not in FUNCTIONS:
            raise AttributeError(f"there is no operator {name!r}: see op.operators()")
        found = _functions[name] = Function(name)
    return found
