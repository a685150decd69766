"""The public form of functions: a native callable that forwards the arguments.

It accepts NumPy's parameter names besides torch's (`axis` for `dim`, `keepdims` for `keepdim`), and
errors that leave it name it, whichever function raised them (see `_errors`). Traced functions do
both themselves."""

from __future__ import annotations

import copyreg
import functools
import inspect
from types import FunctionType
from typing import Any

from infinicore import _core
from infinicore._errors import KNOWN

_MEANT = {parameter for _, parameter in _core.OTHER_NAMES} - {"self"}
# Native methods with a parameter `dim`.
_NATIVE = ("narrow", "select", "squeeze", "stride", "unsqueeze")
# Not wrapped, unless they have parameters with NumPy's names: modules whose functions raise their
# own errors, and functions that take little longer than a call.
_PLAIN = {"_defaults", "_threads", "_printing", "_serialization", "_inference_only"}
_PLAIN |= {
    "_graph",
    "_profile",
    "_recorded_function",
    "_function",
    "_namespace",
    "context",
    "_emit",
}
_SHORT = ("empty", "ones", "zeros", "tensor", "as_tensor")


def as_public(function: Any) -> Any:
    """The function behind a native callable, if it needs one."""
    return _made_public(function) if isinstance(function, FunctionType) else function


@functools.cache  # so that aliases of a function stay identical
def _made_public(function: FunctionType) -> Any:
    KNOWN.add(function.__name__)
    names = _parameters(function)
    is_plain = function.__module__.removeprefix("infinicore.") in _PLAIN
    is_plain |= function.__name__ in _SHORT
    if is_plain and not _MEANT & set(names):
        return function
    made = _core.make_renaming(function, names)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(function, name, None))
    return made


def make_methods_public(tensor: type) -> None:
    """The same for the methods of a class, whose arguments follow `self`."""
    for name, value in list(vars(tensor).items()):
        if name in _NATIVE:
            setattr(tensor, name, _core.make_renaming(value, ("self", "dim")))
        elif not name.startswith("_") and _MEANT & set(_parameters(value)[1:]):
            setattr(tensor, name, as_public(value))


def _parameters(function: Any) -> tuple[str, ...]:
    if not isinstance(function, FunctionType):
        return ()
    if "__signature__" in function.__dict__ or "__wrapped__" in function.__dict__:
        return tuple(inspect.signature(function).parameters)
    code = function.__code__  # the same, faster
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


copyreg.pickle(_core.Renaming, lambda made: (as_public, (made.__wrapped__,)))
