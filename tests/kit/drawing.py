"""Cases drawn from declarations: sizes for the symbols, attributes, dtypes, absent tensors, values.

What a declaration cannot express (valid indices, packed weights, lengths that add up) is given by
`Rules` for each operator; see tests/operators/cases.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spec.operators.language.model import Operator, Param, Tensor
from spec.operators.language.numeric import decode, encode

Shape = tuple[int, ...]
Choice = Any  # a sequence of options, or a function of the draw

LARGE_LISTS = ((40, 2503), (17, 9, 631), (100003,), (40, 403), (17, 9, 31), (10007,))
FLOATS = ("F8", "F16", "BF16", "F32", "F64")


@dataclass(frozen=True)
class Rules:
    """How to draw what the declaration does not define. An option is drawn from a sequence;
    functions are called with the draw, in order."""

    symbols: Mapping[str, Choice] = field(default_factory=dict)  # also lists of sizes, as tuples
    attributes: Mapping[str, Choice] = field(default_factory=dict)
    scalars: Mapping[str, Choice] = field(default_factory=dict)  # of the run function
    dtypes: Mapping[str, Choice] = field(default_factory=dict)
    absent: Choice = ()  # of sets of names; default: all optional tensors, then none
    values: Mapping[str, Callable[[Draw, Shape], Any]] = field(default_factory=dict)
    extra: Mapping[str, Callable[[Draw], Extra]] = field(default_factory=dict)
    shapes: Mapping[str, Callable[[Draw], Any]] = field(default_factory=dict)
    large: Mapping[str, Choice] | None = None  # symbols of the large case; None: as usual
    largest: int = 250_000  # elements of a tensor in the large case
    kinds: tuple[str, ...] = ("usual", "scalar", "empty", "one", "large")
    tolerance: float = 0.0  # in units of the dtype at the scale of the output
    noise: float = 0.0  # the same in units of the arithmetic
    full: tuple[str, ...] = ()  # symbols that are not 0 in empty cases
    compare: Callable[..., None] | None = None  # instead of the usual comparison
    spread: float = 1.5  # of values
    run: int = 0  # which of the run functions


@dataclass(frozen=True)
class Extra:
    """The data of a pointer without a descriptor."""

    dtype: str
    shape: Shape
    role: str = "in"
    values: Callable[[Draw, Shape], Any] | None = None


class NoCaseError(Exception):
    """The declaration allows no such case."""


class _Null(tuple[int, ...]):
    """A list that was not given: in conditions its items are 0."""

    def __getitem__(self, index: Any) -> Any:
        return 0


class Draw:
    """A case being drawn. `kind`: usual, scalar, empty, one, large."""

    def __init__(self, operator: Operator, rules: Rules, dtype: str, kind: str, seed: int) -> None:
        self.operator, self.rules, self.kind, self.seed = operator, rules, kind, seed
        self.main = dtype
        self.rng = np.random.default_rng([seed, *map(ord, operator.name + dtype + kind)])
        self.symbols: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}
        self.scalars: dict[str, Any] = {}
        self.dtypes: dict[str, str] = {}
        self.shapes: dict[str, Any] = {}  # None: absent; a list for arrays
        self.extra: dict[str, Extra] = {}
        self.absent: set[str] = set()
        self.run_number = rules.run
        self.inputs: dict[str, Any] = {}  # values so far, while they are drawn
        self._draw()

    # ---- Helpers for rules ----------------------------------------------------------------------

    def choose(self, choice: Choice) -> Any:
        if callable(choice):
            return choice(self)
        return choice[int(self.rng.integers(len(choice)))]

    def integers(self, low: int, high: int, shape: Any = ()) -> Any:
        """Random integers from low to high - 1; zeros if the range is empty."""
        if high <= low:
            return np.zeros(shape, np.int64)
        return self.rng.integers(low, high, shape)

    def normal(self, shape: Any, spread: float = 1.0) -> Any:
        return self.rng.standard_normal(shape) * spread

    def present(self, name: str) -> bool:
        return name not in self.absent

    def __getitem__(self, name: str) -> Any:
        if name in self.symbols:
            return self.symbols[name]
        return self.attributes[name]

    # ---- Drawing --------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._draw_absent()
        self._draw_dtypes()
        for _ in range(300):
            self.symbols, self.attributes, self.shapes = {}, {}, {}
            try:
                self._draw_sizes()
                self._repair()
                self._make_shapes()
            except (ZeroDivisionError, IndexError, ArithmeticError):
                continue
            if self._holds() and self._small_enough():
                break
        else:
            raise NoCaseError(f"{self.operator.name}: no {self.kind} case")
        scalars = {p.name: p for run in self.operator.runs for p in run.scalars}
        for name, param in scalars.items():
            if name in self.attributes:
                self.scalars[name] = self.attributes[name]
            else:
                value = self._number(param, self.rules.scalars.get(name))
                self.scalars[name] = as_passed(param, value)
        for name, make in self.rules.extra.items():
            self.extra[name] = make(self)

    def _draw_absent(self) -> None:
        optional = {t.name for t in self.operator.tensors if t.optional}
        if callable(self.rules.absent):
            self.absent = set(self.rules.absent(self))
        elif self.rules.absent:
            self.absent = set(self.rules.absent[self.seed % len(self.rules.absent)])
        elif optional and self.seed % 2:
            self.absent = optional

    def _draw_dtypes(self) -> None:
        main = main_tensor(self.operator)
        for tensor in self.operator.tensors:
            if tensor.same_as:
                continue
            options = tensor.dtypes
            self.dtypes[tensor.name] = options[int(self.rng.integers(len(options)))]
        if main:
            self.dtypes[main.name] = self.main
        for name, choice in self.rules.dtypes.items():
            self.dtypes[name] = self.choose(choice)
        for tensor in self.operator.tensors:
            if tensor.same_as:
                self.dtypes[tensor.name] = self.dtypes[tensor.same_as]
            elif tensor.sum_of:
                summed = self.dtypes[tensor.sum_of]
                self.dtypes[tensor.name] = summed if summed in FLOATS else "I64"

    def _draw_sizes(self) -> None:
        rules = dict(self.rules.symbols)
        if self.kind == "large" and self.rules.large:
            rules.update(self.rules.large)
        names = symbols_of(self.operator)
        able = [name for name in names if name not in self.rules.full]
        zero = able[int(self.rng.integers(len(able)))] if self.kind == "empty" and able else ""
        for name in names:
            if name not in rules:
                self.symbols[name] = self._size(name, name == zero)
        for name, choice in rules.items():
            given = self.choose(choice)
            if name == zero:
                given = (0, *given[1:]) if isinstance(given, tuple) else 0
            self.symbols[name] = given
        for param in self.operator.attributes:
            if param.name not in self.rules.attributes:
                self.attributes[param.name] = self._attribute(param)
        for name, choice in self.rules.attributes.items():
            self.attributes[name] = self.choose(choice)
        for param in self.operator.attributes:
            value = self.attributes[param.name]
            if param.length in self.attributes and value is not None:
                self.attributes[param.length] = len(value)  # lengths of lists follow the lists
            self.attributes[param.name] = as_passed(param, self.attributes[param.name])

    def _size(self, name: str, zero: bool) -> Any:
        if name.startswith("*"):
            return self._list(zero)
        if zero:
            return 0
        if self.kind in ("one", "scalar"):
            return 1
        options = (300, 17, 129, 64) if self.kind == "large" else (1, 2, 3, 4, 5, 8, 13, 33)
        return options[int(self.rng.integers(len(options)))]

    def _list(self, zero: bool) -> Shape:
        if self.kind == "scalar":
            return ()
        if self.kind == "one":
            return (1,) * int(self.rng.integers(1, 4))
        if self.kind == "large":
            return LARGE_LISTS[int(self.rng.integers(len(LARGE_LISTS)))]
        rank = int(self.rng.integers(1, 5))
        options = (1, 2, 3, 5, 8, 17, 33) if rank < 4 else (1, 2, 3, 7)
        sizes = [options[int(i)] for i in self.rng.integers(0, len(options), rank)]
        if zero:
            sizes[int(self.rng.integers(rank))] = 0
        return tuple(sizes)

    def _attribute(self, param: Param) -> Any:
        cases = self.operator.options.get("cases", {}).get(param.name)
        if cases:
            return cases[int(self.rng.integers(len(cases)))]
        if param.kind == "list":
            return self._dims()
        return self._number(param, None)

    def _dims(self) -> list[int]:
        """Some dimensions of the first list of sizes, in order."""
        rank = len(next((v for k, v in self.symbols.items() if k.startswith("*")), ()))
        if not rank:
            return []
        chosen = self.rng.permutation(rank)[: int(self.rng.integers(1, rank + 1))]
        return sorted(map(int, chosen))

    def _number(self, param: Param, choice: Choice | None) -> Any:
        if choice is not None:
            return self.choose(choice)
        if param.kind == "number":
            if "eps" in param.name:
                return 1e-5
            return float(np.float32(self.rng.uniform(0.3, 2.0)))
        if "bool" in param.type:
            return int(self.rng.integers(2))
        return int(self.rng.integers(-2, 4))

    # ---- Shapes and conditions ------------------------------------------------------------------

    def scope(self) -> dict[str, Any]:
        known = {name.lstrip("*"): value for name, value in self.symbols.items()}
        return {
            **known,
            **{k: _Null() if v is None else v for k, v in self.attributes.items()},
            "len": len,
            "min": min,
            "max": max,
            "abs": abs,
            "prod": math.prod,
            "numel": math.prod,
            "extent": lambda sizes, dims: math.prod(sizes[dim] for dim in np.atleast_1d(dims)),
            "inf": math.inf,
            "infinity": math.inf,
            "present": lambda what: what is not None,
            "given": lambda what: not isinstance(what, _Null),
            "rank": lambda what: len(what),
            **{name: shape for name, shape in self.shapes.items() if name not in known},
        }

    def _evaluate(self, expression: str | ast.expr) -> Any:
        tree = ast.Expression(expression) if isinstance(expression, ast.expr) else expression
        code = compile(tree, "<declaration>", "eval")
        return eval(code, {"__builtins__": {}}, self.scope())

    def _holds(self) -> bool:
        return all(self._evaluate(condition) for condition in self.operator.where)

    def _repair(self) -> None:
        """Chooses the symbol on one side of a condition so that it holds: `C == 2 * I`, `P >= B`,
        `K % 32 == 0`."""
        for _ in range(3):
            for condition in self.operator.where:
                node = ast.parse(condition, mode="eval").body
                parts = node.values if isinstance(node, ast.BoolOp) else [node]
                if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                    parts = [parts[int(self.rng.integers(len(parts)))]]
                for part in parts:
                    try:
                        if not self._evaluate(condition):
                            self._set(part)
                    except (NameError, TypeError, IndexError, ZeroDivisionError):
                        continue

    def _set(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return
        left, right, test = node.left, node.comparators[0], node.ops[0]
        if isinstance(test, ast.Eq):
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
                by = self._evaluate(left.right)
                if isinstance(left.left, ast.Name) and by:
                    value = self._evaluate(left.left)
                    self._assign(left.left, max(-(-value // by), self.kind != "empty") * by)
            elif isinstance(left, ast.Name):
                self._assign(left, self._evaluate(right))
            elif isinstance(right, ast.Name):
                self._assign(right, self._evaluate(left))
        elif isinstance(test, ast.Gt | ast.GtE) and isinstance(left, ast.Name):
            more = isinstance(test, ast.Gt) + int(self.rng.integers(2))
            self._assign(left, self._evaluate(right) + more)
        elif isinstance(test, ast.Lt | ast.LtE) and isinstance(left, ast.Name):
            self._assign(left, self._evaluate(right) - isinstance(test, ast.Lt))

    def _assign(self, name: ast.Name, value: Any) -> None:
        where = self.symbols if name.id in self.symbols else self.attributes
        if name.id in where:
            where[name.id] = value

    def _make_shapes(self) -> None:
        for tensor in self.operator.tensors:
            if tensor.name in self.absent:
                self.shapes[tensor.name] = None
            elif tensor.name in self.rules.shapes:
                self.shapes[tensor.name] = self.rules.shapes[tensor.name](self)
            elif tensor.array:
                raise NoCaseError(
                    f"{self.operator.name}: {tensor.name} needs a rule for its shapes"
                )
            else:
                self.shapes[tensor.name] = self._shape(tensor)

    def _shape(self, tensor: Tensor) -> Shape:
        shape = tensor.shapes[self.seed % len(tensor.shapes)]
        sizes: list[int] = []
        for item in shape:
            if item.startswith("*"):
                sizes += self.symbols[item]
            elif item.startswith("~"):
                sizes += self._broadcasting(self.symbols["*" + item[1:]])
            elif item.startswith("-"):
                sizes = self._reduced(sizes, self.attributes[item[1:]])
            elif item.startswith("/"):
                if self.attributes[item[1:]] != 0:
                    return () if self.rng.integers(2) else (1,)
            else:
                sizes.append(int(self._evaluate(item)))
        return tuple(sizes)

    def _broadcasting(self, sizes: Shape) -> list[int]:
        kept = [1 if self.rng.integers(4) == 0 else size for size in sizes]
        return kept[int(self.rng.integers(len(kept) + 1)) :] if self.rng.integers(3) == 0 else kept

    def _reduced(self, sizes: list[int], dims: Sequence[int]) -> list[int]:
        if self.attributes.get("keepdim"):
            return [1 if dim in dims else size for dim, size in enumerate(sizes)]
        return [size for dim, size in enumerate(sizes) if dim not in dims]

    def _small_enough(self) -> bool:
        limit = self.rules.largest if self.kind == "large" else 400_000
        shapes = [s for s in self.shapes.values() if isinstance(s, tuple)]
        if any(size < 0 for shape in shapes for size in shape):
            return False
        if self.kind == "empty" and not any(0 in shape for shape in shapes):
            return False
        return all(math.prod(shape) <= limit for shape in shapes)

    # ---- Values ---------------------------------------------------------------------------------

    def values(self, seed: int) -> dict[str, Any]:
        """Values of all tensors that are read, representable in their dtypes."""
        self.rng = np.random.default_rng([seed, self.seed])
        self.inputs = {}
        for tensor in self.operator.tensors:
            shape = self.shapes[tensor.name]
            if not tensor.read or shape is None:
                continue
            if isinstance(shape, list):
                drawn: Any = [self._values(tensor.name, each) for each in shape]
            else:
                drawn = self._values(tensor.name, shape)
            self.inputs[tensor.name] = drawn
        for name, extra in self.extra.items():
            if extra.role != "out" and extra.values:
                made = extra.values(self, extra.shape)
                self.inputs[name] = decode(encode(made, extra.dtype), extra.dtype)
        return self.inputs

    def _values(self, name: str, shape: Shape) -> Any:
        dtype = self.dtypes[name]
        rule = self.rules.values.get(name)
        made = rule(self, shape) if rule else self._random(dtype, shape)
        return decode(encode(np.asarray(made), dtype), dtype).reshape(shape)

    def _random(self, dtype: str, shape: Shape) -> Any:
        if dtype in FLOATS:
            return self.normal(shape, self.rules.spread)
        if dtype.startswith("C"):
            return self.integers(0, 200, shape)
        if dtype == "BOOL":
            return self.integers(0, 2, shape)
        if dtype in ("U8", "BYTE"):
            return self.integers(0, 256, shape)
        return self.integers(0 if dtype.startswith("U") else -50, 100, shape)


def as_passed(param: Param, value: Any) -> Any:
    """The value that the C function gets: `float` has 24 bits of precision."""
    if param.kind == "number" and "float" in param.type:
        return float(np.float32(value))
    return value


def symbols_of(operator: Operator) -> list[str]:
    """Symbols that shapes bind; lists of sizes with their star."""
    attributes = {param.name for param in operator.attributes}
    found: dict[str, None] = {}
    for tensor in operator.tensors:
        for shape in tensor.shapes:
            for item in shape:
                if item.startswith("*") or (item.isidentifier() and item not in attributes):
                    found[item] = None
    return list(found)


def main_tensor(operator: Operator) -> Tensor | None:
    """The tensor whose dtype names the case: the first one that others depend on, or that has
    alternatives."""
    followed = {name for t in operator.tensors for name in (t.same_as, t.sum_of)}
    for tensor in operator.tensors:
        if tensor.name in followed and len(tensor.dtypes) > 1:
            return tensor
    for tensor in operator.tensors:
        if len(tensor.dtypes) > 1:
            return tensor
    return operator.tensors[0] if operator.tensors else None
