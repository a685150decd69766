"""All names of `infinicore` besides its modules, collected when a name is first accessed."""

from __future__ import annotations

import importlib
import inspect
import math
from types import ModuleType
from typing import Any

from infinicore import _core, _dtype, functions
from infinicore._errors import KNOWN, explain
from infinicore._modules import modules_of, with_names
from infinicore._public import as_public, make_methods_public
from infinicore._tensor import Tensor

# Modules of the package whose public names are names of the package.
_PARTS = (
    "_creation",
    "_defaults",
    "_memory_format",
    "_ranges",
    "_data",
    "_exchange",
    "_storage",
    "_indexing",
    "_views_in_place",
    "_inference_only",
    "_tensor_queries",
    "_printing",
    "_generator",
    "_random",
    "_distributions",
    "_counts",
    "_complex",
    "_serialization",
    "_threads",
    "_dropouts",
    "_array_protocol",
    "_event",
    "_graph",
    "_profile",
    "_recorded_function",
    "context",
)
# A function with this first parameter is also a method.
_SELF = ("input", "self", "x")
# Not methods: a method of this name is something else, or does not exist in torch either.
_NO_METHODS = {"broadcast_to_shape", "from_torch", "where", "tensor"}

# Functions that Python's operators call; the second method has the operands exchanged.
OPERATORS = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__", "__rsub__"),
    "mul": ("__mul__", "__rmul__"),
    "div": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "pow": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "neg": ("__neg__",),
    "positive": ("__pos__",),
    "abs": ("__abs__",),
    "bitwise_not": ("__invert__",),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "bitwise_left_shift": ("__lshift__", "__rlshift__"),
    "bitwise_right_shift": ("__rshift__", "__rrshift__"),
    "eq": ("__eq__",),
    "ne": ("__ne__",),
    "lt": ("__lt__",),
    "le": ("__le__",),
    "gt": ("__gt__",),
    "ge": ("__ge__",),
}
IN_PLACE = {
    "add": "__iadd__",
    "sub": "__isub__",
    "mul": "__imul__",
    "div": "__itruediv__",
    "floor_divide": "__ifloordiv__",
    "remainder": "__imod__",
    "pow": "__ipow__",
    "bitwise_and": "__iand__",
    "bitwise_or": "__ior__",
    "bitwise_xor": "__ixor__",
    "bitwise_left_shift": "__ilshift__",
    "bitwise_right_shift": "__irshift__",
}


def collect() -> dict[str, Any]:
    names: dict[str, Any] = dict(_dtype.NAMES)
    names |= {
        name: getattr(_dtype, name)
        for name in ("dtype", "get_default_dtype", "promote_types", "set_default_dtype")
    }
    for module in modules():
        for name in module.__all__:
            names[name] = getattr(module, name)
    # In torch some of these are in both places; here all are.
    functional = importlib.import_module("infinicore.nn.functional")
    for name in functional.__all__:
        names.setdefault(name, getattr(functional, name))
    for name, short in (("equal", "eq"), ("div", "true_divide"), ("sub", "subtract")):
        if name in names:
            names.setdefault(short, names[name])
    from infinicore._device import Size, device
    from infinicore._emit import result_type
    from infinicore._function import Operand, function

    names |= {"Tensor": Tensor, "device": device, "Size": Size}
    names |= {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
    names["use_ntops"] = False  # operators are defined nowhere else
    names |= {"Operand": Operand, "function": function, "result_type": result_type}
    names = {name: as_public(value) for name, value in names.items()}
    _add_methods(names)
    make_methods_public(Tensor)
    for name, method in vars(Tensor).items():
        # In-place methods are functions, too: infinicore.abs_(x).
        if name.endswith("_") and not name.startswith("_"):
            names.setdefault(name, as_public(method))
    return names


def modules() -> list[ModuleType]:
    found = list(modules_of(functions.__name__, list(functions.__path__)))
    return found + [with_names(importlib.import_module(f"infinicore.{name}")) for name in _PARTS]


def _add_methods(names: dict[str, Any]) -> None:
    from infinicore._function import as_operator

    for name, value in names.items():
        if not callable(value) or isinstance(value, type) or name in _NO_METHODS:
            continue
        if hasattr(Tensor, name) or name.startswith("_"):
            continue
        try:
            first = next(iter(inspect.signature(value).parameters), "")
        except (TypeError, ValueError):
            continue
        if first in _SELF:
            setattr(Tensor, name, value)
    for name, slots in OPERATORS.items():
        for slot in slots:
            setattr(Tensor, slot, as_operator(names[name], reflected=slot != slots[0]))
    for name, slot in IN_PLACE.items():
        method = _in_place(f"{name}_", names[name])
        setattr(Tensor, slot, method)
        setattr(Tensor, f"{name}_", method)
    for name, value in names.items():
        in_place = f"{name}_"
        is_method = getattr(Tensor, name, None) is value and isinstance(value, _core.Function)
        if (
            is_method
            and value._has_in_place
            and not hasattr(Tensor, in_place)
            and in_place not in names
        ):
            setattr(Tensor, in_place, _replacing(in_place, value))
    # Equality is elementwise, so tensors are hashed by identity.
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _replacing(name: str, function: Any) -> Any:
    """An in-place method that computes a new tensor first, since not every operator may overwrite
    its input."""
    from infinicore._emit import check_out_type

    def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        try:
            made = function(self, *args, **keywords)
            if not isinstance(made, Tensor):
                raise TypeError(f"{name}: there are several results: expected one, to be copied")
            check_out_type(name, self, made.dtype)
            return self.copy_(made)
        except Exception as error:
            raise explain(method, error, (self, *args, *keywords.values()), (*keywords,)) from None

    return _named(method, name, function)


def _in_place(name: str, function: Any) -> Any:
    def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        try:
            return function(self, *args, out=self, **keywords)  # type: ignore[no-any-return]
        except Exception as error:
            raise explain(method, error, (self, *args, *keywords.values()), (*keywords,)) from None

    return _named(method, name, function)


def _named(method: Any, name: str, function: Any) -> Any:
    method.__name__, method.__doc__ = name, function.__doc__
    KNOWN.add(name)
    return method
