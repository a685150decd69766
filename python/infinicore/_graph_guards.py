"""Guards on what a recorded function reads from outside: checked before each replay, because a
graph keeps using the tensors that it was recorded with.

Only references that lead to a tensor that the graph reads are guarded. Variables, lists and
dictionaries are compared in every call; attributes of modules only after `_changes` has counted a
change.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from infinicore import _changes
from infinicore._tensor import Tensor

_MOST_OBJECTS = 100_000  # that are searched
_PLAIN = (str, bytes, int, float, complex, bool, type, ModuleType, CodeType)
_REGISTRIES = {"_parameters", "_buffers", "_modules"}  # of a module: its attributes are guarded

Slot = tuple[Callable[[], Any], Any, str]  # how to read a variable, what it held, its name
Child = tuple[str, Callable[[], Any], bool]  # name, how to read it, whether `_changes` counts it


class Guards:
    """The references that lead from a function to the tensors in `memories`."""

    def __init__(self, body: Any, arguments: dict[str, Any], memories: set[int]) -> None:
        self._memories = memories
        self._known: dict[int, bool] = {}  # by id of object: does it lead to such a tensor
        self._alive: list[Any] = []  # so that no other object gets the same id
        self._direct: list[Slot] = []
        self._counted: list[Slot] = []
        self._sizes: list[tuple[Any, int, str]] = []
        self._tensors: list[tuple[Tensor, Any, str]] = []
        for name, value in arguments.items():
            if not isinstance(value, Tensor):
                self._leads(name, value)
        self._leads(getattr(body, "__name__", type(body).__name__), body)
        self._count = _changes.count

    def changed(self) -> str:
        """The name of the first reference that was replaced since; empty if there is none."""
        for read, held, name in self._direct:
            if read() is not held:
                return name
        for items, size, name in self._sizes:
            if len(items) != size:
                return name
        if self._count == _changes.count:
            return ""
        for read, held, name in self._counted:
            if read() is not held:
                return name
        for tensor, place, name in self._tensors:  # set_ may have given it other memory
            if _place(tensor) != place:
                return name
        self._count = _changes.count
        return ""

    def _leads(self, name: str, value: Any) -> bool:
        if isinstance(value, Tensor):
            if value._memory not in self._memories:
                return False
            self._tensors.append((value, _place(value), name))
            return True
        key = id(value)
        if key in self._known:
            return self._known[key]
        if isinstance(value, _PLAIN) or value is None or len(self._alive) >= _MOST_OBJECTS:
            return False
        self._known[key] = False  # a reference cycle adds nothing
        self._alive.append(value)
        found = False
        for child, read, is_counted in _children(name, value):
            held = read()
            # A variable that holds no tensor may be assigned one later.
            is_empty = held is None and isinstance(value, FunctionType)
            if not is_empty and not self._leads(child, held):
                continue
            (self._counted if is_counted else self._direct).append((read, held, child))
            found = found or not is_empty
        if found and isinstance(value, (list, dict)):
            self._sizes.append((value, len(value), name))
        self._known[key] = found
        return found


def _place(tensor: Tensor) -> Any:
    return tensor._memory, tensor._offset, tensor.shape, tensor.stride(), tensor.dtype


def _children(name: str, value: Any) -> Iterator[Child]:
    if isinstance(value, FunctionType):
        if not _is_ours(value.__module__):
            yield from _variables(value)
    elif isinstance(value, MethodType):
        yield "self", partial(getattr, value, "__self__"), False
        yield name, partial(getattr, value, "__func__"), False
    elif isinstance(value, functools.partial):
        for part in ("func", "args", "keywords"):
            yield name, partial(getattr, value, part), False
    elif isinstance(value, (list, tuple)):
        for i in range(len(value)):
            yield f"{name}[{i}]", partial(_element, value, i), False
    elif isinstance(value, dict):
        for i, key in enumerate(value):
            label = repr(key) if isinstance(key, (str, int)) else i
            yield f"{name}[{label}]", partial(value.get, key), False
    elif hasattr(type(value), "named_modules"):
        yield name, partial(getattr, type(value), "forward"), False
        for attribute in set(vars(value)) - _REGISTRIES:
            yield f"{name}.{attribute}", partial(vars(value).get, attribute), True
    elif hasattr(value, "__wrapped__"):  # a recorded function
        yield name, partial(getattr, value, "__wrapped__"), False
    elif not _is_ours(type(value).__module__):
        attributes = getattr(value, "__dict__", {})
        for attribute in list(attributes):
            yield f"{name}.{attribute}", partial(attributes.get, attribute), False
        call = vars(type(value)).get("__call__")
        if isinstance(call, FunctionType):
            yield name, partial(vars(type(value)).get, "__call__"), False


def _variables(function: FunctionType) -> Iterator[Child]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, partial(_contents, cell), False
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            yield name, partial(function.__globals__.get, name), False


def _global_names(code: CodeType) -> set[str]:
    """Including those of nested functions."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _global_names(constant)
    return found


def _is_ours(module: str | None) -> bool:
    return (module or "").partition(".")[0] == "infinicore"


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _element(items: Any, index: int) -> Any:
    return items[index] if index < len(items) else None
