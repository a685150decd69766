"""What `load_state_dict` asks of modules and of the values that it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infinicore._tensor import Tensor

if TYPE_CHECKING:
    from infinicore.nn.module import Module


def owners_of(whole: Module) -> dict[str, tuple[Module, str]]:
    """The module that has a parameter or buffer, and its name there, by its name in the whole."""
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
