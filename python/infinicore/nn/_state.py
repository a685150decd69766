"""Helpers of `load_state_dict` for modules and values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from infinicore._tensor import Tensor

if TYPE_CHECKING:
    from infinicore.nn.module import Module


def owners_of(whole: Module) -> dict[str, tuple[Module, str]]:
    """The module that has a parameter or buffer, and its name there, by its full name."""
    return {
        (f"{where}.{name}" if where else name): (module, name)
        for where, module in whole.named_modules(remove_duplicate=False)
        for name in (*module._parameters, *module._buffers)
    }


def tensor_from(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    from infinicore import _core

    try:
        return _core.from_object(value, "load_state_dict")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"load_state_dict: {name!r} is {type(value).__name__}: expected a tensor or an array"
        ) from error


def _slots(kind: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    """The slots of a class and its bases, by class and name."""
    for each in kind.__mro__:
        for name, slot in vars(each).items():
            if isinstance(slot, MemberDescriptorType):
                yield f"{each.__qualname__}.{name}", slot


def slot_values(module: Any) -> dict[str, Any]:
    """The values of a module's slots, which are not in its `__dict__`."""
    made = {}
    for name, slot in _slots(type(module)):
        with contextlib.suppress(AttributeError):  # not set
            made[name] = slot.__get__(module)
    return made


def set_slots(module: Any, values: dict[str, Any]) -> None:
    for name, slot in _slots(type(module)):
        if name in values:
            slot.__set__(module, values[name])
