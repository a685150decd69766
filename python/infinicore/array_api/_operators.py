"""Python's operators on tensors, with the standard's semantics.

    infinicore.array_api.set_operators(True)

By default operators follow torch: zero-dimensional tensors, like numbers, matter in promotion only
if nothing else does. The setting applies to the whole process.
"""

from __future__ import annotations

from typing import Any

from infinicore._namespace import IN_PLACE, OPERATORS
from infinicore._tensor import Tensor
from infinicore.array_api import _elementwise, _products

__all__ = ["set_operators"]

_NAMES = {"sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative"} | {
    "bitwise_not": "bitwise_invert",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_FUNCTIONS = {**_elementwise.FUNCTIONS, "matmul": _products.matmul}
_before: dict[str, Any] = {}


def set_operators(standard: bool) -> None:
    """Set whether `+`, `//`, `==` and the other operators follow the array API's promotion
    rules."""
    if not standard:
        for slot, value in _before.items():
            setattr(Tensor, slot, value)
        _before.clear()
        return
    if _before:
        return
    for name, slots in OPERATORS.items():
        work = _FUNCTIONS[_NAMES.get(name, name)]
        for slot in slots:
            _replace(slot, _operator(work, len(slots) > 1 and slot == slots[1], name))
    for name, slot in IN_PLACE.items():
        _replace(slot, _in_place(_FUNCTIONS[_NAMES.get(name, name)]))


def _replace(slot: str, method: Any) -> None:
    _before[slot] = getattr(Tensor, slot)
    setattr(Tensor, slot, method)


def _operator(work: Any, reflected: bool, name: str) -> Any:
    if name in ("neg", "positive", "abs", "bitwise_not"):
        return lambda self: work(self)

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, complex)):
            return NotImplemented
        return work(other, self) if reflected else work(self, other)

    return method


def _in_place(work: Any) -> Any:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, complex)):
            return NotImplemented
        return self.copy_(work(self, other))

    return method
