"""Functions against torch: one row names a function and its arguments, and is run over element
types, layouts, `out=`, in place, as a method, and recorded in a graph that is replayed.

    CASES = [
        case("add", T(3, 4), T(4), kinds="f32 f16 i32"),
        case("gather", T(3, 4), 1, I(3, 2, below=4)),
        case("nn.functional.silu", T(3, 4), reference=torch.nn.functional.silu),
    ]

    @pytest.mark.parametrize("run", runs(CASES), ids=str)
    def test_functions(run):
        run.check()
"""

from __future__ import annotations

import functools
import operator
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import infinicore

from .place import put
from .requirements import need

torch = need("torch")

KINDS = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
FLOATS = "f32 f16 bf16 f64"
INTEGERS = "i32 i64 u8 i8 i16"
HALVES = (torch.float16, torch.bfloat16)
# Of the result's type: relative and absolute.
CLOSE = {
    torch.float64: (1e-10, 1e-10),
    torch.float32: (2e-5, 2e-5),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
}


class Drawn(NamedTuple):
    """An argument that is a tensor: values between `low` and `high`."""

    shape: tuple[int, ...]
    kind: str  # "": that of the run
    low: float
    high: float
    distinct: bool  # no value twice

    def values(self, kind: torch.dtype, seed: int) -> torch.Tensor:
        random = torch.Generator().manual_seed(seed)
        dtype = KINDS[self.kind] if self.kind else kind
        count = 1
        for size in self.shape:
            count *= size
        if self.distinct:
            flat = torch.randperm(count, generator=random)
            if dtype.is_floating_point:
                flat = (flat - count // 2) / 4
        elif dtype == torch.bool:
            flat = torch.randint(0, 2, (count,), generator=random)
        elif dtype.is_floating_point:
            spread = torch.rand(count, generator=random, dtype=torch.float64)
            flat = spread * (self.high - self.low) + self.low
        else:
            low = max(int(self.low), 0) if dtype == torch.uint8 else int(self.low)
            flat = torch.randint(low, max(int(self.high), low + 1), (count,), generator=random)
        return flat.to(dtype).reshape(self.shape)


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
    exact_type: bool


def case(
    name: str,
    *args: Any,
    kinds: str = FLOATS,
    reference: Any = None,
    skip: str = "",
    close: float = 1,
    exact_type: bool = True,
    **keywords: Any,
) -> Case:
    """`reference` takes the same arguments as torch tensors; without it torch's function of that
    name does. `skip` names forms that make no sense: layouts out in_place method graph."""
    if reference is None:
        reference = operator.attrgetter(name)(torch)
    forms = " ".join(
        form
        for form in ("layouts", "out", "in_place", "method", "graph")
        if form not in skip.split()
    )
    return Case(name, args, keywords, tuple(kinds.split()), reference, forms, close, exact_type)


def runs(cases: Sequence[Case]) -> list[Run]:
    return [Run(each, kind, number) for number, each in enumerate(cases) for kind in each.kinds]


# ---- Layouts ------------------------------------------------------------------------------------


def _contiguous(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.uint8)


def _transposed(shape: tuple[int, ...]) -> torch.Tensor:
    order = tuple(range(len(shape)))[::-1]
    return torch.empty(shape[::-1], dtype=torch.uint8).permute(order)


def _stepped(shape: tuple[int, ...]) -> torch.Tensor:
    wide = torch.empty([2 * size + 1 for size in shape], dtype=torch.uint8)
    return wide[tuple(slice(1, 2 * size + 1, 2) for size in shape)]


def _repeated(shape: tuple[int, ...]) -> torch.Tensor:
    kept = [1 if dim == 0 else size for dim, size in enumerate(shape)]
    return torch.empty(kept, dtype=torch.uint8).expand(shape)


LAYOUTS = {
    "contiguous": _contiguous,
    "transposed": _transposed,
    "stepped": _stepped,
    "repeated": _repeated,
}


def laid_out(values: torch.Tensor, layout: str) -> tuple[torch.Tensor, Any]:
    """A torch tensor and an infinicore tensor of one layout; values may follow from it."""
    model = LAYOUTS[layout](tuple(values.shape))
    start = model.storage_offset() if values.numel() else 0
    extent = (
        start
        + 1
        + sum((size - 1) * step for size, step in zip(model.shape, model.stride(), strict=True))
    )
    flat = torch.zeros(max(extent, 1) if values.numel() else 1, dtype=values.dtype)
    theirs = flat.as_strided(model.shape, model.stride(), start)
    if values.numel():
        if layout == "repeated" and values.ndim:
            theirs[:1] = values[:1]
        else:
            theirs[...] = values
    ours = put(flat.clone()).as_strided(list(model.shape), list(model.stride()), start)
    return theirs, ours


def to_torch(tensor: Any) -> torch.Tensor:
    """A copy, with torch's type of the same name."""
    if not isinstance(tensor, infinicore.Tensor):
        raise AssertionError(f"expected a tensor, got {type(tensor).__name__}")
    dtype = infinicore.utils.to_torch_dtype(tensor.dtype)
    made = torch.empty(tuple(tensor.shape), dtype=dtype)
    if made.numel():
        infinicore.from_torch(made).copy_(tensor)
    return made


# ---- Runs ---------------------------------------------------------------------------------------


class Run:
    """A case with one element type."""

    def __init__(self, case: Case, kind: str, number: int) -> None:
        self.case, self.kind, self.number = case, kind, number

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
        if "in_place" in forms:
            self._in_place()
        if "graph" in forms:
            self._graph()

    # -- Arguments --

    def _values(self, round: int = 0) -> Iterator[torch.Tensor]:
        seed = zlib.crc32(f"{self} {round}".encode())
        for i, drawn in enumerate(self._drawn):
            yield drawn.values(KINDS[self.kind], seed + i)

    def _arguments(self, layout: str, round: int = 0) -> tuple[Any, Any]:
        """For torch and for infinicore."""
        given = (self.case.args, self.case.keywords)
        layouts = [
            "contiguous" if layout == "repeated" and drawn.distinct else layout
            for drawn in self._drawn
        ]
        pairs = [laid_out(*each) for each in zip(self._values(round), layouts, strict=True)]
        return _filled(given, iter(p[0] for p in pairs)), _filled(given, iter(p[1] for p in pairs))

    def _expected(self, given: Any) -> Any:
        args, keywords = given
        if KINDS[self.kind] not in HALVES:
            return self.case.reference(*args, **keywords)
        # What half the precision can show of the exact result.
        args, keywords = _changed((args, keywords), _wider)
        return _changed(self.case.reference(*args, **keywords), self._narrower)

    def _narrower(self, tensor: torch.Tensor) -> torch.Tensor:
        meets_wider = any(drawn.kind in ("f32", "f64") for drawn in self._drawn)
        if meets_wider or tensor.dtype != torch.float32:
            return tensor
        return tensor.to(KINDS[self.kind])

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
            out = _changed(expected, lambda t, to=layout: laid_out(torch.zeros_like(t), to)[1])
            out = tuple(out) if isinstance(out, (tuple, list)) else out
            result = self.function(*args, out=out, **keywords)
            for one, other in zip(_tensors(result), _tensors(out), strict=True):
                assert one is other, f"{self}: out= {layout}: the result is another tensor"
            self._same(result, expected, f"out= {layout}")

    def _in_place(self) -> None:
        if not self.case.args or not isinstance(self.case.args[0], Drawn):
            return
        theirs, (args, keywords) = self._arguments("transposed")
        expected = self._expected(theirs)
        if not isinstance(expected, torch.Tensor) or expected.shape != theirs[0][0].shape:
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
            fields = list(getattr(expected, "_fields", ()) or _fields(expected))
            for i, (one, other) in enumerate(zip(got, expected, strict=True)):
                self._same(one, other, f"{form}, result {i}")
            for i, name in enumerate(fields):
                assert getattr(got, name) is got[i], f"{where}: no field {name}"
            return
        if not isinstance(expected, torch.Tensor):
            assert got == expected, f"{where}: {got!r}, not {expected!r}"
            return
        made = to_torch(got)
        if self.case.exact_type:
            assert made.dtype == expected.dtype, f"{where}: {made.dtype}, not {expected.dtype}"
        expected = expected.to(made.dtype)
        relative, absolute = CLOSE.get(made.dtype, (0, 0))
        torch.testing.assert_close(
            made,
            expected,
            rtol=relative * self.case.close,
            atol=absolute * self.case.close,
            equal_nan=True,
            msg=lambda text: f"{where}: {text}\ngot {made}\nexpected {expected}",
        )


# ---- Nested arguments ---------------------------------------------------------------------------


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
    if isinstance(value, (infinicore.Tensor, torch.Tensor)):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)


def _changed(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        made = [_changed(each, change) for each in value]
        return Named(made, _fields(value)) if _fields(value) else type(value)(made)
    if isinstance(value, dict):
        return {name: _changed(each, change) for name, each in value.items()}
    return value


class Named(tuple):  # type: ignore[type-arg]
    """A result of torch with named parts, after a change."""

    names: tuple[str, ...]

    def __new__(cls, values: Sequence[Any], names: tuple[str, ...]) -> Named:
        made = super().__new__(cls, values)
        made.names = names
        return made


def _fields(value: Any) -> tuple[str, ...]:
    if isinstance(value, Named):
        return value.names
    if not type(value).__module__.startswith("torch"):
        return ()
    members = vars(type(value))
    found = {id(getattr(value, name)): name for name in members if not name.startswith("_")}
    return tuple(found[id(each)] for each in value if id(each) in found)


def _wider(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.float32) if tensor.dtype in HALVES else tensor
