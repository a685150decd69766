"""What a recorded function has closed over: looked at again before each replay, because a graph
keeps using the tensors that it was recorded with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from infinicore import _changes
from infinicore._tensor import Tensor

_MOST_ELEMENTS = 64  # of a list or dictionary that is looked into

Slot = tuple[Callable[[], Any], Any, str]  # how to read a variable, what it held, its name


class Guards:
    """The variables that a function reads, with the tensors and modules that they held."""

    def __init__(self, body: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._slots: list[Slot] = []
        self._sizes: list[tuple[Any, int, str]] = []  # of lists
        self._modules: dict[str, Any] = {}
        self._seen: set[int] = set()
        for name, value in arguments.items():
            self._add_module(name, value)
        self._add_function(body)
        self._changes = _changes.count
        self._places = self._read_modules()

    def changed(self) -> str:
        """The name of what was replaced since, or nothing."""
        for read, held, name in self._slots:
            if read() is not held:
                return name
        for items, size, name in self._sizes:
            if len(items) != size:
                return name
        if self._changes == _changes.count:
            return ""
        # Something was assigned to a module, or `set_` gave a tensor other memory: was it ours?
        places = self._read_modules()
        for name, place in places.items():
            if self._places.get(name) != place:
                return name
        if len(places) != len(self._places):
            return next(name for name in self._places if name not in places)
        self._changes = _changes.count
        return ""

    # ---- What a function reads ------------------------------------------------------------------

    def _add_function(self, body: Any) -> None:
        if isinstance(body, MethodType):
            self._add_value("self", body.__self__)
            body = body.__func__
        if not isinstance(body, FunctionType) or not self._is_new(body):
            return
        for name, cell in zip(body.__code__.co_freevars, body.__closure__ or (), strict=True):
            self._add_variable(name, partial(_contents, cell))
        names = body.__globals__
        for name in sorted(_names(body.__code__)):
            if name in names:
                self._add_variable(name, partial(names.get, name))

    def _add_variable(self, name: str, read: Callable[[], Any]) -> None:
        value = read()
        if isinstance(value, Tensor) or _is_module(value):
            self._slots.append((read, value, name))
        self._add_value(name, value)

    def _add_value(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self._modules[name] = value  # for `set_`
        elif _is_module(value):
            self._add_module(name, value)
        elif isinstance(value, (FunctionType, MethodType)):
            if not (value.__module__ or "").startswith("infinicore."):
                self._add_function(value)
        elif isinstance(value, (list, tuple)) and len(value) <= _MOST_ELEMENTS:
            if self._is_new(value):
                if any(isinstance(each, Tensor) or _is_module(each) for each in value):
                    self._sizes.append((value, len(value), name))
                for i in range(len(value)):
                    self._add_variable(f"{name}[{i}]", partial(_element, value, i))
        elif isinstance(value, dict) and len(value) <= _MOST_ELEMENTS and self._is_new(value):
            for key in value:
                self._add_variable(f"{name}[{key!r}]", partial(value.get, key))

    def _add_module(self, name: str, value: Any) -> None:
        if _is_module(value) and self._is_new(value):
            self._modules[name] = value

    def _is_new(self, value: Any) -> bool:
        if id(value) in self._seen:
            return False
        self._seen.add(id(value))
        return True

    # ---- Where tensors are ----------------------------------------------------------------------

    def _read_modules(self) -> dict[str, Any]:
        places: dict[str, Any] = {}
        for name, value in self._modules.items():
            for path, tensor in _tensors_of(name, value):
                places[path] = (tensor._memory, tensor._offset, tensor.shape, tensor.dtype)
        return places


def _tensors_of(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name, value
        return
    for path, module in value.named_modules():
        prefix = f"{name}.{path}" if path else name
        for attribute, each in vars(module).items():
            if isinstance(each, Tensor):
                yield f"{prefix}.{attribute}", each


def _is_module(value: Any) -> bool:
    return hasattr(type(value), "named_modules")


def _names(code: CodeType) -> set[str]:
    """Global names, also those of functions inside."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _element(items: Any, index: int) -> Any:
    return items[index] if index < len(items) else None
