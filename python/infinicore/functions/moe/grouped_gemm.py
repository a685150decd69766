"""Grouped matrix products: rows times the weights of their experts.

Rows are ordered by expert: the first tokens_per_experts[0] belong to expert 0, and so on. In eager
mode the counts are read, and each expert's rows are multiplied by its weights. In a graph nothing
can be read: all rows are multiplied by all weights, and each row keeps its expert's result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infinicore import _core
from infinicore._dtype import int8
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import counting, store
from infinicore.functions.quant.quant import _product, _unpacked

# rows, expert -> their product
Part = Callable[[slice, int], Tensor]


def _check(
    name: str, out: Tensor, input: Tensor, weight: Tensor, counts: Tensor, transposed: bool
) -> tuple[int, int]:
    """The number of rows and of experts."""
    need_tensor(name, "input", input, 2)
    need_tensor(name, "weight", weight, 3)
    experts = weight.shape[0]
    need_shape(name, "tokens_per_experts", counts, experts)
    depth = weight.shape[2 if transposed else 1]
    fits = input.shape[1] == depth
    expect_shape(
        fits, name, "input", input, f"rows of {depth}, as the weight {tuple(weight.shape)} has"
    )
    need_shape(name, "out", out, input.shape[0], weight.shape[1 if transposed else 2])
    return input.shape[0], experts


def _run(
    name: str, out: Tensor, counts: Tensor, sorted_ids: Tensor | None, rows: int, part: Part
) -> None:
    experts = counts.shape[0]
    if _core.is_recording() or _core.is_tracing():
        ends = emit("cumsum", integers(name, "tokens_per_experts", counts), dim=0)
        numbers = counting(rows, out)
        owner = emit("searchsorted", ends, numbers, right=True)
        made: Any = None
        for expert in range(experts):
            here = part(slice(0, rows), expert)
            mine = (owner == expert).unsqueeze(1)
            made = emit("where", mine, here, 0.0 if made is None else made)
    else:
        made = _core.empty(tuple(out.shape), out.dtype, out.device)
        begin = 0
        for expert, count in enumerate(counts.tolist()):
            end = min(begin + max(int(count), 0), rows)
            if end > begin:
                store(made[begin:end], part(slice(begin, end), expert))
            begin = end
        if begin < rows:
            made[begin:].fill_(0)
    if sorted_ids is None:
        store(out, made)
        return
    places = integers(name, "sorted_token_ids", sorted_ids).reshape(-1)
    need_shape(name, "sorted_token_ids", places, rows)
    emit("index_copy", out, places, cast_to(made, out.dtype), dim=0, out=out)


def _bias(bias: Tensor | None, expert: int) -> Tensor | None:
    return None if bias is None else bias[expert]


def w16a16_group_gemm_(
    out: Tensor,
    input: Tensor,
    weight: Tensor,
    tokens_per_experts: Tensor,
    sorted_token_ids: Tensor | None = None,
    bias: Tensor | None = None,
    trans_weight: bool = True,
    is_decode: bool = False,
) -> None:
    """Rows of the input [M, K], grouped by `tokens_per_experts` [E], times their experts' weights
    [E, N, K] (or [E, K, N] without `trans_weight`), plus bias [E, N], into out [M, N]; row r goes
    to row sorted_token_ids[r] if these are given. `is_decode` is a hint that there are few rows.

    >>> out, weight = infinicore.zeros(2, 1), infinicore.tensor([[[1.0]], [[2.0]]])
    >>> counts = infinicore.tensor([1, 1])
    >>> infinicore.w16a16_group_gemm_(out, infinicore.ones(2, 1), weight, counts)
    >>> out.flatten()
    tensor([1., 2.])
    """
    name = "w16a16_group_gemm_"
    rows, _ = _check(name, out, input, weight, tokens_per_experts, trans_weight)
    weights = weight.transpose(1, 2) if trans_weight else weight

    def part(chosen: slice, expert: int) -> Tensor:
        made = input[chosen] @ weights[expert]
        return made if bias is None else made + bias[expert]

    _run(name, out, tokens_per_experts, sorted_token_ids, rows, part)


@function
def _w4a8_weights(weight: Tensor, transposed: bool) -> Tensor:
    if not transposed:
        return _unpacked(weight.transpose(1, 2).contiguous()).transpose(1, 2)
    return _unpacked(weight)


def _quantised(
    name: str,
    out: Tensor,
    input: Tensor,
    weight: Tensor,
    scales: tuple[Tensor, Tensor],
    counts: Tensor,
    sorted_ids: Tensor | None,
    bias: Tensor | None,
    transposed: bool,
) -> None:
    rows, experts = _check(name, out, input, weight, counts, transposed)
    if input.dtype is not int8:
        raise TypeError(f"{name}: input has type {input.dtype!r}: expected int8")
    of_rows, of_columns = scales
    expect(of_rows.numel() == rows, name, "input_scale.shape", tuple(of_rows.shape), f"({rows}, 1)")
    columns = out.shape[1]
    fits = of_columns.numel() == experts * columns
    expect_shape(fits, name, "weight_scale", of_columns, f"({experts}, {columns})")
    row_scale, column_scale = of_rows.reshape(-1), of_columns.reshape(experts, columns)
    weights = weight.transpose(1, 2) if transposed else weight

    def part(chosen: slice, expert: int) -> Tensor:
        return _product(
            name,
            input[chosen],
            weights[expert],
            row_scale[chosen],
            column_scale[expert],
            _bias(bias, expert),
            out.dtype,
        )

    _run(name, out, counts, sorted_ids, rows, part)


def w8a8_group_gemm_(
    out: Tensor,
    input: Tensor,
    weight: Tensor,
    input_scale: Tensor,
    weight_scale: Tensor,
    tokens_per_experts: Tensor,
    sorted_token_ids: Tensor | None = None,
    bias: Tensor | None = None,
    trans_weight: bool = True,
    is_decode: bool = False,
) -> None:
    """Like w16a16_group_gemm_, for int8: input [M, K] with a scale for each row, weights [E, N, K]
    (or [E, K, N]) with a scale for each column of each expert, [E, N].

    >>> out = infinicore.zeros(1, 1, dtype=infinicore.float16)
    >>> x, weight = (infinicore.ones(*s, dtype=infinicore.int8) for s in ((1, 2), (1, 1, 2)))
    >>> scale = infinicore.ones(1, 1)
    >>> infinicore.w8a8_group_gemm_(out, x, weight, scale, scale, infinicore.tensor([1]))
    >>> out
    tensor([[2.]], dtype=infinicore.float16)
    """
    _quantised(
        "w8a8_group_gemm_",
        out,
        input,
        weight,
        (input_scale, weight_scale),
        tokens_per_experts,
        sorted_token_ids,
        bias,
        trans_weight,
    )


def w4a8_group_gemm_(
    out: Tensor,
    input: Tensor,
    weight: Tensor,
    input_scale: Tensor,
    weight_scale: Tensor,
    tokens_per_experts: Tensor,
    sorted_token_ids: Tensor | None = None,
    bias: Tensor | None = None,
    trans_weight: bool = True,
    is_decode: bool = False,
) -> None:
    """Like w8a8_group_gemm_ with weights of four bits, two signed numbers in a byte along K, the
    lower bits first: weight [E, N, K / 2], or [E, K / 2, N] without `trans_weight`.

    >>> out = infinicore.zeros(1, 1, dtype=infinicore.float16)
    >>> x = infinicore.ones(1, 2, dtype=infinicore.int8)
    >>> weight = infinicore.tensor([[[0x21]]], dtype=infinicore.uint8)
    >>> scale = infinicore.ones(1, 1)
    >>> infinicore.w4a8_group_gemm_(out, x, weight, scale, scale, infinicore.tensor([1]))
    >>> out
    tensor([[3.]], dtype=infinicore.float16)
    """
    name = "w4a8_group_gemm_"
    need_tensor(name, "weight", weight, 3)
    _quantised(
        name,
        out,
        input,
        _w4a8_weights(weight, trans_weight),
        (input_scale, weight_scale),
        tokens_per_experts,
        sorted_token_ids,
        bias,
        trans_weight,
    )
