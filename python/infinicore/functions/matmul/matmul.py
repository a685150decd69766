"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category, float32
from infinicore._emit import cast_to, check_out_type, emit, placed, result_type
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_tensor
from infinicore.op._shapes import broadcast


def _product(
    a: Tensor, b: Tensor, alpha: float = 1.0, out: Any = None, name: str = "matmul"
) -> Tensor:
    """alpha * a @ b, with torch's rules for vectors and batches."""
    for each, argument in ((a, "input"), (b, "other")):
        if not isinstance(each, Tensor) or not each.ndim:
            raise RuntimeError(f"{name}: {argument} has no dimensions: expected a vector or more")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise RuntimeError(
            f"{name}: shapes {tuple(a.shape)} and {tuple(b.shape)} don't fit: {a.shape[-1]} columns"
            f" meet {b.shape[-2 if b.ndim > 1 else 0]} rows"
        )
    kind = result_type(a, b)
    a, b = cast_to(a, kind), cast_to(b, kind)
    rows, columns = a if a.ndim > 1 else a.unsqueeze(0), b if b.ndim > 1 else b.unsqueeze(1)
    try:
        batch = broadcast([tuple(rows.shape[:-2]), tuple(columns.shape[:-2])])
    except ValueError:
        raise RuntimeError(
            f"{name}: the batches of {tuple(a.shape)} and {tuple(b.shape)} do not broadcast"
        ) from None
    outer_sizes = [*rows.shape[-2:-1]] if a.ndim > 1 else []
    shape = (*batch, *outer_sizes, *(columns.shape[-1:] if b.ndim > 1 else ()))
    if out is not None and tuple(out.shape) != shape:
        raise ValueError(f"{name}: out has shape {tuple(out.shape)}: expected {shape}")
    if out is not None:
        check_out_type(name, out, kind)
    if kind.is_complex and alpha != 1:
        return emit("mul", _product(a, b, name=name), alpha, out=out)
    if category(kind) < 2 and alpha != 1:
        expect(alpha == int(alpha), name, "alpha", alpha, "an integer for integers", RuntimeError)
        return emit("mul", _product(a, b, name=name), int(alpha), out=out)
    if a.ndim == b.ndim == 1 and alpha == 1 and category(kind) > 1:
        # A matrix product would add as many terms one after the other.
        return placed(name, emit("dot", a, b), out)
    if kind is bool_:  # true if the sum of products is nonzero
        made = _product(cast_to(a, float32), cast_to(b, float32), name=name)
        return placed(name, cast_to(made, kind), out)
    target = out
    if out is not None and (
        out.dtype is not kind or _core.may_overlap(out, a) or _core.may_overlap(out, b)
    ):
        target = None
    if target is not None:
        target = target if b.ndim > 1 else target.unsqueeze(-1)
        target = target if a.ndim > 1 else target.unsqueeze(-2)
    made = _matrices(rows, columns, batch, alpha, target)
    if made is target:
        return out
    return placed(name, made.view(*shape) if shape else made.view(()), out)


def _matrices(a: Tensor, b: Tensor, batch: tuple[int, ...], alpha: float, target: Any) -> Tensor:
    """Merges batches into one dimension, or into the rows of one matrix. Returns `target` if that
    was written, else a contiguous result that has yet to be reshaped."""
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    if math.prod(b.shape[:-2]) == 1:
        # A shared second matrix: the batch is merged into the rows.
        flat = _core.try_view(a, -1 if a.numel() else math.prod(batch) * m, k)
        if flat is not None:
            b2 = b.view(k, n) if b.ndim > 2 else b
            into = None if target is None else _core.try_view(target, flat.shape[0], n)
            made = _multiplied(flat, b2, alpha, into)
            return target if into is not None else made
    a, b = a.expand(*batch, m, k), b.expand(*batch, k, n)
    count = math.prod(batch)
    flat_a, flat_b = a.reshape(count, m, k), b.reshape(count, k, n)
    into = None if target is None else _core.try_view(target, count, m, n)
    made = _multiplied(flat_a, flat_b, alpha, into)
    return target if into is not None else made


def _multiplied(a: Tensor, b: Tensor, alpha: float, into: Any) -> Tensor:
    """alpha * a @ b of matrices or batches of them; without alpha for integers."""
    if category(a.dtype) < 2:
        return emit("integer_matmul", a, b.transpose(-1, -2), out=into)
    return emit("gemm", a, b, alpha=alpha, out=into)


@function
def matmul(input: Tensor, other: Tensor, *, alpha: float = 1.0, out: Any = None) -> Tensor:
    """alpha * input @ other: of matrices [.., M, K] and [.., K, N], whose leading dimensions are
    batches and broadcast, or of vectors [K].

    >>> infinicore.matmul(infinicore.ones(2, 3), infinicore.ones(3))
    tensor([3., 3.])
    """
    return _product(input, other, alpha, out)


def _check_ranks(name: str, **tensors: Any) -> None:
    for argument, (tensor, rank) in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.ndim != rank:
            got = (
                f"{tensor.ndim} dimensions" if isinstance(tensor, Tensor) else type(tensor).__name__
            )
            raise RuntimeError(f"{name}: {argument} has {got}: expected a tensor of {rank}")


@function
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """The product of two matrices.

    >>> infinicore.mm(infinicore.ones(1, 2), infinicore.ones(2, 1))
    tensor([[2.]])
    """
    _check_ranks("mm", input=(input, 2), mat2=(mat2, 2))
    return _product(input, mat2, 1.0, out, "mm")


@function
def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Products of a batch of matrices [B, M, K] with another [B, K, N].

    >>> infinicore.bmm(infinicore.ones(2, 1, 3), infinicore.ones(2, 3, 1)).shape
    infinicore.Size([2, 1, 1])
    """
    _check_ranks("bmm", input=(input, 3), mat2=(mat2, 3))
    if input.shape[0] != mat2.shape[0]:
        raise RuntimeError(
            f"bmm: batches of {input.shape[0]} and {mat2.shape[0]}: expected equal ones"
        )
    return _product(input, mat2, 1.0, out, "bmm")


@function
def bmm_strided(input: Tensor, mat2: Tensor, *, out: Any) -> Tensor:
    """Products of a batch of matrices, written into `out`, which may have any strides.

    >>> a, b, out = infinicore.ones(1, 1, 2), infinicore.ones(1, 2, 1), infinicore.empty(1, 1, 1)
    >>> infinicore.bmm_strided(a, b, out=out)
    tensor([[[2.]]])
    """
    _check_ranks("bmm_strided", input=(input, 3), mat2=(mat2, 3))
    if not isinstance(out, Tensor):
        raise TypeError(f"bmm_strided: out is {type(out).__name__}: expected a tensor")
    return _product(input, mat2, 1.0, out, "bmm_strided")


@function
def mv(input: Tensor, vec: Tensor, *, out: Any = None) -> Tensor:
    """The product of a matrix and a vector.

    >>> infinicore.mv(infinicore.ones(2, 3), infinicore.ones(3))
    tensor([3., 3.])
    """
    _check_ranks("mv", input=(input, 2), vec=(vec, 1))
    return _product(input, vec, 1.0, out, "mv")


@function
def inner(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """Inner products along the last dimension of both.

    >>> infinicore.inner(infinicore.ones(2, 3), infinicore.ones(4, 3)).shape
    infinicore.Size([2, 4])
    """
    if not input.ndim or not other.ndim:
        return placed("inner", emit("mul", input, other), out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: last sizes are {input.shape[-1]} and {other.shape[-1]}: expected equal ones"
        )
    if input.ndim == other.ndim == 1:
        return _product(input, other, 1.0, out, "inner")
    size = input.shape[-1]
    rows = input.reshape(math.prod(input.shape[:-1]), size)
    columns = other.reshape(math.prod(other.shape[:-1]), size)
    made = _product(rows, columns.transpose(0, 1), 1.0, None, "inner")
    shape = (*input.shape[:-1], *other.shape[:-1])
    return placed("inner", made.view(*shape) if shape else made.view(()), out)


@function
def outer(input: Tensor, vec2: Tensor, *, out: Any = None) -> Tensor:
    """The outer product of two vectors.

    >>> infinicore.outer(infinicore.tensor([1, 2]), infinicore.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    _check_ranks("outer", input=(input, 1), vec2=(vec2, 1))
    return emit("mul", input.unsqueeze(1), vec2, out=out)


@function
def _tensordot(input: Tensor, other: Tensor, one: Any, two: Any) -> Tensor:
    first = [dim_of("tensordot", input, each, "dims") for each in one]
    second = [dim_of("tensordot", other, each, "dims") for each in two]
    rest, more = (
        [d for d in range(tensor.ndim) if d not in taken]
        for tensor, taken in ((input, first), (other, second))
    )
    for i, j in zip(first, second, strict=False):  # a dimension of one element broadcasts
        if input.shape[i] == 1 and other.shape[j] != 1:
            other = emit("sum", other, dim=[j], keepdim=True)
        elif other.shape[j] == 1 and input.shape[i] != 1:
            input = emit("sum", input, dim=[i], keepdim=True)
    sizes = [input.shape[d] for d in first]
    if sizes != [other.shape[d] for d in second]:
        raise RuntimeError(
            f"tensordot: sizes {sizes} meet {[other.shape[d] for d in second]}: expected equal ones"
        )
    shape = [*(input.shape[d] for d in rest), *(other.shape[d] for d in more)]
    inside = math.prod(sizes)
    left = input.permute(*rest, *first) if input.ndim else input
    right = other.permute(*second, *more) if other.ndim else other
    left = left.reshape(math.prod(input.shape[d] for d in rest), inside)
    right = right.reshape(inside, math.prod(other.shape[d] for d in more))
    made = _product(left, right, 1.0, None, "tensordot")
    return made.view(*shape) if shape else made.view(())


def tensordot(input: Tensor, other: Tensor, dims: Any = 2, *, out: Any = None) -> Tensor:
    """Sums of products over several dimensions: the last n of the first with the first n of the
    second, or those in two lists.

    >>> infinicore.tensordot(infinicore.ones(2, 3), infinicore.ones(3, 4), 1).shape
    infinicore.Size([2, 4])
    """
    for each in (input, other):
        need_tensor("tensordot", "input", each)
    if isinstance(dims, int):
        if not 0 <= dims <= min(input.ndim, other.ndim):
            raise RuntimeError(f"tensordot: dims is {dims}: expected 0 to the number of dimensions")
        one, two = tuple(range(input.ndim - dims, input.ndim)), tuple(range(dims))
    else:
        one, two = (tuple(each) if isinstance(each, (tuple, list)) else (each,) for each in dims)
    return _tensordot(input, other, one, two, out=out)


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices.

    >>> infinicore.chain_matmul(infinicore.ones(1, 2), infinicore.ones(2, 3), infinicore.ones(3, 1))
    tensor([[6.]])
    """
    made = matrices[0]
    for each in matrices[1:]:
        made = mm(made, each)
    return made
