"""Functions against references: one row names a function and its arguments, and is run over
element types, layouts, `out=`, in place, as a method, and recorded in a graph that is replayed.

    CASES = [
        case("add", T(3, 4), T(4), kinds="f32 f16 i32"),
        case("gather", T(3, 4), 1, I(3, 2, below=4)),
        case("nn.functional.silu", T(3, 4), reference=lambda x: x * ref.sigmoid(x)),
    ]

    @pytest.mark.parametrize("run", runs(CASES), ids=str)
    def test_functions(run):
        run.check()
"""

from __future__ import annotations

import functools
import math
import operator
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import infinicore

from . import ref
from .bounds import assert_within, bound
from .place import put
from .ref import Tensor
from .ref.compare import widened

KINDS = {
    "f32": ref.float32,
    "f16": ref.float16,
    "bf16": ref.bfloat16,
    "f64": ref.float64,
    "i8": ref.int8,
    "i16": ref.int16,
    "i32": ref.int32,
    "i64": ref.int64,
    "u8": ref.uint8,
    "bool": ref.bool,
}
FLOATS = "f32 f16 bf16 f64"
INTEGERS = "i32 i64 u8 i8 i16"
# Tolerances by result type: relative and absolute.
CLOSE = {
    ref.float64: (1e-10, 1e-10),
    ref.float32: (2e-5, 2e-5),
    ref.float16: (2e-3, 2e-3),
    ref.bfloat16: (1.6e-2, 1.6e-2),
}


class Drawn(NamedTuple):
    """An argument that is a tensor: values between `low` and `high`."""

    shape: tuple[int, ...]
    kind: str  # "": that of the run
    low: float
    high: float
    distinct: bool  # no value twice

    def values(self, kind: Any, seed: int) -> Tensor:
        random = np.random.default_rng(seed)
        dtype = KINDS[self.kind] if self.kind else kind
        count = math.prod(self.shape)
        flat: Any
        if self.distinct:
            flat = random.permutation(count)
            if ref.is_float(dtype):
                flat = (flat - count // 2) / 4
        elif dtype == ref.bool:
            flat = random.integers(0, 2, count)
        elif ref.is_float(dtype):
            flat = random.uniform(self.low, self.high, count)
        else:
            low = max(int(self.low), 0) if dtype == ref.uint8 else int(self.low)
            flat = random.integers(low, max(int(self.high), low + 1), count)
        return Tensor(flat.astype(dtype).reshape(self.shape))


def T(
    *shape: int, kind: str = "", low: float = -3, high: float = 3, distinct: bool = False
) -> Drawn:
    """A tensor of the run's element type, or of one of its own."""
    return Drawn(shape, kind, low, high, distinct)


def I(*shape: int, below: int, low: int = 0, kind: str = "i64", distinct: bool = False) -> Drawn:  # noqa: E743
    """Indices."""
    return Drawn(shape, kind, low, below, distinct)


def B(*shape: int) -> Drawn:
    """Truth values."""
    return Drawn(shape, "bool", 0, 2, False)


class Case(NamedTuple):
    name: str
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    kinds: tuple[str, ...]
    reference: Callable[..., Any]
    forms: str  # of "layouts out in_place method graph"
    close: float  # times the usual tolerance
    length: int  # of sums; 0: the usual tolerance
    roundings: int
    terms: Callable[..., Any] | None
    exact_type: bool


def case(
    name: str,
    *args: Any,
    kinds: str = FLOATS,
    reference: Any = None,
    skip: str = "",
    close: float = 1,
    length: int = 0,
    roundings: int = 0,
    terms: Any = None,
    exact_type: bool = True,
    **keywords: Any,
) -> Case:
    """`reference` takes the same arguments as tensors of kit.ref; by default it is the function of
    that name there. `skip` lists forms that do not apply: layouts out in_place method graph.
    `length`: the number of products that the function sums; results must be within the rounding
    errors of these (kit/bounds.py), with `roundings` between its operators. `terms` takes the same
    arguments and returns the sums of the terms' absolute values; by default the reference of
    absolute values."""
    if reference is None:
        reference = ref.FUNCTIONS[name.rpartition(".")[2]]
    forms = " ".join(
        form
        for form in ("layouts", "out", "in_place", "method", "graph")
        if form not in skip.split()
    )
    taken = tuple(kinds.split())
    tolerance = (close, length, roundings, terms)
    return Case(name, args, keywords, taken, reference, forms, *tolerance, exact_type)


def runs(cases: Sequence[Case]) -> list[Run]:
    return [Run(each, kind, number) for number, each in enumerate(cases) for kind in each.kinds]


# ---- Layouts ------------------------------------------------------------------------------------


def _contiguous(shape: tuple[int, ...]) -> Any:
    return np.empty(shape, np.uint8)


def _transposed(shape: tuple[int, ...]) -> Any:
    return np.empty(shape[::-1], np.uint8).T


def _stepped(shape: tuple[int, ...]) -> Any:
    wide = np.empty([2 * size + 1 for size in shape], np.uint8)
    return wide[tuple(slice(1, 2 * size + 1, 2) for size in shape)]


def _repeated(shape: tuple[int, ...]) -> Any:
    kept = [1 if dim == 0 else size for dim, size in enumerate(shape)]
    return np.broadcast_to(np.empty(kept, np.uint8), shape)


LAYOUTS = {
    "contiguous": _contiguous,
    "transposed": _transposed,
    "stepped": _stepped,
    "repeated": _repeated,
}


def laid_out(values: Tensor, layout: str) -> tuple[Tensor, Any]:
    """Values as a tensor of the reference and of infinicore in a layout, which may determine the
    values."""
    model = LAYOUTS[layout](values.shape)
    start = 0
    if values.numel() and layout == "stepped":
        start = sum(model.strides) if values.ndim else 0
    extent = start + 1
    extent += sum((size - 1) * step for size, step in zip(model.shape, model.strides, strict=True))
    flat = np.zeros(max(extent, 1) if values.numel() else 1, values.dtype)
    steps = [step * flat.itemsize for step in model.strides]
    theirs = np.lib.stride_tricks.as_strided(flat[start:], model.shape, steps)
    if values.numel():
        if layout == "repeated" and values.ndim:
            theirs[:1] = values.array[:1]
        else:
            theirs[...] = values.array
    ours = put(Tensor(flat)).as_strided(list(model.shape), list(model.strides), start)
    return Tensor(theirs.copy()), ours


# ---- Runs ---------------------------------------------------------------------------------------


class Run:
    """A case with one element type."""

    def __init__(self, case: Case, kind: str, number: int) -> None:
        self.case, self.kind, self.number = case, kind, number
        self.terms: Any = None  # of the last expectation: the sums of the terms' sizes

    @functools.cached_property
    def function(self) -> Any:
        return operator.attrgetter(self.case.name)(infinicore)

    def __str__(self) -> str:
        return f"{self.case.name}-{self.number}-{self.kind}"

    __repr__ = __str__

    @property
    def _drawn(self) -> list[Drawn]:
        return list(_drawn((self.case.args, self.case.keywords)))

    def check(self) -> None:
        forms = self.case.forms.split()
        for layout in LAYOUTS if "layouts" in forms else ("contiguous",):
            self._plain(layout)
        if "method" in forms:
            self._method()
        if "out" in forms:
            self._out()
            self._lossy_out()
        if "in_place" in forms:
            self._in_place()
        if "graph" in forms:
            self._graph()

    # -- Arguments --

    def _values(self, round: int = 0) -> Iterator[Tensor]:
        seed = zlib.crc32(f"{self} {round}".encode())
        for i, drawn in enumerate(self._drawn):
            yield drawn.values(KINDS[self.kind], seed + i)

    def _arguments(self, layout: str, round: int = 0) -> tuple[Any, Any]:
        """The arguments for the reference and for infinicore."""
        given = (self.case.args, self.case.keywords)
        layouts = [
            "contiguous" if layout == "repeated" and drawn.distinct else layout
            for drawn in self._drawn
        ]
        pairs = [laid_out(*each) for each in zip(self._values(round), layouts, strict=True)]
        return _filled(given, iter(p[0] for p in pairs)), _filled(given, iter(p[1] for p in pairs))

    def _expected(self, given: Any) -> Any:
        args, keywords = given
        if self.case.terms:
            wide = _filled((self.case.args, self.case.keywords), map(_wide, _tensors(given)))
            self.terms = self.case.terms(*wide[0], **wide[1]).array
        elif self.case.length:
            template = (self.case.args, self.case.keywords)
            sizes, named = _filled(template, map(_size, _tensors(given)))
            self.terms = widened(self.case.reference(*sizes, **named).array)
        return self.case.reference(*args, **keywords)

    # -- Forms --

    def _plain(self, layout: str) -> None:
        theirs, (args, keywords) = self._arguments(layout)
        self._same(self.function(*args, **keywords), self._expected(theirs), layout)

    def _method(self) -> None:
        method = getattr(infinicore.Tensor, self.case.name, None)
        if method is None or not self.case.args or not isinstance(self.case.args[0], Drawn):
            return
        theirs, (args, keywords) = self._arguments("contiguous")
        result = getattr(args[0], self.case.name)(*args[1:], **keywords)
        self._same(result, self._expected(theirs), "method")

    def _out(self) -> None:
        for layout in ("contiguous", "stepped"):
            theirs, (args, keywords) = self._arguments(layout)
            expected = self._expected(theirs)
            out = ref.mapped(expected, lambda t, to=layout: laid_out(ref.zeros_like(t), to)[1])
            out = tuple(out) if isinstance(out, (tuple, list)) else out
            result = self.function(*args, out=out, **keywords)
            for one, other in zip(_tensors(result), _tensors(out), strict=True):
                assert one is other, f"{self}: out= {layout}: the result is another tensor"
            self._same(result, expected, f"out= {layout}")

    def _lossy_out(self) -> None:
        """Results cannot be written to tensors of a lower category: floats to integers, integers to
        bool."""
        theirs, (args, keywords) = self._arguments("contiguous")
        expected = self._expected(theirs)
        results = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        for at, result in enumerate(results):
            lower = ref.int64 if ref.is_float(result.dtype) else ref.bool
            # torch's `all` and `any` give uint8 for uint8, and take either type for it.
            is_truth = self.case.name in ("all", "any")
            if result.dtype == ref.bool or is_truth:
                continue
            kinds = [each.dtype for each in results]
            kinds[at] = lower
            outs = [
                put(ref.zeros(*each.shape, dtype=kind))
                for each, kind in zip(results, kinds, strict=True)
            ]
            out = outs[0] if isinstance(expected, Tensor) else tuple(outs)
            try:
                self.function(*args, out=out, **keywords)
            except (TypeError, RuntimeError):
                continue
            pytest.fail(f"{self}: out= of {lower} for {result.dtype} was accepted")

    def _in_place(self) -> None:
        if not self.case.args or not isinstance(self.case.args[0], Drawn):
            return
        theirs, (args, keywords) = self._arguments("transposed")
        expected = self._expected(theirs)
        if not isinstance(expected, Tensor) or expected.shape != theirs[0][0].shape:
            return
        if expected.dtype != theirs[0][0].dtype:
            return
        self._same(self.function(*args, out=args[0], **keywords), expected, "in place")

    def _graph(self) -> None:
        _, (args, keywords) = self._arguments("contiguous")
        infinicore.start_graph_recording()
        try:
            result = self.function(*args, **keywords)
        finally:
            graph = infinicore.stop_graph_recording()
        for round in (1, 2):
            theirs, ours = self._arguments("contiguous", round)
            for target, source in zip(_tensors((args, keywords)), _tensors(ours), strict=True):
                target.copy_(source)
            graph.run()
            self._same(result, self._expected(theirs), f"replay {round}")

    def _same(self, got: Any, expected: Any, form: str) -> None:
        where = f"{self}: {form}"
        if isinstance(expected, (tuple, list)):
            assert len(got) == len(expected), f"{where}: {len(got)} results, not {len(expected)}"
            for i, (one, other) in enumerate(zip(got, expected, strict=True)):
                self._same(one, other, f"{form}, result {i}")
            for i, name in enumerate(getattr(expected, "_fields", ())):
                assert getattr(got, name) is got[i], f"{where}: no field {name}"
            return
        if not isinstance(expected, Tensor):
            assert got == expected, f"{where}: {got!r}, not {expected!r}"
            return
        made = ref.of(got)
        if self.case.exact_type:
            assert made.dtype == expected.dtype, f"{where}: {made.dtype}, not {expected.dtype}"
        expected = expected.to(made.dtype)
        if self.case.length:
            allowed = bound(expected, self.case.length, self.terms, self.case.roundings)
            assert_within(made, expected, allowed, f"{where}: ")
            return
        relative, absolute = CLOSE.get(made.dtype, (0, 0))
        ref.assert_close(
            made,
            expected,
            rtol=relative * self.case.close,
            atol=absolute * self.case.close,
            equal_nan=True,
            msg=lambda text: f"{where}: {text}\ngot {made}\nexpected {expected}",
        )


# ---- Nested arguments ---------------------------------------------------------------------------


def _size(tensor: Tensor) -> Tensor:
    return abs(tensor) if ref.is_float(tensor.dtype) else tensor


def _wide(tensor: Tensor) -> Tensor:
    return tensor.double() if ref.is_float(tensor.dtype) else tensor


def _drawn(value: Any) -> Iterator[Drawn]:
    if isinstance(value, Drawn):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _drawn(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _drawn(each)


def _filled(value: Any, tensors: Iterator[Any]) -> Any:
    if isinstance(value, Drawn):
        return next(tensors)
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(each, tensors) for each in value)
    if isinstance(value, dict):
        return {name: _filled(each, tensors) for name, each in value.items()}
    return value


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (infinicore.Tensor, Tensor)):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
