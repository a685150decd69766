"""Products with a weight."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import category, float64
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape
from infinicore.functions._operands import exact_floats
from infinicore.functions.matmul.matmul import _product


def _matrix_product(rows: Tensor, columns: Tensor, alpha: float = 1.0, out: Any = None) -> Tensor:
    """alpha * rows [M, K] @ columns [K, N], possibly batched."""
    if rows.dtype is float64 and alpha != 1:  # the operator's factor is a float32
        return emit("mul", emit("gemm", rows, columns), float(alpha), out=out)
    return emit("gemm", rows, columns, alpha=float(alpha), out=out)


@function
def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """alpha * (input @ weight.T) + bias: input [..., in], weight [out, in] (or [in]), bias [out].

    >>> F.linear(infinicore.ones(2, 3), infinicore.ones(1, 3))
    tensor([[3.],
            [3.]])
    """
    expect(weight.ndim in (1, 2), "linear", "weight.ndim", weight.ndim, "1 or 2")
    fits = input.ndim > 0 and input.shape[-1] == weight.shape[-1]
    expect_shape(fits, "linear", "input", input, f"[..., {weight.shape[-1]}]")
    table = weight if weight.ndim == 2 else weight.unsqueeze(0)
    width, count = table.shape[1], table.shape[0]
    shape = (*input.shape[:-1], *weight.shape[:-1])
    rows = input.numel() // width if width else _count(input.shape[:-1])
    if bias is not None:
        expect_shape(
            bias.ndim <= 1 and bias.numel() in (1, count), "linear", "bias", bias, f"[{count}]"
        )
    kind = result_type(input, weight)
    if category(kind) < 2:
        exact = _product(input, weight.transpose(0, 1) if weight.ndim == 2 else weight, alpha)
        exact = exact if bias is None else emit("add", exact, bias)
        return exact if out is None else write("linear", out, exact)
    folded, table = cast_to(input, kind).reshape(rows, width), cast_to(table, kind)
    # Results are written directly to `out` if it can be viewed as a matrix.
    flat = None
    if isinstance(out, _core.Tensor) and tuple(out.shape) == shape and out.dtype is kind:
        flat = _core.try_view(out, rows, count)
    if bias is None:
        result = _matrix_product(folded, table.transpose(0, 1), alpha, flat)
    else:
        made = _matrix_product(folded, table.transpose(0, 1), alpha)
        result = emit("add", made, bias, out=flat)
    if flat is not None:
        return out  # type: ignore[no-any-return]
    result = result.view(*shape)
    return result if out is None else write("linear", out, result)


def _count(shape: Any) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@function
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 [..., I] and input2 [..., J] with weight [O, I, J]: for each o the sum of
    input1[i] * weight[o, i, j] * input2[j], plus bias [O].

    >>> ones = infinicore.ones(1, 2)
    >>> F.bilinear(ones, ones, infinicore.ones(1, 2, 2))
    tensor([[4.]])
    """
    expect(weight.ndim == 3, "bilinear", "weight.shape", tuple(weight.shape), "three dimensions")
    count, left, right = weight.shape
    found = (input1.shape[-1:], input2.shape[-1:])
    expect(
        tuple(found[0]) == (left,) and tuple(found[1]) == (right,),
        "bilinear",
        "the size of the inputs' last dimensions",
        (tuple(found[0]), tuple(found[1])),
        f"{left} and {right}",
    )
    expect(
        tuple(input1.shape[:-1]) == tuple(input2.shape[:-1]),
        "bilinear",
        "input2.shape",
        tuple(input2.shape),
        f"that of input1 up to the last dimension, {tuple(input1.shape[:-1])}",
    )
    kind = result_type(input1, input2, weight)
    input1, input2, weight = (exact_floats(each) for each in (input1, input2, weight))
    # [rows, I] @ [I, O * J], then with input2 over J.
    rows = _count(input1.shape[:-1])
    spread = weight.permute(1, 0, 2).reshape(left, count * right)
    half = _matrix_product(input1.reshape(rows, left), spread).view(rows, count, right)
    result = emit("sum", emit("mul", half, input2.reshape(rows, 1, right)), dim=[2])
    result = cast_to(result, kind)
    if bias is not None:
        result = emit("add", result, bias)
    return result.view(*input1.shape[:-1], count)  # type: ignore[no-any-return]
