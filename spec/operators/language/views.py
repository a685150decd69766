"""Views of tensors, without a copy. Only for the tensors of an operator, not for results of
expressions."""

from __future__ import annotations

from typing import Any

from .expression import Node, traced


def _view(x: Node, view: str, axis: int = 0) -> Node:
    if x.op != "tensor" or x.data[1] != "plain":
        raise TypeError(f"a view of {x!r}, which is not a tensor of the operator")
    return Node("tensor", (), x.kind, (x.data[0], view, axis))


def expand(x: Any, axis: int = -1) -> Any:
    """Inserts a dimension of size 1 at `axis` < 0."""
    if traced(x):
        return _view(x, "expand", axis)
    import numpy

    return numpy.expand_dims(x, axis)


def first_half(x: Any) -> Any:
    """Of the last dimension."""
    return _view(x, "first") if traced(x) else x[..., : x.shape[-1] // 2]


def second_half(x: Any) -> Any:
    return _view(x, "second") if traced(x) else x[..., x.shape[-1] // 2 :]


def item(x: Any, index: int) -> Any:
    """One entry of the last dimension, which stays with size 1."""
    return _view(x, "item", index) if traced(x) else x[..., index : index + 1]
