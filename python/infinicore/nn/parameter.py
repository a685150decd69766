"""A tensor that belongs to a module."""

from __future__ import annotations

from typing import Any

from infinicore._tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that a module lists among its parameters. It shares the memory of `data`.

    >>> infinicore.nn.Parameter(infinicore.zeros(2))
    Parameter containing:
    tensor([0., 0.])
    """

    def __init__(self, data: Any = None, requires_grad: bool = False) -> None:
        if data is None:
            from infinicore._creation import empty

            data = empty((0,))
        if not isinstance(data, Tensor):
            raise ValueError(f"Parameter: data is {type(data).__name__}: expected a Tensor")
        super().__init__(data)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = Parameter(self.data.clone())
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Parameter, (self.data,)


class Buffer(Tensor):
    """A tensor that a module lists among its buffers when it is assigned to an attribute. It shares
    the memory of `data`; with `persistent` it is part of the state.

    >>> module = infinicore.nn.Module()
    >>> module.scale = infinicore.nn.Buffer(infinicore.ones(1))
    >>> list(module.state_dict())
    ['scale']
    """

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        if data is None:
            from infinicore._creation import empty

            data = empty((0,))
        if not isinstance(data, Tensor):
            raise ValueError(f"Buffer: data is {type(data).__name__}: expected a Tensor")
        super().__init__(data)
        self.persistent = persistent

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _buffer, (Tensor(self), self.persistent)


def _buffer(data: Tensor, persistent: bool) -> Buffer:
    return Buffer(data, persistent=persistent)
