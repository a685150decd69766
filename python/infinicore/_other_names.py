"""NumPy's names of parameters beside torch's: `axis` for `dim`, `keepdims` for `keepdim`.

Functions that are traced know them by themselves. Others go behind a native callable that hands
their arguments on, and looks at names only where a keyword is given."""

from __future__ import annotations

import copyreg
import functools
import inspect
from types import FunctionType
from typing import Any

from infinicore import _core

_MEANT = {parameter for _, parameter in _core.OTHER_NAMES} - {"self"}
# Methods that are native and take `dim`.
_NATIVE = ("narrow", "select", "squeeze", "stride", "unsqueeze")


def with_other_names(function: Any) -> Any:
    """The function, with the other names of its parameters."""
    return _renamed(function) if isinstance(function, FunctionType) else function


@functools.cache  # so that two names of one function stay that
def _renamed(function: FunctionType) -> Any:
    names = _parameters(function)
    if not _MEANT & set(names):
        return function
    made = _core.make_renaming(function, names)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(function, name, None))
    return made


def rename_methods(tensor: type) -> None:
    """The same for the methods of a class, whose own arguments come behind `self`."""
    for name, value in list(vars(tensor).items()):
        if name in _NATIVE:
            setattr(tensor, name, _core.make_renaming(value, ("self", "dim")))
        elif not name.startswith("_") and _MEANT & set(_parameters(value)[1:]):
            setattr(tensor, name, with_other_names(value))


def _parameters(function: Any) -> tuple[str, ...]:
    if not isinstance(function, FunctionType):
        return ()
    if "__signature__" in function.__dict__ or "__wrapped__" in function.__dict__:
        return tuple(inspect.signature(function).parameters)
    code = function.__code__  # the same, faster
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


copyreg.pickle(_core.Renaming, lambda made: (with_other_names, (made.__wrapped__,)))
