"""Random cases for `operators.py --wild`: calls of torch's operator database, grown to any size.

A case is a line `operator/dtype/sample/draw/elements`: a sample of the database, whose sizes are
grown until its largest tensor has about so many elements; `draw` seeds the sizes, the values and
the strides. Arguments that no longer fit after the growth are refused by torch: then other sizes
are drawn. Needs torch.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import itertools
import math
import random
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
if importlib.util.find_spec("expecttest") is None:  # torch's database imports it without need
    made = types.ModuleType("expecttest")
    made.__spec__ = importlib.machinery.ModuleSpec("expecttest", None)
    made.TestCase = unittest.TestCase  # type: ignore[attr-defined]
    sys.modules["expecttest"] = made

import torch
from wild_matrices import meaningful
from wild_shapes import SHAPES

from opdb.samples import Call, Operator, change_call, operators

LARGEST = 32 << 20  # bytes of a tensor
SMALLEST = 64  # elements
SAMPLES = 24  # of an operator, the first ones of the database
ATTEMPTS = 10  # at sizes that torch accepts
DTYPES = {
    "float32": 8,
    "bfloat16": 5,
    "float16": 3,
    "int64": 1.5,
    "int32": 1,
    "uint8": 0.5,
    "bool": 0.8,
}
# In place they compute the same; the others only make or show memory.
NOT_MEASURED = ("empty", "item", "to", "contiguous", "resize", "triton")


@dataclass(frozen=True)
class Case:
    operator: str
    dtype: str
    sample: int
    draw: int
    elements: int

    @property
    def line(self) -> str:
        return f"{self.operator}/{self.dtype}/{self.sample}/{self.draw}/{self.elements}"


def parsed(line: str) -> Case:
    try:
        operator, dtype, *numbers = line.rsplit("/", 4)
        return Case(operator, dtype, *map(int, numbers))
    except (ValueError, TypeError):
        raise SystemExit(f"--only: expected operator/dtype/sample/draw/elements: {line}") from None


class NotMeasuredError(Exception):
    """torch rejects the call, or it has no result."""


def measured_operators() -> list[str]:
    return sorted(
        name
        for name in operators()
        if not name.endswith("_") and not any(word in name for word in NOT_MEASURED)
    )


def random_case(rng: random.Random, device: str) -> Case:
    name = rng.choice(measured_operators())
    supported = operators()[name].info.supported_dtypes(device)
    known = {d: w for d, w in DTYPES.items() if getattr(torch, d) in supported}
    if not known:
        raise NotMeasuredError(name)
    dtype = rng.choices(list(known), list(known.values()))[0]
    most = LARGEST / getattr(torch, dtype).itemsize
    elements = math.exp(rng.uniform(math.log(SMALLEST), math.log(most)))
    return Case(name, dtype, rng.randrange(SAMPLES), rng.randrange(1 << 32), round(elements))


def sample_of(operator: Operator, dtype: str, number: int) -> Call:
    """The sample of this number, or of a lower one when there are fewer."""
    found = list(itertools.islice(_samples(operator.name, dtype), SAMPLES))
    found = [call for call in found if tensors_of(call)]
    if not found:
        raise NotMeasuredError(f"{operator.name}: no sample with tensors")
    return found[number % len(found)]


def _samples(name: str, dtype: str) -> Iterator[Call]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call, _ in operators()[name].samples(dtype):
            yield call


def tensors_of(call: Call) -> list[Any]:
    """All tensors that have elements and dimensions."""
    found: list[Any] = []

    def look(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dim() and value.numel():
            found.append(value)
        return value

    change_call(look, call)
    return found


# ---- Sizes ---------------------------------------------------------------------------------------


def split(rng: random.Random, elements: int, rank: int) -> tuple[int, ...]:
    """A shape of about this many elements, some sizes much larger than others."""
    parts = [rng.expovariate(1.0) for _ in range(rank)]
    whole = math.log(max(elements, 1))
    return tuple(_rounded(rng, math.exp(whole * part / sum(parts))) for part in parts)


def _rounded(rng: random.Random, size: float) -> int:
    """Multiples of 8 are as frequent as all other sizes together."""
    if size > 16 and rng.random() < 0.5:
        return 8 * round(size / 8)
    return max(1, round(size))


@dataclass
class Growth:
    """The new value of every size of a sample: a function of the size alone, so that equal sizes
    stay equal."""

    sizes: Mapping[int, int]
    numbers: bool  # sizes in lists of numbers grow, too

    def shape(self, shape: Any) -> tuple[int, ...]:
        return tuple(self.sizes.get(size, size) for size in shape)


def growth(rng: random.Random, call: Call, elements: int) -> Growth:
    shapes = [tuple(each.shape) for each in tensors_of(call)]
    known = sorted({size for shape in shapes for size in shape if size > 1})
    # 2 and 3 are often a window, a pair or a list of axes.
    chosen = [size for size in known if size > 3 or rng.random() < 0.4] or known
    rates = {size: rng.expovariate(1.0) + 0.05 for size in chosen}
    rates = {size: rate / max(rates.values()) for size, rate in rates.items()}
    multiples, numbers = rng.random() < 0.5, rng.random() < 0.5

    def at(exponent: float) -> dict[int, int]:
        rounding = random.Random(len(rates))
        made = {}
        for size, rate in rates.items():
            factor = math.exp(min(exponent * rate, 40.0))
            made[size] = size * round(factor) if multiples else _rounded(rounding, size * factor)
        return made

    low, high = 0.0, 40.0
    for _ in range(40):
        middle = (low + high) / 2
        grown = Growth(at(middle), numbers)
        if max((math.prod(grown.shape(shape)) for shape in shapes), default=0) > elements:
            high = middle
        else:
            low = middle
    return Growth(at(low), numbers)


# ---- Values and strides --------------------------------------------------------------------------


class Maker:
    """Makes the tensors of a grown call: values like the sample's, in random layouts."""

    def __init__(self, rng: random.Random, device: str, plain: bool) -> None:
        self.rng, self.device, self.plain = rng, device, plain
        self.generator = torch.Generator(device).manual_seed(rng.randrange(1 << 32))

    def _integers(self, high: int, shape: Any) -> Any:
        return torch.randint(high, shape, generator=self.generator, device=self.device)

    def values(self, sample: Any, shape: tuple[int, ...]) -> Any:
        flat = sample.detach().to(self.device).reshape(-1)
        made = flat[self._integers(len(flat), shape)]
        if made.dtype.is_floating_point:  # few equal elements, in the same domain
            spread = torch.rand(shape, generator=self.generator, device=self.device)
            made = (made * (1 - 0.05 * spread)).to(flat.dtype)
        return made

    def indices(self, sample: Any, shape: tuple[int, ...], sizes: Mapping[int, int]) -> Any:
        """All along a dimension that has grown, once each where there are enough."""
        least, end = int(sample.min()), int(sample.max()) + 1
        old = min((size for size in sizes if size >= end), default=0)
        if least < 0 or not old:
            return self.values(sample, shape)
        end = sizes[old] - (old - end)
        if len(shape) == 1 and shape[0] <= end:
            order = torch.randperm(end, generator=self.generator, device=self.device)
            return order[: shape[0]].to(sample.dtype)
        return self._integers(end, shape).to(sample.dtype)

    def layout(self, value: Any) -> Any:
        """The same values, transposed, sliced, strided or broadcast."""
        if self.plain or value.dim() == 0 or self.rng.random() < 0.5:
            return value
        kind = self.rng.choice(("transposed", "transposed", "sliced", "every second", "repeated"))
        if kind == "transposed":
            order = self.rng.sample(range(value.dim()), value.dim())
            inverse = [order.index(i) for i in range(value.dim())]
            return value.permute(order).contiguous().permute(inverse)
        axis = self.rng.randrange(value.dim())
        if kind == "repeated":
            return value.narrow(axis, 0, 1).expand(value.shape)
        size, shape = value.shape[axis], list(value.shape)
        shape[axis] = 2 * size if kind == "every second" else size + self.rng.choice((1, 3, 8))
        step = slice(0, 2 * size, 2) if kind == "every second" else slice(shape[axis] - size, None)
        room = torch.zeros(shape, dtype=value.dtype, device=value.device)
        view = room[(slice(None),) * axis + (step,)]
        view.copy_(value)
        return view


def _grown(call: Call, by: Growth, maker: Maker) -> Call:
    floats = any(each.dtype.is_floating_point for each in tensors_of(call))

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device(maker.device)
        if not isinstance(value, torch.Tensor):
            return value
        if not value.dim() or not value.numel():
            return value.to(maker.device)
        shape = by.shape(value.shape)
        if floats and value.dtype in (torch.int64, torch.int32):
            return maker.layout(maker.indices(value, shape, by.sizes))
        return maker.layout(maker.values(value, shape))

    def numbers(value: Any) -> Any:
        listed = isinstance(value, (list, tuple)) and value
        if by.numbers and listed and all(type(each) is int and each > 3 for each in value):
            return type(value)(by.shape(value))
        return value

    args = tuple(numbers(each) for each in call.args)
    kwargs = {name: numbers(each) for name, each in call.kwargs.items()}
    return change_call(leaf, Call(call.input, args, kwargs))


def _elementwise(call: Call, rng: random.Random, elements: int, maker: Maker) -> Call:
    """Operands of any rank, one of them sometimes with dimensions of 1."""
    shape = split(rng, elements, rng.randint(1, 5))
    short = tuple(1 if rng.random() < 0.4 else size for size in shape)
    short = short[rng.randint(0, len(shape) - 1) :] if rng.random() < 0.3 else short
    broadcast = rng.random() < 0.3
    shapes = iter([shape, short if broadcast else shape])

    def leaf(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if not value.dim() or not value.numel():
            return value.to(maker.device)
        return maker.layout(maker.values(value, next(shapes, shape)))

    return change_call(leaf, call)


def build(case: Case, attempt: int, device: str) -> Call:
    """The call of a case, with torch's tensors."""
    operator = operators()[case.operator]
    rng = random.Random(f"{case.draw} {attempt}")
    maker = Maker(rng, device, plain=attempt >= ATTEMPTS // 2)
    if case.operator in SHAPES:
        shapes, given = SHAPES[case.operator](rng, case.elements)
        numbers = torch.randn(256, generator=torch.Generator().manual_seed(case.draw))
        numbers = numbers.to(getattr(torch, case.dtype))
        first, *rest = (maker.layout(maker.values(numbers, shape)) for shape in shapes)
        return Call(first, tuple(rest), given)
    call = sample_of(operator, case.dtype, case.sample)
    if type(operator.info).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo"):
        return _elementwise(call, rng, case.elements, maker)
    grown = _grown(call, growth(rng, call, case.elements), maker)
    return meaningful(case.operator, grown)


def first_accepted(case: Case, device: str, runs: Callable[[Call], float]) -> int:
    """The first attempt that torch accepts, with few elements."""
    small = replace(case, elements=min(case.elements, 512))
    for attempt in range(ATTEMPTS):
        try:
            runs(build(small, attempt, device))
            return attempt
        except Exception:
            continue
    raise NotMeasuredError(f"torch refuses {case.line}")


def largest(
    case: Case, device: str, runs: Callable[[Call], float], seconds: float
) -> tuple[Case, int]:
    """The case with as many elements as torch computes in this many seconds, and the attempt that
    torch accepts. `runs` runs a call and returns its time."""
    attempt = first_accepted(case, device, runs)
    reached, elements = 0, min(case.elements, 512)
    while True:
        try:
            took = runs(build(replace(case, elements=elements), attempt, device))
        except Exception:
            break
        reached = elements
        if elements == case.elements or took * 6 > seconds:
            break
        elements = min(case.elements, 6 * elements)
    if not reached:
        raise NotMeasuredError(f"torch refuses {case.line}")
    return replace(case, elements=reached), attempt


def text(call: Call) -> str:
    """Types, shapes, and strides where they are not those of a contiguous tensor."""

    def leaf(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            name = str(value.dtype).removeprefix("torch.")
            shape = "x".join(map(str, value.shape))
            steps = "" if value.is_contiguous() else ":" + ",".join(map(str, value.stride()))
            return f"{name}[{shape}{steps}]"
        return repr(value).removeprefix("torch.")

    def show(value: Any) -> str:
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return f"[{', '.join(map(show, value))}]"
        return leaf(value)

    parts = [call.input, *call.args]
    named = [f"{name}={show(value)}" for name, value in call.kwargs.items()]
    return ", ".join([*map(show, parts), *named])
