"""Helpers of the functions on matrices."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._complex_parts import real_type as _real_type
from infinicore._dtype import category, get_default_dtype
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_rank


def matrices(function: str, A: Any, square: bool = False, name: str = "A") -> Tensor:
    """A tensor of matrices; integers are converted to floats."""
    if not isinstance(A, Tensor):
        raise TypeError(f"{function}: {name} is {type(A).__name__}: expected a tensor")
    need_rank(function, name, A, 2, or_more=True)
    if square and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{function}: {name} has shape {tuple(A.shape)}: expected square matrices"
        )
    return floats(A)


def floats(x: Tensor) -> Tensor:
    return x if category(x.dtype) > 1 else x.to(get_default_dtype())


def conjugate(x: Tensor) -> Tensor:
    return infinicore.conj(x) if x.dtype.is_complex else x


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conjugate(x.transpose(-2, -1))


def real_type(x: Tensor) -> Any:
    """The element type of absolute values."""
    return _real_type(x.dtype)


def eps(x: Tensor) -> float:
    return float(infinicore.finfo(real_type(x)).eps)


def into(out: Any, made: Any) -> Any:
    """The results, copied to the tensors of `out` if given."""
    if out is None:
        return made
    if not isinstance(made, tuple):
        return out.copy_(made)
    for target, value in zip(out, made, strict=True):
        target.copy_(value)
    return type(made)(*out)
