"""Shapes from declarations: symbols are bound by the inputs, and the results' sizes follow."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import CodeType
from typing import Any

Shape = tuple[int, ...]


class UnknownSizeError(TypeError):
    """A size that the inputs do not tell."""


@functools.cache
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<declaration>", "eval")


@functools.cache
def _names(expression: str) -> frozenset[str]:
    return frozenset(_compiled(expression).co_names)


_HELPERS: dict[str, Any] = {
    "__builtins__": {},
    "inf": math.inf,
    "numel": math.prod,
    "prod": math.prod,
    **{f.__name__: f for f in (abs, enumerate, int, len, max, min, range, sum, tuple, zip)},
}


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that all of them broadcast to.

    >>> broadcast([(3, 1), (4,)])
    (3, 4)
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    made = []
    for sizes in zip(*padded, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise ValueError(f"shapes do not broadcast: {', '.join(map(str, shapes))}")
        made.append(others.pop() if others else 1)
    return tuple(made)


class Sizes:
    """The sizes that the symbols of a declaration mean. Wrong shapes are left to the library, which
    says what it expected."""

    def __init__(self, values: dict[str, Any], where: Sequence[str], given: dict[str, str]) -> None:
        self.known: dict[str, Any] = {**_HELPERS, **values}
        self.where = where
        self.given = given  # sizes with an expression of their own
        self.loose: dict[str, list[Shape]] = {}  # what broadcasts to a list of sizes
        self.equations: list[tuple[str, int]] = []

    def bind(self, shapes: Sequence[tuple[str, ...]], shape: Shape) -> None:
        """Learn from a tensor that has one of these declared shapes."""
        shape = tuple(shape)
        for declared in shapes:
            stars = [i for i, size in enumerate(declared) if size[0] in "*~-/"]
            fixed = len(declared) - len(stars)
            if len(shape) == fixed or (stars and len(shape) > fixed):
                self._bind(declared, shape)
                return

    def _bind(self, declared: tuple[str, ...], shape: Shape) -> None:
        at = 0
        extra = len(shape) - sum(size[0] not in "*~-/" for size in declared)
        for size in declared:
            if size[0] in "*~":
                part = shape[at : at + extra]
                at += extra
                if size[0] == "*":
                    self.known.setdefault(size[1:], part)
                else:
                    self.loose.setdefault(size[1:], []).append(part)
            elif size[0] not in "-/":
                if size.isidentifier():
                    self.known.setdefault(size, shape[at])
                else:
                    self.equations.append((size, shape[at]))
                at += 1

    def solve(self) -> None:
        """Find symbols inside expressions: `2 * D` of known size, `R * 16 == K`."""
        for name, parts in self.loose.items():
            if name not in self.known and len(parts) > 1:
                self.known[name] = broadcast(parts)
        sides = [(left, str(right)) for left, right in self.equations]
        for condition in self.where:
            left, equal, right = condition.partition(" == ")
            if equal and " or " not in condition and "(" not in condition:
                sides.append((left, right))
        progress = True
        while progress:
            progress = sum(self._solve(left, right) for left, right in sides) > 0
            for name, expression in self.given.items():
                if name not in self.known and not self._missing(expression):
                    try:
                        self.known[name] = self.evaluate(expression)
                    except (TypeError, IndexError, ZeroDivisionError):
                        continue  # an attribute that is missing or wrong, as the library will say
                    progress = True

    def _missing(self, expression: str) -> set[str]:
        return {name for name in _names(expression) if name not in self.known}

    def _solve(self, left: str, right: str) -> bool:
        difference = f"({left}) - ({right})"
        missing = self._missing(difference)
        if len(missing) != 1:
            return False
        name = missing.pop()

        def at(value: int) -> Any:
            return eval(_compiled(difference), {**self.known, name: value})

        try:
            start, slope = at(0), at(1) - at(0)
            if not slope or start % slope or at(-start // slope):
                return False
        except (TypeError, ValueError, ArithmeticError):
            return False
        self.known[name] = -start // slope
        return True

    def evaluate(self, expression: str) -> Any:
        return eval(_compiled(expression), dict(self.known))

    def shape(self, declared: Sequence[tuple[str, ...]], ranks: dict[str, int], name: str) -> Shape:
        """The shape of a result; of several alternatives the first that the conditions allow."""
        missing: list[str] = []
        fitting = []
        for one in declared:
            try:
                fitting.append(self._shape(one))
            except UnknownSizeError as error:
                missing.append(str(error))
        if not fitting:
            raise UnknownSizeError(", ".join(missing))
        for candidate in fitting if len(fitting) > 1 else ():
            if self._allowed({**ranks, name: len(candidate)}, name):
                return candidate
        return fitting[0]

    def _allowed(self, ranks: dict[str, int], name: str) -> bool:
        for condition in self.where:
            if f"rank({name})" in condition:
                names = {**self.known, **{n: n for n in ranks}, "rank": ranks.__getitem__}
                if not eval(_compiled(condition), names):
                    return False
        return True

    def _shape(self, declared: tuple[str, ...]) -> Shape:
        made: list[int] = []
        for size in declared:
            if size[0] == "-":
                made = self._reduced(made, size[1:])
            elif size[0] == "/":
                made = made if self.known[size[1:]] == 0 else []
            elif size[0] in "*~":
                if size[1:] not in self.known:
                    raise UnknownSizeError(f"*{size[1:]}")
                made += self.known[size[1:]]
            else:
                if missing := self._missing(size):
                    raise UnknownSizeError(", ".join(sorted(missing)))
                made.append(self.evaluate(size))
        return tuple(made)

    def _reduced(self, sizes: list[int], name: str) -> list[int]:
        dims = self.known[name]
        listed = {dims} if isinstance(dims, int) else set(dims)
        listed = {dim + len(sizes) if dim < 0 else dim for dim in listed}
        if self.known.get("keepdim"):
            return [1 if i in listed else size for i, size in enumerate(sizes)]
        return [size for i, size in enumerate(sizes) if i not in listed]
