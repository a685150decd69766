"""Products of vectors."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_emit import emit_conj
from infinicore._dtype import category
from infinicore._emit import emit, placed, result_type
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.matmul.matmul import _check_ranks, _product


def _dot(name: str, a: Tensor, b: Tensor, out: Any) -> Tensor:
    _check_ranks(name, input=(a, 1), other=(b, 1))
    if a.shape != b.shape:
        raise RuntimeError(f"{name}: {a.shape[0]} and {b.shape[0]} elements: expected as many")
    kind = result_type(a, b)
    if category(kind) < 2:
        return _product(a, b, 1.0, out, name)
    made = _core.empty((), kind, a.device) if out is None else out
    if made.dtype is kind:
        return emit("dot", a, b, out=made)
    return placed(name, emit("dot", a, b), out)


@function
def dot(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The sum of the products of two vectors' elements.

    >>> infinicore.dot(infinicore.tensor([1., 2.]), infinicore.tensor([3., 4.]))
    tensor(11.)
    """
    return _dot("dot", input, other, out)


@function
def vdot(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The dot product of two vectors, the first one conjugated.

    >>> infinicore.vdot(infinicore.tensor([1., 2.]), infinicore.tensor([3., 4.]))
    tensor(11.)
    """
    return _dot("vdot", emit_conj(input), other, out)
