"""Matrices: determinants, inverses, factors, powers. Leading dimensions are batches."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._complex_emit import emit_conj
from infinicore._dtype import (
    category,
    complex64,
    float32,
    get_default_dtype,
    int64,
    promote_types,
)
from infinicore._emit import cast_to, emit, placed, tensor_for
from infinicore._function import function, traced
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank
from infinicore.functions._results import Eigen, Factors, SignAndLog, SingularValues
from infinicore.functions.copy.cat import _zeros_in, cat
from infinicore.functions.copy.flip import flip
from infinicore.functions.copy.views import broadcast_tensors, diagonal
from infinicore.functions.linalg import exponential
from infinicore.functions.matmul.matmul import _product
from infinicore.functions.scan.scan import cumprod
from infinicore.op._shapes import broadcast

_TYPES = ("F32", "F64", "C64", "C128")


def _matrices(name: str, input: Tensor, square: bool = True) -> Tensor:
    """The matrices in a type in which factors are computed."""
    if not isinstance(input, Tensor) or input.ndim < 2:
        raise RuntimeError(f"{name}: expected a tensor of 2 or more dimensions")
    if square and input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: the matrices are {input.shape[-2]} x {input.shape[-1]}: expected square ones"
        )
    if category(input.dtype) < 2:
        input = cast_to(input, get_default_dtype())
    if input.dtype._code in ("C16", "C32"):
        return cast_to(input, complex64)
    return input if input.dtype._code in _TYPES else cast_to(input, float32)


def _back(made: Tensor, like: Tensor) -> Tensor:
    """Results in the type of the input; absolute values of complex numbers stay real."""
    if category(like.dtype) < 2 or made.dtype._code in _TYPES[2:] or like.dtype.is_complex:
        return made
    return cast_to(made, like.dtype)


def _adjoint(x: Tensor) -> Tensor:
    return emit_conj(x.transpose(-1, -2))


@function
def det(input: Tensor) -> Tensor:
    """Determinants of square matrices.

    >>> infinicore.det(infinicore.tensor([[1., 2.], [3., 4.]]))
    tensor(-2.)
    """
    return _back(emit("det", _matrices("det", input)), input)


@function
def slogdet(input: Tensor) -> Any:
    """Signs of determinants, and logarithms of their absolute values.

    >>> infinicore.slogdet(infinicore.tensor([[1., 0.], [0., -1.]])).sign
    tensor(-1.)
    """
    sign, size = emit("slogdet", _matrices("slogdet", input))
    return SignAndLog(_back(sign, input), _back(size, input))


@function
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants; NaN where they are negative.

    >>> infinicore.logdet(infinicore.tensor([[2., 0.], [0., 0.5]]))
    tensor(0.)
    """
    sign, size = emit("slogdet", _matrices("logdet", input))
    if sign.dtype.is_complex:
        return emit("add", emit("log", sign), size)
    nan = tensor_for(math.nan, size.dtype, size.device)
    return _back(emit("where", emit("less", sign, 0), nan, size), input)


@function
def inverse(input: Tensor) -> Tensor:
    """Inverses of square matrices.

    >>> infinicore.inverse(infinicore.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _back(emit("inverse", _matrices("inverse", input)), input)


@function
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of A @ X = B (X @ A = B if not `left`); B may be a vector for each matrix.

    >>> infinicore.solve(infinicore.tensor([[2., 0.], [0., 4.]]), infinicore.tensor([2., 4.]))
    tensor([1., 1.])
    """
    a = _matrices("solve", A)
    kind = promote_types(a.dtype, B.dtype) if B.dtype.is_complex else a.dtype
    a, b = cast_to(a, kind), cast_to(B, kind)
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    if is_vector:
        b = b.unsqueeze(-1)
    if not left:
        a, b = a.transpose(-1, -2), b.transpose(-1, -2)
    batch = broadcast([tuple(a.shape[:-2]), tuple(b.shape[:-2])])
    a, b = a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    made = emit("solve", a, b)
    if not left:
        made = made.transpose(-1, -2)
    return _back(made.squeeze(-1) if is_vector else emit("rearrange", made), A)


@function
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Cholesky factors L of symmetric positive definite matrices, A = L @ L.T; or the upper ones.

    >>> infinicore.cholesky(infinicore.tensor([[4., 0.], [0., 9.]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    return _back(emit("cholesky", _matrices("cholesky", input), upper=upper), input)


@function
def qr(input: Tensor, some: bool = True) -> Any:
    """An orthogonal and an upper triangular factor of each matrix.

    >>> infinicore.qr(infinicore.ones(3, 2)).R.shape
    infinicore.Size([2, 2])
    """
    x = _matrices("qr", input, False)
    q, r = emit("qr", x)
    m, n = x.shape[-2:]
    if not some and m > n:
        q = cat([q, _complement(q)], -1)
        r = cat([r, _zeros_in((*r.shape[:-2], m - n, n), r)], -2)
    return Factors(_back(q, input), _back(r, input))


def _complement(u: Tensor) -> Tensor:
    """Columns that complete orthonormal ones to a basis."""
    m, n = u.shape[-2:]
    # The orthogonal complement of u has the eigenvalue 0, which comes first.
    shadow = _product(u, _adjoint(u))
    return emit("eigh", shadow)[1].narrow(u.ndim - 1, 0, m - n)


@function
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values S, the largest first, and U and V with U @ diag(S) @ V.T = input.

    >>> infinicore.svd(infinicore.tensor([[3., 0.], [0., 2.]])).S
    tensor([3., 2.])
    """
    if not compute_uv:
        x = _matrices("svd", input, False)
        batch, (m, n) = x.shape[:-2], x.shape[-2:]
        u, v = _zeros_in((*batch, m, m), x), _zeros_in((*batch, n, n), x)
        return SingularValues(_back(u, input), _back(emit("svd", x)[1], input), _back(v, input))
    u, s, vh = _svd(input, some)
    return SingularValues(u, s, emit("rearrange", _adjoint(vh)))


@function
def _svd(input: Tensor, some: bool) -> Any:
    """U, S and the conjugate transpose of V."""
    x = _matrices("svd", input, False)
    u, s, vh = emit("svd", x)
    m, n = x.shape[-2:]
    if not some and m > n:
        u = cat([u, _complement(u)], -1)
    if not some and n > m:
        vh = cat([vh, _adjoint(_complement(_adjoint(vh)))], -2)
    return _back(u, input), _back(s, input), _back(vh, input)


@function
def eigh(input: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric matrices, the smallest first, and eigenvectors as columns. Only the
    lower triangle is read; with UPLO "U" the upper one.

    >>> infinicore.eigh(infinicore.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    expect(UPLO in ("L", "U"), "eigh", "UPLO", repr(UPLO), "'L' or 'U'")
    x = _matrices("eigh", input)
    values, vectors = emit("eigh", x if UPLO == "L" else _adjoint(x))
    return Eigen(_back(values, input), _back(vectors, input))


@function
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Pseudo-inverses: singular values below rcond times the largest are treated as 0.

    >>> infinicore.pinverse(infinicore.tensor([[2., 0.], [0., 4.]])).shape
    infinicore.Size([2, 2])
    """
    x = _matrices("pinverse", input, False)
    if not x.numel():
        return _back(emit("rearrange", x.transpose(-1, -2)), input)
    u, s, vh = emit("svd", x)
    limit = emit("mul", emit("amax", s, dim=[s.ndim - 1], keepdim=True), rcond)
    zero = tensor_for(0, s.dtype, s.device)
    inverted = emit("where", emit("greater", s, limit), emit("reciprocal", s), zero)
    scaled = emit("mul", _adjoint(vh), inverted.unsqueeze(-2))
    return _back(_product(scaled, _adjoint(u)), input)


@function
def _matrix_exp(input: Tensor) -> Tensor:
    x = _matrices("matrix_exp", input)
    return _back(emit("matrix_exp", x), input)


def matrix_exp(input: Tensor, *, out: Any = None) -> Tensor:
    """The exponential of square matrices: the sum of input ** k / k!.

    >>> infinicore.matrix_exp(infinicore.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    made = exponential.by_products(input)
    if made is None:
        return _matrix_exp(input, out=out)  # type: ignore[no-any-return]
    return placed("matrix_exp", made, out)


@function
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    >>> infinicore.trace(infinicore.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    need_rank("trace", "input", input, 2)
    return emit("sum", diagonal(input), dim=[0])


@function
def vander(x: Tensor, N: int | None = None, increasing: bool = False, *, out: Any = None) -> Tensor:
    """The Vandermonde matrix: powers of a vector's elements as columns, the highest first, or last
    if `increasing`.

    >>> infinicore.vander(infinicore.tensor([1, 2, 3]), 3)
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    need_rank("vander", "x", x, 1)
    columns = x.shape[0] if N is None else N
    expect(columns >= 0, "vander", "N", N, "0 or more", RuntimeError)
    x = cast_to(x, int64) if category(x.dtype) < 2 else x
    made = _core.empty((x.shape[0], columns), x.dtype, x.device)
    if columns:
        first, rest = (0, 1) if increasing else (columns - 1, 0)
        one = tensor_for(1, x.dtype, x.device).expand(x.shape[0])
        emit("rearrange", one, out=made.select(1, first))
        powers = cumprod(x.unsqueeze(1).expand(x.shape[0], columns - 1), 1)
        powers = powers if increasing else flip(powers, 1)
        emit("rearrange", powers, out=made.narrow(1, rest, columns - 1))
    return placed("vander", made, out)


@function
def kron(a: Tensor, b: Tensor) -> Tensor:
    """The Kronecker product: each element of the first, multiplied by the whole second.

    >>> infinicore.kron(infinicore.tensor([1, 2]), infinicore.tensor([1, 1]))
    tensor([1, 1, 2, 2])
    """
    rank = max(a.ndim, b.ndim)
    one = (1,) * (rank - a.ndim) + tuple(a.shape)
    two = (1,) * (rank - b.ndim) + tuple(b.shape)
    left = a.reshape(*(each for size in one for each in (size, 1)))
    right = b.reshape(*(each for size in two for each in (1, size)))
    made = emit("mul", left, right) if rank else emit("mul", a, b)
    return made.view(*(x * y for x, y in zip(one, two, strict=True))) if rank else made


setattr(Tensor, "kron", kron)  # noqa: B010


@function
def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    a, b = ([each.select(dim, i) for i in range(3)] for each in (input, other))
    made = _core.empty(tuple(input.shape), promote_types(input.dtype, other.dtype), input.device)
    for at, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        place = made.select(dim, at)
        emit("sub", emit("mul", a[i], b[j]), emit("mul", a[j], b[i]), out=place)
    return made


@traced
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along a dimension: the first of size 3 if none is
    named.

    >>> infinicore.cross(infinicore.tensor([1, 0, 0]), infinicore.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor) and input.shape == other.shape):
        input, other = broadcast_tensors(input, other)
    if dim is None:
        found = [d for d, size in enumerate(input.shape) if size == 3]
        if not found:
            raise RuntimeError("cross: no dimension has size 3")
        dim = found[0]
    at = dim_of("cross", input, dim)
    if input.shape[at] != 3:
        raise RuntimeError(f"cross: dimension {at} has size {input.shape[at]}: expected 3")
    return _cross(input, other, at, out=out)
