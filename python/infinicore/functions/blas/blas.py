"""Vector functions by their BLAS names. Some modify their arguments, as documented."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


@function
def _scal(x: Tensor, alpha: Operand) -> Tensor:
    return emit("scal", tensor_for(alpha, x.dtype, x.device), x)


def scal(x: Any, alpha: Any) -> Tensor:
    """x becomes alpha * x, and is returned.

    >>> infinicore.scal(infinicore.ones(2), 3.0)
    tensor([3., 3.])
    """
    if not isinstance(x, Tensor) and isinstance(alpha, Tensor):
        x, alpha = alpha, x
    _scal(x, alpha)
    return x


@function
def _copied(x: Tensor, y: Tensor) -> Tensor:
    return emit("blas_copy", x, out=y)


def blas_copy(x: Tensor, y: Tensor) -> Tensor:
    """Copies the elements of x to y, and returns y.

    >>> infinicore.blas_copy(infinicore.ones(1), infinicore.zeros(1))
    tensor([1.])
    """
    _copied(need_tensor("blas_copy", "x", x), need_tensor("blas_copy", "y", y))
    return y


@function
def _rotg(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> Any:
    emit("rotg", x, y, out=(c, s))
    return x


def rotg(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The Givens rotation that maps the point (x, y) to the first axis: c and s become its cosine
    and sine, x the length, and y the value from which both can be reconstructed. Returns all four.

    >>> x, y, c, s = (infinicore.tensor([each]) for each in (3.0, 4.0, 0.0, 0.0))
    >>> infinicore.rotg(x, y, c, s)[0]
    tensor([5.])
    """
    _rotg(x, y, c, s)
    return x, y, c, s
