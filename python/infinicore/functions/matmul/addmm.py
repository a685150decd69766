"""Matrix products, added to another tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._dtype import category, dtype
from infinicore._emit import cast_to, emit, placed, result_type, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions.matmul.matmul import _check_ranks, _product


def _factors(kind: dtype, *factors: float) -> list[float]:
    """Factors for tensors of a type: truncated for integers."""
    return [int(each) if category(kind) < 2 else each for each in factors]


def _grown(name: str, input: Tensor, shape: Sequence[int]) -> Tensor:
    try:
        return input.expand(*shape)
    except RuntimeError:
        raise RuntimeError(
            f"{name}: input has shape {tuple(input.shape)}: expected one that broadcasts to"
            f" {tuple(shape)}"
        ) from None


def _added(name: str, input: Tensor, made: Tensor, beta: float, out: Any) -> Tensor:
    """made + beta * input. The input is not read when beta is 0."""
    input = _grown(name, input, made.shape)
    if beta == 0:
        return placed(name, cast_to(made, result_type(input, made)), out)
    if beta != 1:
        input = emit("mul", input, tensor_for(beta, input.dtype, input.device))
    return emit("add", input, made, out=out)


@function
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """beta * input + alpha * mat1 @ mat2; the input broadcasts.

    >>> infinicore.addmm(infinicore.ones(1), infinicore.ones(1, 2), infinicore.ones(2, 1))
    tensor([[3.]])
    """
    _check_ranks("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    return _added("addmm", input, _product(mat1, mat2, alpha, None, "addmm"), beta, out)


@function
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """beta * input + alpha * batch1 @ batch2, matrix by matrix; the input broadcasts.

    >>> infinicore.baddbmm(infinicore.ones(1), infinicore.ones(1, 1, 2), infinicore.ones(1, 2, 1))
    tensor([[[3.]]])
    """
    _check_ranks("baddbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    alpha, beta = _factors(result_type(input, batch1, batch2), alpha, beta)
    return _added("baddbmm", input, _product(batch1, batch2, alpha, None, "baddbmm"), beta, out)


@function
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """beta * input + alpha * the sum of the products of a batch; the input broadcasts.

    >>> infinicore.addbmm(infinicore.zeros(1), infinicore.ones(2, 1, 3), infinicore.ones(2, 3, 1))
    tensor([[6.]])
    """
    _check_ranks("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"addbmm: shapes {tuple(batch1.shape)} and {tuple(batch2.shape)} don't fit"
        )
    shape = (batch1.shape[1], batch2.shape[2])
    alpha, beta = _factors(result_type(input, batch1, batch2), alpha, beta)
    kind = result_type(input, batch1, batch2)
    if category(kind) < 2 or kind.is_complex:
        # One product of the concatenated batches.
        left = batch1.transpose(0, 1).reshape(shape[0], batch1.shape[0] * batch1.shape[2])
        right = batch2.reshape(left.shape[1], shape[1])
        return _added("addbmm", input, _product(left, right, alpha, None, "addbmm"), beta, out)
    return emit("addbmm", input.expand(*shape), batch1, batch2, alpha=alpha, beta=beta, out=out)


@function
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """beta * input + alpha * mat @ vec; the input broadcasts.

    >>> infinicore.addmv(infinicore.ones(1), infinicore.ones(1, 2), infinicore.ones(2))
    tensor([3.])
    """
    _check_ranks("addmv", mat=(mat, 2), vec=(vec, 1))
    alpha, beta = _factors(result_type(input, mat, vec), alpha, beta)
    return _added("addmv", input, _product(mat, vec, alpha, None, "addmv"), beta, out)
