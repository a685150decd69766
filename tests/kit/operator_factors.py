"""The factors of an operator's cases: element type, layout, size."""

from __future__ import annotations

from typing import Any

from spec.operators.language.model import Operator

from .drawing import Rules, main_tensor
from .layouts import broadcast, contiguous, strided, transposed, unaligned

# Name: layout of inputs, layout of outputs.
LAYOUTS: dict[str, tuple[Any, Any]] = {
    "contiguous": (contiguous, contiguous),
    "strided": (strided, strided),
    "transposed": (transposed, transposed),
    "mixed": (transposed, strided),
    "stride-0": (broadcast, contiguous),
    "unaligned": (unaligned, unaligned),
}
SIZES = ("usual", "scalar", "empty", "one", "large")


def applies(operator: Operator, rules: Rules, layout: str, size: str) -> bool:
    free = [tensor for tensor in operator.tensors if tensor.layout != "dense"]
    lists = any(item[0] == "*" for t in operator.tensors for s in t.shapes for item in s)
    if size not in rules.kinds:
        return False
    if size == "scalar" and not lists:
        return False
    if size == "large" and operator.kernel and rules.large is None:
        return False
    if layout in ("strided", "transposed", "mixed"):
        return bool(free)
    if layout == "stride-0":
        return any(not tensor.written for tensor in free)
    return True


def dtypes_of(operator: Operator) -> tuple[str, ...]:
    main = main_tensor(operator)
    return main.dtypes if main else ("F32",)
