"""Householder reflectors: QR factors of a matrix, and products with Q."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import infinicore
from infinicore._function import traced, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, need_tensor
from infinicore.functions.linalg import packed


class Reflectors(NamedTuple):
    """R above the reflectors, which have an implicit 1 on the diagonal, and their factors tau."""

    a: Tensor
    tau: Tensor


def _conj(x: Tensor) -> Tensor:
    return x.conj() if x.dtype.is_complex else x


def _adjoint(x: Tensor) -> Tensor:
    return _conj(x.transpose(-2, -1))


def _reflector(column: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """v with v[0] = 1, tau and beta, with (I - tau v v^H)^H column = beta e0: LAPACK's choice."""
    first, rest = column[..., :1], column[..., 1:]
    tail = infinicore.linalg.vector_norm(rest, 2, -1, True)
    real = first.real if column.dtype.is_complex else first
    length = infinicore.hypot(infinicore.abs(first), tail)
    beta = infinicore.where(real > 0, -length, length)
    idle = tail == 0
    if column.dtype.is_complex:
        idle = idle & (first.imag == 0)
    safe = infinicore.where(idle, infinicore.ones_like(beta), beta)
    tau = (safe - first) / safe
    divisor = infinicore.where(idle, infinicore.ones_like(first), first - safe)
    rest = infinicore.where(idle, infinicore.zeros_like(rest), rest / divisor)
    tau = infinicore.where(idle, infinicore.zeros_like(tau), tau)
    beta = infinicore.where(idle, first, beta.to(first.dtype))
    return rest, tau, beta


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """QR factors in LAPACK's form: R in the upper triangle, and below it the reflectors whose
    product is Q, with their factors `tau`.

    >>> infinicore.geqrf(infinicore.tensor([[3.], [4.]])).a
    tensor([[-5.0000],
            [ 0.5000]])
    """
    need_tensor("geqrf", "input", input)
    expect(input.ndim >= 2, "geqrf", "input.ndim", input.ndim, "2 or more")
    rows, columns = input.shape[-2:]
    if packed.is_small(input, min(rows, columns), packed.FACTORED):
        found = Reflectors(*packed.geqrf(input))
        return found if out is None else write("geqrf", out, found)
    a = input.clone()
    taus = []
    for i in range(min(rows, columns)):
        rest, tau, beta = _reflector(a[..., i:, i])
        right = a[..., i:, i + 1 :]
        if right.shape[-1]:
            v = infinicore.cat([infinicore.ones_like(beta), rest], -1)
            across = (_conj(v).unsqueeze(-2) @ right) * _conj(tau).unsqueeze(-1)
            right.copy_(right - v.unsqueeze(-1) * across)
        a[..., i:, i].copy_(infinicore.cat([beta, rest], -1))
        taus.append(tau)
    empty = input.new_empty(*input.shape[:-2], 0)
    result = Reflectors(a, infinicore.cat(taus, -1) if taus else empty)
    return result if out is None else write("geqrf", out, result)


def reflected(a: Tensor, tau: Tensor, other: Tensor | None, transpose: bool) -> Tensor:
    """Q @ other with the Q of reflectors, or its adjoint @ other if `transpose`; the first columns
    of Q if there is no `other`.

    A product of reflections is I - V T V^H, where T^-1 = diag(1 / tau) + triu(V^H V, 1).
    """
    rows, count = a.shape[-2], tau.shape[-1]
    kind, columns = a.dtype, a.shape[-1] if other is None else other.shape[-1]
    if a.device.type == "cpu":  # complex; reflectors that are not orthogonal may lose digits
        wide = infinicore.complex128
        a, tau, other = a.to(wide), tau.to(wide), other if other is None else other.to(wide)
    eye = functools.partial(infinicore.eye, dtype=a.dtype, device=a.device)
    if not (count and columns):
        if other is None:
            other = eye(rows, columns).expand(*a.shape[:-2], rows, columns)
        return other.to(kind).clone()
    v = infinicore.tril(a[..., :count], -1) + eye(rows, count)
    factors = tau.unsqueeze(-1)
    inner = infinicore.triu(_adjoint(v) @ v, 1) * factors + eye(count)
    if other is None:  # the identity, which is not written out
        moved = infinicore.solve(inner, factors * _adjoint(v)[..., :columns])
        made = v @ -moved
        infinicore.diagonal(made, 0, -2, -1).add_(1)
        return made.to(kind)
    if transpose:
        moved = _conj(factors) * infinicore.solve(_adjoint(inner), _adjoint(v) @ other)
    else:
        moved = infinicore.solve(inner, factors * (_adjoint(v) @ other))
    return (other - v @ moved).to(kind)


@traced
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool = True,
    transpose: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Q @ other, or other @ Q if not `left`, with the Q of `input` and `tau` from `geqrf`, or its
    adjoint if `transpose`.

    >>> a, tau = infinicore.geqrf(infinicore.tensor([[3.], [4.]]))
    >>> infinicore.ormqr(a, tau, infinicore.tensor([[5.], [0.]]), transpose=True).round()
    tensor([[-3.],
            [-4.]])
    """
    for argument, each in (("input", input), ("other", other)):
        expect(each.ndim >= 2, "ormqr", f"{argument}.ndim", each.ndim, "2 or more")
    rows, count = input.shape[-2], tau.shape[-1]
    side = other.shape[-2 if left else -1]
    expect(side == rows, "ormqr", f"size {-2 if left else -1} of other", side, f"{rows}")
    fits = count <= input.shape[-1]
    expect(fits, "ormqr", "the last size of tau", count, f"at most {input.shape[-1]}")
    lead = tuple(input.shape[:-2])
    expect_shape(tuple(tau.shape[:-1]) == lead, "ormqr", "tau", tau, f"{lead} in front")
    if packed.is_small(input, count, packed.REFLECTED):
        made = packed.ormqr(input, tau, other, left, transpose)
    elif left:
        made = reflected(input, tau, other, transpose)
    else:
        made = _adjoint(reflected(input, tau, _adjoint(other), not transpose)).contiguous()
    return made if out is None else write("ormqr", out, made)  # type: ignore[no-any-return]
