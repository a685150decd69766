"""The state of a whole model, gathered from the shards of all ranks."""

from __future__ import annotations

from typing import Any

from infinicore.nn.module import Module


def full_state_dict(module: Module) -> dict[str, Any]:
    """The `state_dict()` of the same model with plain layers. All ranks must call it, and all get
    the whole.

    >>> list(nn.parallel.full_state_dict(nn.parallel.ColumnParallelLinear(4, 2)))
    ['weight']
    """
    if not isinstance(module, Module):
        raise TypeError(
            f"full_state_dict: module is {type(module).__name__}: expected an nn.Module"
        )
    made = module.state_dict()
    for where, part in module.named_modules(remove_duplicate=False):
        gather = getattr(part, "gather_state", None)
        if gather is None:
            continue
        for name in part._parameters:
            key = f"{where}.{name}" if where else name
            if key in made:
                made[key] = gather(name, made[key])
    return made
