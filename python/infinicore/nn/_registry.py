"""The containers of a module's parameters, buffers and submodules."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from infinicore import _changes


class Handle:
    """A registered hook; `remove()` unregisters it."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        self._hooks.pop(self._key, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Registry(OrderedDict[str, Any]):
    """Parameters, buffers or modules by name. They are also stored as attributes of the module,
    where Python finds them fastest."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        super().__init__()
        self._attributes = attributes

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        _changes.note()
        self._attributes[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        _changes.note()
        self._attributes.pop(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Only the entries: the copied module creates its own registry."""
        return OrderedDict, (list(self.items()),)

    def pop(self, name: str, *preset: Any) -> Any:
        if name not in self and preset:
            return preset[0]
        value = self[name]
        del self[name]
        return value

    def clear(self) -> None:
        for name in list(self):
            del self[name]
