"""Products of matrices and vectors, and tensors as matrices."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore._function import traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_rank
from infinicore.functions._operands import wide
from infinicore.linalg._matrices import conjugate, into

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "multi_dot",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
]


@traced
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along a dimension.

    >>> infinicore.linalg.cross(infinicore.tensor([1, 0, 0]), infinicore.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"cross: input has {input.ndim} dimensions, other {other.ndim}: expected as many"
        )
    for name, each in (("input", input), ("other", other)):
        if each.ndim and -each.ndim <= dim < each.ndim and each.shape[dim] != 3:
            raise RuntimeError(
                f"cross: {name} has size {each.shape[dim]} in dimension {dim}: expected 3"
            )
    return infinicore.cross(input, other, dim, out=out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Diagonals of matrices, as a view.

    >>> infinicore.linalg.diagonal(infinicore.eye(2))
    tensor([1., 1.])
    """
    return infinicore.diagonal(A, offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Batched matrix products.

    >>> infinicore.linalg.matmul(infinicore.eye(2), infinicore.ones(2))
    tensor([1., 1.])
    """
    return infinicore.matmul(input, other, out=out)


def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The n-th power of square matrices; of the inverse if n is negative.

    >>> infinicore.linalg.matrix_power(infinicore.tensor([[2., 0.], [0., 3.]]), 2)
    tensor([[4., 0.],
            [0., 9.]])
    """
    return into(out, infinicore.matrix_power(A, n))  # type: ignore[no-any-return]


@traced
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """Dot products of the vectors along a dimension; x is conjugated.

    >>> infinicore.linalg.vecdot(infinicore.tensor([1., 2.]), infinicore.tensor([3., 4.]))
    tensor(11.)
    """
    x, y = infinicore.broadcast_tensors(x, y)
    kind = infinicore.promote_types(x.dtype, y.dtype)
    made = infinicore.sum(wide(conjugate(x.to(kind))) * wide(y.to(kind)), dim)
    return into(out, made.to(kind))  # type: ignore[no-any-return]


@traced
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices: powers of the elements as columns, from the 0th on; batched.

    >>> infinicore.linalg.vander(infinicore.tensor([1, 2, 3]), N=2)
    tensor([[1, 1],
            [1, 2],
            [1, 3]])
    """
    x = x if x.ndim else x.reshape(1)
    count = x.shape[-1] if N is None else N
    made = infinicore.vander(x.reshape(-1), count, True)
    return made.reshape((*x.shape, count))


@traced
def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications; the
    first and the last may be vectors.

    >>> infinicore.linalg.multi_dot([infinicore.eye(2), infinicore.eye(2), infinicore.ones(2)])
    tensor([1., 1.])
    """
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError(f"multi_dot: {len(given)} tensors: expected 2 or more")
    row, column = given[0].ndim == 1, given[-1].ndim == 1
    if row:
        given[0] = given[0].unsqueeze(0)
    if column:
        given[-1] = given[-1].unsqueeze(-1)
    for each in given:
        need_rank("multi_dot", "a tensor", each, 2)
    made = _chain(given, _cuts([each.shape[0] for each in given] + [given[-1].shape[1]]))
    made = made.squeeze(-1) if column else made
    return into(out, made.squeeze(0) if row else made)  # type: ignore[no-any-return]


def _cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices in two."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            prices = {
                k: cost[first, k]
                + cost[k + 1, last]
                + sizes[first] * sizes[k + 1] * sizes[last + 1]
                for k in range(first, last)
            }
            cuts[first, last] = min(prices, key=prices.__getitem__)
            cost[first, last] = prices[cuts[first, last]]
    return cuts


def _chain(given: list[Tensor], cuts: dict[tuple[int, int], int]) -> Tensor:
    def product(first: int, last: int) -> Tensor:
        if first == last:
            return given[first]
        k = cuts[first, last]
        return infinicore.matmul(product(first, k), product(k + 1, last))

    return product(0, len(given) - 1)


def tensorinv(A: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of a tensor, taken as a matrix whose rows are its first `ind` dimensions.

    >>> infinicore.linalg.tensorinv(infinicore.eye(4).reshape(4, 2, 2), 1).shape
    infinicore.Size([2, 2, 4])
    """
    expect(ind > 0, "tensorinv", "ind", ind, "1 or more", RuntimeError)
    rows, columns = A.shape[:ind], A.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise RuntimeError("tensorinv: expected as many elements before ind as behind it")
    inverse = infinicore.linalg.inv(A.reshape(math.prod(rows), -1))
    return into(out, inverse.reshape((*columns, *rows)))  # type: ignore[no-any-return]


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """The solution X of tensordot(A, X, X.ndim) = B.

    >>> infinicore.linalg.tensorsolve(infinicore.eye(4).reshape(4, 2, 2), infinicore.ones(4)).shape
    infinicore.Size([2, 2])
    """
    if dims is not None:
        A = infinicore.movedim(A, tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = A.shape[B.ndim :]
    made = infinicore.linalg.solve(A.reshape(B.numel(), math.prod(shape)), B.reshape(-1))
    return into(out, made.reshape(tuple(shape)))  # type: ignore[no-any-return]
