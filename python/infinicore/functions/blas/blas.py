"""Vector functions by their BLAS names. Those that change their arguments say so."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


@function
def _axpy(alpha: Operand, x: Tensor, y: Tensor) -> Tensor:
    return emit("axpy", tensor_for(alpha, y.dtype, y.device), x, y)


def axpy(alpha: Any, x: Tensor, y: Tensor) -> Tensor:
    """y becomes alpha * x + y, and is returned.

    >>> infinicore.axpy(2.0, infinicore.ones(2), infinicore.ones(2))
    tensor([3., 3.])
    """
    _axpy(alpha, need_tensor("axpy", "x", x), need_tensor("axpy", "y", y))
    return y


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
def _in_place(x: Tensor, y: Tensor, name: str) -> Any:
    return emit(name, x, y)


def swap(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """x and y exchange their elements, and are returned.

    >>> infinicore.swap(infinicore.ones(1), infinicore.zeros(1))[0]
    tensor([0.])
    """
    _in_place(need_tensor("swap", "x", x), need_tensor("swap", "y", y), "swap")
    return x, y


@function
def _copied(x: Tensor, y: Tensor) -> Tensor:
    return emit("blas_copy", x, out=y)


def blas_copy(x: Tensor, y: Tensor) -> Tensor:
    """y takes over the elements of x, and is returned.

    >>> infinicore.blas_copy(infinicore.ones(1), infinicore.zeros(1))
    tensor([1.])
    """
    _copied(need_tensor("blas_copy", "x", x), need_tensor("blas_copy", "y", y))
    return y


@function
def _rot(x: Tensor, y: Tensor, c: Operand, s: Operand) -> Any:
    c, s = (tensor_for(each, x.dtype, x.device) for each in (c, s))
    return emit("rot", x, y, c, s)


def rot(x: Tensor, y: Tensor, c: Any, s: Any) -> tuple[Tensor, Tensor]:
    """x becomes c * x + s * y, and y becomes c * y - s * x; both are returned.

    >>> infinicore.rot(infinicore.ones(1), infinicore.zeros(1), 0.0, 1.0)[1]
    tensor([-1.])
    """
    _rot(need_tensor("rot", "x", x), need_tensor("rot", "y", y), c, s)
    return x, y


@function
def _rotg(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> Any:
    emit("rotg", x, y, out=(c, s))
    return x


def rotg(x: Tensor, y: Tensor, c: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The rotation that turns the point (x, y) onto the axis: c and s become its cosine and sine, x
    the length, y what both can be found from again. All four are returned.

    >>> x, y, c, s = (infinicore.tensor([each]) for each in (3.0, 4.0, 0.0, 0.0))
    >>> infinicore.rotg(x, y, c, s)[0]
    tensor([5.])
    """
    _rotg(x, y, c, s)
    return x, y, c, s


@function
def _rotm(x: Tensor, y: Tensor, param: Tensor) -> Any:
    return emit("rotm", x, y, param)


def rotm(x: Tensor, y: Tensor, param: Tensor) -> tuple[Tensor, Tensor]:
    """A modified rotation of x and y, as `rotmg` describes it in its five parameters; both are
    returned.

    >>> param = infinicore.tensor([-1.0, 1.0, 2.0, 3.0, 4.0])
    >>> infinicore.rotm(infinicore.ones(1), infinicore.zeros(1), param)[1]
    tensor([2.])
    """
    _rotm(x, y, param)
    return x, y


@function
def _rotmg(d1: Tensor, d2: Tensor, x1: Tensor, y1: Tensor, param: Tensor) -> Any:
    return emit("rotmg", d1, d2, x1, y1, param)


def rotmg(
    d1: Tensor, d2: Tensor, x1: Tensor, y1: Tensor, param: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The modified rotation that makes the second of two scaled coordinates 0: all but y1 are
    changed, and d1, d2, x1 and param are returned.

    >>> d1, d2, x1, y1 = (infinicore.tensor([each]) for each in (1.0, 1.0, 1.0, 0.0))
    >>> infinicore.rotmg(d1, d2, x1, y1, infinicore.zeros(5))[3]
    tensor([-2.,  0.,  0.,  0.,  0.])
    """
    _rotmg(d1, d2, x1, y1, param)
    return d1, d2, x1, param
