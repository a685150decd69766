"""LDL factors of symmetric and Hermitian matrices, which may be indefinite, by the Bunch-Kaufman
method, as in LAPACK's sytrf and hetrf. The CPU has kernels for real matrices; otherwise all
matrices of a batch are processed step by step together."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore import return_types
from infinicore._tensor import Tensor
from infinicore.functions.linalg import packed
from infinicore.linalg._matrices import conjugate, floats, into, matrices
from infinicore.linalg._solvers import LinAlgError

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]

_ALPHA = (1 + math.sqrt(17)) / 8  # limits the growth of elements


def _wide(x: Tensor) -> Tensor:
    return x.to(infinicore.complex128 if x.dtype.is_complex else infinicore.float64)


def _measure(x: Tensor) -> Tensor:
    """The absolute value that LAPACK uses to choose a pivot."""
    return abs(x.real) + abs(x.imag) if x.dtype.is_complex else abs(x)


def _exchanged(x: Tensor, one: Tensor, two: Tensor, dim: int) -> Tensor:
    """Exchanges rows (dim 1) or columns (dim 2) `one` and `two` of each matrix."""
    place = infinicore.arange(x.shape[dim], device=x.device).unsqueeze(0)
    one, two = one.unsqueeze(1), two.unsqueeze(1)
    order = infinicore.where(place == one, two, infinicore.where(place == two, one, place))
    index = order.unsqueeze(3 - dim).expand(*x.shape).contiguous()
    return infinicore.gather(x.contiguous(), dim, index)


def _choice(A: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The row that is exchanged at step k, and whether the pivot is a block of two rows."""
    count, n = A.shape[:2]
    own = infinicore.full((count,), k, dtype=infinicore.int64, device=A.device)
    if k + 1 == n:
        return own, own != own
    here = _measure(A[:, k, k])
    largest, place = infinicore.max(_measure(A[:, k + 1 :, k]), 1)
    place = place.to(infinicore.int64) + k + 1
    index = place.view(count, 1, 1).expand(count, 1, n).contiguous()
    row = _measure(infinicore.gather(A.contiguous(), 1, index)[:, 0])
    at = infinicore.arange(n, device=A.device).unsqueeze(0)
    there = infinicore.gather(row, 1, place.unsqueeze(1))[:, 0]
    outside = (at < k) | (at == place.unsqueeze(1))
    other = infinicore.amax(infinicore.where(outside, 0.0, row), 1)
    stays = (here >= _ALPHA * largest) | (here * other >= _ALPHA * largest * largest)
    is_single = stays | (there >= _ALPHA * other)
    return infinicore.where(stays, own, place), infinicore.logical_not(is_single)


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


def _factors(A: Tensor, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    """LD, pivots and info of A [count, n, n]; only the lower triangle is read."""
    count, n = A.shape[:2]
    turned = conjugate if hermitian else (lambda x: x)
    A = infinicore.tril(A)
    if hermitian and A.dtype.is_complex:  # the diagonal is real
        A = A - infinicore.diag_embed(infinicore.diagonal(A, 0, 1, 2).imag * 1j)
    A = A + turned(infinicore.tril(A, -1).transpose(1, 2))
    made = infinicore.zeros_like(A)
    pivots = infinicore.zeros((count, n), dtype=infinicore.int64, device=A.device)
    info = pivots.sum(1)
    is_second = info != info
    last = info
    for k in range(n):
        chosen, is_pair = _choice(A, k)
        own = infinicore.full_like(chosen, k)
        is_pair = is_pair & infinicore.logical_not(is_second)
        chosen = infinicore.where(is_second, own, chosen)
        place = infinicore.where(is_pair, own + 1, own)
        A = _exchanged(_exchanged(A, place, chosen, 1), place, chosen, 2)
        signed = infinicore.where(is_pair, -chosen - 1, chosen + 1)
        pivots[:, k] = infinicore.where(is_second, last, signed)
        last = signed
        if k + 1 < n:
            A = infinicore.where(
                is_pair.view(count, 1, 1), _pair_step(A, made, k, is_pair, turned), A
            )
        is_single = infinicore.logical_not(is_pair | is_second)
        zero = is_single & (A[:, k, k] == 0)
        info = infinicore.where(zero & (info == 0), k + 1, info)
        A = infinicore.where(
            is_single.view(count, 1, 1), _single_step(A, made, k, is_single, turned), A
        )
        is_second = is_pair
    return made, pivots.to(infinicore.int32), info.to(infinicore.int32)


def _single_step(A: Tensor, made: Tensor, k: int, wanted: Tensor, turned: Any) -> Tensor:
    """The rest of A after one pivot, whose column is written to `made` where requested."""
    pivot = A[:, k, k].unsqueeze(1)
    below = A[:, k + 1 :, k] / infinicore.where(pivot == 0, infinicore.ones_like(pivot), pivot)
    wanted = wanted.unsqueeze(1)
    made[:, k : k + 1, k] = infinicore.where(wanted, pivot, made[:, k : k + 1, k])
    made[:, k + 1 :, k] = infinicore.where(wanted, below, made[:, k + 1 :, k])
    rest = A.clone()
    rest[:, k + 1 :, k + 1 :] = A[:, k + 1 :, k + 1 :] - _outer(below * pivot, turned(below))
    return rest


def _pair_step(A: Tensor, made: Tensor, k: int, wanted: Tensor, turned: Any) -> Tensor:
    """Like `_single_step`, with a block of two rows and columns as the pivot."""
    (a, c), (b, d) = ([A[:, i, j].unsqueeze(1) for j in (k, k + 1)] for i in (k, k + 1))
    scale = a * d - b * c
    scale = infinicore.where(wanted.unsqueeze(1), scale, infinicore.ones_like(scale))
    one, two = A[:, k + 2 :, k], A[:, k + 2 :, k + 1]
    left, right = (one * d - two * b) / scale, (two * a - one * c) / scale
    wanted = wanted.unsqueeze(1)
    columns = ((k, k, a), (k + 1, k, b), (k + 1, k + 1, d))
    for row, column, value in columns:
        place = made[:, row : row + 1, column]
        made[:, row : row + 1, column] = infinicore.where(wanted, value, place)
    for column, value in ((k, left), (k + 1, right)):
        place = made[:, k + 2 :, column]
        made[:, k + 2 :, column] = infinicore.where(wanted, value, place)
    rest = A.clone()
    update = _outer(left, turned(one)) + _outer(right, turned(two))
    rest[:, k + 2 :, k + 2 :] = A[:, k + 2 :, k + 2 :] - update
    return rest


def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """L, without its unit diagonal, and D in one matrix, and the row exchanges, counted from 1: A =
    P @ L @ D @ L.mT @ P.mT, with L.mH if `hermitian`. D has blocks of one row, or of two rows with
    negative pivots; only the lower triangle of A is read.

    >>> infinicore.linalg.ldl_factor(infinicore.eye(2)).pivots
    tensor([1, 2], dtype=infinicore.int32)
    """
    packed, pivots, _ = _factored("ldl_factor", A, hermitian, True)
    return into(out, return_types.linalg_ldl_factor(packed, pivots))


def ldl_factor_ex(
    A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """Like `ldl_factor`, with the index, counted from 1, of the first zero of D; 0 if there is
    none.

    >>> infinicore.linalg.ldl_factor_ex(infinicore.eye(2)).info
    tensor(0, dtype=infinicore.int32)
    """
    return into(
        out,
        return_types.linalg_ldl_factor_ex(*_factored("ldl_factor_ex", A, hermitian, check_errors)),
    )


def _factored(name: str, A: Tensor, hermitian: bool, check_errors: bool) -> list[Tensor]:
    A = matrices(name, A, True)
    batch, n = A.shape[:-2], A.shape[-1]
    if packed.has_kernels(A):
        made, pivots, info = packed.ldl_factor(A)
    else:
        made, pivots, info = _factors(_wide(A).reshape((math.prod(batch), n, n)), hermitian)
        made = made.to(A.dtype).reshape(tuple(A.shape))
        pivots, info = pivots.reshape((*batch, n)), info.reshape(tuple(batch))
    if check_errors and not infinicore._core.is_recording() and bool(info.any()):
        raise LinAlgError(f"{name}: a pivot is 0")
    return [made, pivots, info]


def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Any = None
) -> Tensor:
    """The solution X of A @ X = B, given the factors from `ldl_factor`.

    >>> factors = infinicore.linalg.ldl_factor(infinicore.eye(2))
    >>> infinicore.linalg.ldl_solve(*factors, infinicore.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    LD, B = matrices("ldl_solve", LD, True, "LD"), floats(B)
    if packed.has_kernels(LD) and not B.dtype.is_complex:
        return into(out, packed.ldl_solve(LD, pivots, B))  # type: ignore[no-any-return]
    shape = infinicore.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    count, n, columns = math.prod(shape), LD.shape[-1], B.shape[-1]
    factors = _wide(LD).expand(*shape, n, n).reshape((count, n, n))
    swaps = pivots.to(infinicore.int64).expand(*shape, n).reshape((count, n))
    x = _wide(B).expand(*shape, n, columns).reshape((count, n, columns))
    made = _solved(factors, swaps, x, hermitian)
    return into(out, made.to(B.dtype).reshape((*shape, n, columns)))  # type: ignore[no-any-return]


def _solved(LD: Tensor, pivots: Tensor, x: Tensor, hermitian: bool) -> Tensor:
    n = LD.shape[-1]
    turned = conjugate if hermitian else (lambda each: each)
    # Which columns begin a block of two, and which end one.
    is_pair = pivots < 0
    begins: list[Tensor] = []
    for k in range(n):
        is_first = infinicore.logical_not(begins[-1]) if k else is_pair[:, 0]
        begins.append(is_pair[:, k] & is_first)
    rows = abs(pivots) - 1
    for k in range(n):
        pair = begins[k]
        ends = begins[k - 1] if k else pair != pair
        own = infinicore.full_like(rows[:, k], k)
        # The second row of a block is exchanged with its first.
        place = infinicore.where(pair, own + 1, own)
        x = _exchanged(x, place, infinicore.where(ends, place, rows[:, k]), 1)
        single = _forward_single(LD, x, k)
        whole = _forward_pair(LD, x, k, turned) if k + 1 < n else single
        x = _chosen(pair, whole, _chosen(ends, x, single))
    for k in range(n - 1, -1, -1):
        pair = begins[k]
        ends = begins[k - 1] if k else pair != pair
        after = infinicore.where(pair, k + 2, k + 1).unsqueeze(1)
        # Below the diagonal of a block is an entry of D, not L.
        kept = infinicore.arange(n, device=x.device).unsqueeze(0) >= after
        column = infinicore.where(kept, turned(LD[:, :, k]), infinicore.zeros_like(LD[:, :, k]))
        x = x.clone()
        x[:, k] = x[:, k] - infinicore.sum(column.unsqueeze(-1) * x, 1)
        own = infinicore.full_like(rows[:, k], k)
        place = infinicore.where(pair, own + 1, own)
        x = _exchanged(x, place, infinicore.where(ends, place, rows[:, k]), 1)
    return x


def _chosen(condition: Tensor, one: Tensor, two: Tensor) -> Tensor:
    return infinicore.where(condition.view(-1, 1, 1), one, two)  # type: ignore[no-any-return]


def _forward_single(LD: Tensor, x: Tensor, k: int) -> Tensor:
    made = x.clone()
    made[:, k + 1 :] = x[:, k + 1 :] - _outer(LD[:, k + 1 :, k], x[:, k])
    made[:, k] = x[:, k] / LD[:, k, k].unsqueeze(1)
    return made


def _forward_pair(LD: Tensor, x: Tensor, k: int, turned: Any) -> Tensor:
    made = x.clone()
    one, two = x[:, k], x[:, k + 1]
    rest = _outer(LD[:, k + 2 :, k], one) + _outer(LD[:, k + 2 :, k + 1], two)
    made[:, k + 2 :] = x[:, k + 2 :] - rest
    a, b, d = (LD[:, i, j].unsqueeze(1) for i, j in ((k, k), (k + 1, k), (k + 1, k + 1)))
    c = turned(b)
    scale = a * d - b * c
    made[:, k], made[:, k + 1] = (one * d - two * c) / scale, (two * a - one * b) / scale
    return made
