"""Products, factors, distances and statistics of matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .tensor import alias, define, int64

# ---- Products -----------------------------------------------------------------------------------


@define(keep=True)
def matmul(a: Any, b: Any) -> Any:
    return np.asarray(np.matmul(a, b))


alias("matmul", "mm", "bmm", "mv", "dot", "vdot")


@define(keep=True)
def inner(a: Any, b: Any) -> Any:
    return np.asarray(np.inner(a, b))


@define(keep=True)
def outer(a: Any, b: Any) -> Any:
    return np.outer(a, b)


def _sum(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return product
    return product + (x if beta == 1 else beta * x)


@define(keep=True)
def addmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum(x, a @ b, beta, alpha)


alias("addmm", "baddbmm", "addmv")


@define(keep=True)
def addbmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum(x, (a @ b).sum(0), beta, alpha)


@define(keep=True)
def addr(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _sum(x, np.outer(a, b), beta, alpha)


@define(keep=True)
def kron(a: Any, b: Any) -> Any:
    return np.kron(a, b)


@define()
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    return np.asarray(np.tensordot(a, b, dims))


@define()
def einsum(equation: str, *tensors: Any) -> Any:
    return np.array(np.einsum(equation, *tensors))


@define(keep=True)
def chain_matmul(*tensors: Any) -> Any:
    return np.linalg.multi_dot(tensors)


@define(keep=True)
def cross(a: Any, b: Any, dim: int | None = None) -> Any:
    axis = a.shape.index(3) if dim is None else dim
    return np.cross(a, b, axis=axis)


# ---- Of a matrix --------------------------------------------------------------------------------


@define()
def det(x: Any) -> Any:
    return np.asarray(np.linalg.det(x))


class Slogdet(NamedTuple):
    sign: Any
    logabsdet: Any


@define()
def slogdet(x: Any) -> Any:
    return Slogdet(*(np.asarray(each) for each in np.linalg.slogdet(x)))


@define()
def logdet(x: Any) -> Any:
    return np.asarray(np.log(np.linalg.det(x)))


@define()
def matrix_exp(x: Any) -> Any:
    return linalg.expm(x)


@define()
def matrix_power(x: Any, n: int) -> Any:
    return np.linalg.matrix_power(x, n)


@define()
def trace(x: Any) -> Any:
    return np.asarray(np.trace(x))


@define()
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    made = np.vander(x, N, increasing)
    return made if x.dtype != int64 else made.astype(int64)


@define()
def inverse(x: Any) -> Any:
    return np.linalg.inv(x)


@define()
def pinverse(x: Any) -> Any:
    return np.linalg.pinv(x)


@define()
def solve(a: Any, b: Any) -> Any:
    if b.ndim == a.ndim - 1:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


@define()
def cholesky(x: Any) -> Any:
    return np.linalg.cholesky(x)


@define()
def eigvalsh(x: Any) -> Any:
    return np.linalg.eigvalsh(x)


@define()
def svd(x: Any, some: bool = True) -> Any:
    u, s, v = np.linalg.svd(x, full_matrices=not some)
    return u, s, v.swapaxes(-1, -2)


@define()
def qr(x: Any, some: bool = True) -> Any:
    return tuple(np.linalg.qr(x, "reduced" if some else "complete"))


# ---- Distances and statistics -------------------------------------------------------------------


def length(x: Any, p: float) -> Any:
    """The p-norm along the last dimension."""
    size = np.abs(x)
    if p == 0:
        return np.sum(size != 0, -1).astype(np.float64)
    if np.isinf(p):
        return np.max(size, -1)
    return np.sum(size**p, -1) ** (1 / p)


@define()
def cdist(a: Any, b: Any, p: float = 2.0) -> Any:
    return length(a[..., :, None, :] - b[..., None, :, :], p)


@define()
def pdist(x: Any, p: float = 2.0) -> Any:
    first, second = np.triu_indices(len(x), 1)
    return length(x[first] - x[second], p)


@define()
def dist(a: Any, b: Any, p: float = 2) -> Any:
    return np.asarray(length((a - b).reshape(-1), p))


@define()
def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    return np.asarray(np.cov(x, ddof=correction, fweights=fweights, aweights=aweights))


@define()
def corrcoef(x: Any) -> Any:
    return np.corrcoef(x)
