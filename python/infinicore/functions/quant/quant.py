"""Rows quantised to eight bits with a scale each, and products with weights of eight and four bits.

Four-bit weights are signed, two in a byte, low bits first.
"""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import dtype, float16, float32, int8, uint8
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_tensor
from infinicore.functions._operands import float32_at_least, store, with_rows


def _quantise(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Rows [M, K] as int8 with `count` scales each: max |x| / 127 of each part of a row."""
    rows = float32_at_least(x).reshape(x.shape[0] * count, x.shape[1] // count)
    codes, scales = emit("per_channel_quant_int8", cast_to(rows, float32))[:2]
    return codes.view(*x.shape), scales.view(x.shape[0], count)


@function
def _dynamic_scaled_int8_quant(input: Tensor, input_scales: Tensor) -> Tensor:
    name = "dynamic_scaled_int8_quant"
    expect(input.ndim > 0, name, "input.ndim", 0, "1 or more")
    rows = input.reshape(-1, input.shape[-1]) if input.numel() else input.view(0, input.shape[-1])
    fits = input_scales.numel() == rows.shape[0]
    expect_shape(
        fits, name, "input_scales", input_scales, f"{rows.shape[0]} elements, one for each row"
    )
    codes, scales = _quantise(rows, 1)
    store(input_scales, scales.view(*input_scales.shape))
    return codes.view(*input.shape)


def dynamic_scaled_int8_quant(
    input: Tensor, input_scales: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Rows of the input [..., K] as int8, each divided by its scale max |x| / 127, which is written
    to `input_scales` (an element for each row). Ties are rounded away from zero.

    >>> scales = infinicore.zeros(1)
    >>> infinicore.dynamic_scaled_int8_quant(infinicore.tensor([[1.0, -2.0]]), scales)
    tensor([[  64, -127]], dtype=infinicore.int8)
    """
    made: Tensor = _dynamic_scaled_int8_quant(input, input_scales, out=out)  # type: ignore[call-arg]
    return made


def _unpacked(weights: Tensor) -> Tensor:
    """Four-bit numbers [..., K / 2] as int8 [..., K], low bits of a byte first."""
    codes = weights
    if codes.dtype is not int8:
        low = emit("bitwise_and", codes, 15)
        high = emit("bitwise_right_shift", codes, 4)
        # Two's complement: numbers from 8 on are negative.
        low, high = (cast_to(emit("bitwise_xor", p, 8), int8) - 8 for p in (low, high))
    else:
        low = emit("bitwise_right_shift", emit("bitwise_left_shift", codes, 4), 4)
        high = emit("bitwise_right_shift", codes, 4)
    made = _core.empty((*codes.shape, 2), int8, codes.device)
    store(made[..., 0], low)
    store(made[..., 1], high)
    return made.view(*codes.shape[:-1], 2 * codes.shape[-1])


def _product(
    name: str, a: Tensor, b: Tensor, a_scales: Tensor, b_scales: Tensor, bias: Any, kind: Any
) -> Tensor:
    """(a [M, K] * a_scales) @ (b [K, N] * b_scales) + bias, of int8."""
    for argument, value, count in (("a", a_scales, a.shape[0]), ("b", b_scales, b.shape[1])):
        fits = value.numel() in (1, count)
        expect(fits, name, f"the scales of {argument}", tuple(value.shape), f"{count} of them")
    rows, columns = (
        cast_to(scales.reshape(-1).expand(count), float32)
        for scales, count in ((a_scales, a.shape[0]), (b_scales, b.shape[1]))
    )
    if bias is not None:
        bias = cast_to(bias.reshape(-1), kind)
    weights = b if b.stride(0) == 1 else b.transpose(0, 1).contiguous().transpose(0, 1)
    # Sums are exact; only the result is rounded.
    half = kind if kind._code in ("F16", "BF16") else None
    if half is not None:
        out = _core.empty((a.shape[0], b.shape[1]), half, a.device)
        made: Tensor = emit("int8_gemm", with_rows(a), rows, weights, columns, bias, out=out)
        return made
    sums = (cast_to(a, float32) @ cast_to(b, float32)) * rows.unsqueeze(1) * columns
    return cast_to(sums if bias is None else sums + bias, kind)


def _check_product(name: str, a: Tensor, b: Tensor, *kinds: dtype) -> None:
    need_tensor(name, "a", a, 2)
    need_tensor(name, "b", b, 2)
    if a.dtype is not int8:
        raise TypeError(f"{name}: a has type {a.dtype!r}: expected int8")
    if b.dtype not in kinds:
        expected = " or ".join(map(repr, kinds))
        raise TypeError(f"{name}: b has type {b.dtype!r}: expected {expected}")


@function
def scaled_mm_w8a8(
    a: Tensor,
    b: Tensor,
    a_scales: Tensor,
    b_scales: Tensor,
    bias: Tensor | None = None,
    trans_weight: bool = True,
) -> Tensor:
    """(a * a_scales) @ (b * b_scales).T + bias of int8: a [M, K] with a scale for each row, b [N,
    K] (or [K, N] without `trans_weight`) with a scale for each of N columns. Sums are exact; the
    result [M, N] is float16.

    >>> a = b = infinicore.ones(1, 4, dtype=infinicore.int8)
    >>> infinicore.scaled_mm_w8a8(a, b, infinicore.ones(1), infinicore.ones(1))
    tensor([[4.]], dtype=infinicore.float16)
    """
    name = "scaled_mm_w8a8"
    _check_product(name, a, b, int8)
    weights = b.transpose(0, 1) if trans_weight else b
    expect(weights.shape[0] == a.shape[1], name, "b.shape", tuple(b.shape), f"K = {a.shape[1]}")
    return _product(name, a, weights, a_scales, b_scales, bias, float16)


@function
def scaled_mm_w4a8(
    a: Tensor,
    b: Tensor,
    a_scales: Tensor,
    b_scales: Tensor,
    bias: Tensor | None = None,
    trans_weight: bool = False,
) -> Tensor:
    """(a * a_scales) @ (b * b_scales) + bias with weights of four bits: a [M, K] int8 with a scale
    for each row; b is [K, N / 2], or with `trans_weight` [N, K / 2], two signed numbers in a byte,
    the lower bits first, with a scale for each of N columns. The result [M, N] is float16.

    >>> a = infinicore.ones(1, 2, dtype=infinicore.int8)
    >>> b = infinicore.tensor([[0x21], [0x43]], dtype=infinicore.uint8)
    >>> infinicore.scaled_mm_w4a8(a, b, infinicore.ones(1), infinicore.ones(2))
    tensor([[4., 6.]], dtype=infinicore.float16)
    """
    name = "scaled_mm_w4a8"
    _check_product(name, a, b, int8, uint8)
    depth = a.shape[1]
    if trans_weight:
        weights = _unpacked(b).transpose(0, 1)
    elif b.shape[0] == depth:
        weights = _unpacked(b)
    else:  # two rows in a byte
        weights = _unpacked(b.transpose(0, 1).contiguous()).transpose(0, 1)
    expect(weights.shape[0] == depth, name, "b.shape", tuple(b.shape), f"K = {depth}")
    return _product(name, a, weights, a_scales, b_scales, bias, float16)


def _check_format(name: str, format: int) -> None:
    if format != 0:
        raise NotImplementedError(
            f"{name}: format is {format}: only 0, rows side by side, is known; others are layouts"
            " of one vendor's matrix units that nothing documents"
        )


def _store_quantised(name: str, target: Tensor, scales: Any, rows: Tensor, group: int) -> None:
    """Rows unchanged, or as int8 with a scale for each row, or for each group of its columns."""
    if target.dtype is not int8:
        if scales is not None and scales.numel():
            raise ValueError(
                f"{name}: there are scales, and results of {target.dtype!r}: expected int8"
            )
        store(target, rows.view(*target.shape))
        return
    need_tensor(name, "the scales", scales)
    count = scales.numel() // rows.shape[0] if rows.shape[0] else 1
    expect(
        count > 0
        and count * rows.shape[0] == scales.numel()
        and rows.shape[1] % count == 0
        and (count == 1 or not group or rows.shape[1] == count * group),
        name,
        "the scales' shape",
        tuple(scales.shape),
        "one scale for each row, or for each group of a row",
    )
    codes, made = _quantise(rows, count)
    store(target, codes.view(*target.shape))
    store(scales, made.view(*scales.shape))


@function
def moe_expand_input_with_inv_pos_(
    expand_states: Tensor,
    expand_scales: Tensor | None,
    hidden_states: Tensor,
    inv_pos: Tensor,
    top_k: int,
    group_size: int = 128,
    format: int = 0,
) -> None:
    """Copies tokens [tokens, D] to the positions of their (token, expert) pairs: row inv_pos[p] of
    expand_states [tokens * top_k, D] becomes row p // top_k of hidden_states. If expand_states is
    int8, rows are quantised, with a scale for each row (or for each `group_size` columns) in
    expand_scales.

    >>> rows = infinicore.zeros(2, 1)
    >>> x, places = infinicore.tensor([[1.0], [2.0]]), infinicore.tensor([1, 0])
    >>> infinicore.moe_expand_input_with_inv_pos_(rows, None, x, places, 1)
    >>> rows.flatten()
    tensor([2., 1.])
    """
    _check_format("moe_expand_input_with_inv_pos_", format)
    name = "moe_expand_input_with_inv_pos_"
    need_tensor(name, "hidden_states", hidden_states, 2)
    tokens, size = hidden_states.shape
    places = integers(name, "inv_pos", inv_pos).reshape(-1)
    fits = places.shape[0] == tokens * top_k
    expect_shape(fits, name, "inv_pos", inv_pos, f"{tokens} tokens * {top_k} elements")
    need_tensor(name, "expand_states", expand_states, 2)
    pairs = hidden_states.unsqueeze(1).expand(tokens, top_k, size).reshape(tokens * top_k, size)
    rows = emit("index_copy", pairs, places, pairs, dim=0)
    _store_quantised(name, expand_states, expand_scales, rows, group_size)


@function
def moe_silu_and_mul_quant_(
    output: Tensor, output_scale: Tensor | None, input: Tensor, format: int = 0
) -> None:
    """silu of the first half of each row of the input [..., 2 D] times the second half, into output
    [..., D]; if that is int8, quantised with a scale for each row in `output_scale`.

    >>> y = infinicore.zeros(1, 1)
    >>> infinicore.moe_silu_and_mul_quant_(y, None, infinicore.tensor([[0.0, 3.0]]))
    >>> y
    tensor([[0.]])
    """
    _check_format("moe_silu_and_mul_quant_", format)
    name = "moe_silu_and_mul_quant_"
    need_tensor(name, "input", input)
    expect_shape(
        input.ndim > 0 and input.shape[-1] % 2 == 0, name, "input", input, "an even last dimension"
    )
    half = input.shape[-1] // 2
    rows = float32_at_least(input).reshape(-1, 2 * half)
    gated = emit("silu", rows[:, :half]) * rows[:, half:]
    _store_quantised(name, output, output_scale, gated, 0)
