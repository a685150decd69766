"""Products with quantised weights."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import dtype as dtype_class
from infinicore._dtype import float32, uint8, uint16
from infinicore._emit import cast_to, emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape

# GGUF: elements and bytes of a block, by GGML type number.
GGUF_BLOCKS = {
    **{2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34)},
    **{12: (256, 144), 13: (256, 176), 14: (256, 210)},
}


def _gguf_block(name: str, format: int) -> tuple[int, int]:
    known = GGUF_BLOCKS.get(format)
    expect(known is not None, name, "format", format, f"one of {sorted(GGUF_BLOCKS)}")
    return known or (1, 1)


@function
def dequantize_gguf(
    packed: Tensor, format: int, dtype: dtype_class = float32, out: Any = None
) -> Tensor:
    """Dequantized rows of a GGUF file: packed is [..., bytes of a row] of uint8, format the GGML
    type number (Q4_0 2, Q4_1 3, Q5_0 6, Q5_1 7, Q8_0 8, Q4_K 12, Q5_K 13, Q6_K 14).

    >>> scale = infinicore.tensor([[0, 60]], dtype=infinicore.uint8)  # float16 1.0
    >>> codes = infinicore.full((1, 16), 0x99, dtype=infinicore.uint8)  # 9 - 8
    >>> F.dequantize_gguf(infinicore.cat([scale, codes], 1), 2).sum()
    tensor(32.)
    """
    name = "dequantize_gguf"
    expect(packed.ndim > 0, name, "packed.ndim", packed.ndim, "1 or more")
    elements, size = _gguf_block(name, format)
    width = packed.shape[-1]
    whole = f"[..., multiple of {size}]"
    expect(width % size == 0, name, "packed.shape", tuple(packed.shape), whole)
    shape = (*packed.shape[:-1], width // size * elements)
    room = _core.empty(shape, dtype, packed.device) if out is None else out
    made: Tensor = emit(name, packed, format=format, out=room)
    return made


@function
def interleave_gguf(weight: Tensor, format: int) -> Tensor:
    """The rows of a GGUF weight [N, bytes of a row] interleaved in groups of 8, which linear_gguf
    reads faster on the CPU: for each block the first 2-byte number or 4-byte word of each row, then
    the second of each, and so on. N must be a multiple of 8.

    >>> rows = infinicore.arange(8 * 18).to(infinicore.uint8).view(8, 18)
    >>> F.interleave_gguf(rows, 2).view(-1)[:6]  # the scales come first
    tensor([ 0,  1, 18, 19, 36, 37], dtype=infinicore.uint8)
    """
    name = "interleave_gguf"
    expect(weight.dtype == uint8, name, "weight.dtype", weight.dtype, "uint8")
    _, size = _gguf_block(name, format)
    shape = tuple(weight.shape)
    whole = weight.ndim == 2 and shape[0] % 8 == 0 and shape[1] % size == 0
    expect(whole, name, "weight.shape", shape, f"[multiple of 8, multiple of {size}]")
    groups, blocks = shape[0] // 8, shape[1] // size
    # In units of two bytes: numbers, words, and in Q6_K a number after them.
    pairs = weight.contiguous().view(uint16).view(groups, 8, blocks, size // 2)
    first, last = (0, 104) if format == 14 else (2 if format in (3, 7, 12, 13) else 1, size // 2)
    made = _core.empty((groups, blocks, 4 * size), uint16, weight.device)
    for begin, end, width in ((0, first, 1), (first, last, 2), (last, size // 2, 1)):
        count = (end - begin) // width
        if count == 0 or made.numel() == 0:
            continue
        items = pairs.narrow(3, begin, end - begin).view(groups, 8, blocks, count, width)
        room = made.narrow(2, 8 * begin, 8 * (end - begin))
        room.view(groups, blocks, count, 8, width).copy_(items.permute(0, 2, 3, 1, 4))
    packed: Tensor = made.view(uint8).view(*shape)
    return packed


@function
def linear_gguf(
    input: Tensor,
    weight: Tensor,
    format: int,
    bias: Tensor | None = None,
    quantize_input: bool = True,
    interleaved: bool = False,
    out: Any = None,
) -> Tensor:
    """input [..., K] @ W.T + bias with a weight W [N, K] in the format of a GGUF file: weight is
    [N, bytes of a row] of uint8, format the GGML type number (Q4_0 2, Q4_1 3, Q5_0 6, Q5_1 7, Q8_0
    8, Q4_K 12, Q5_K 13, Q6_K 14).

    With quantize_input each group of 32 elements of the input is rounded to 8-bit integers with a
    scale, which is fast; on the CPU a row's result then does not depend on the other rows.
    interleaved: the weight is a result of interleave_gguf.

    >>> scale = infinicore.tensor([[0, 60]], dtype=infinicore.uint8)  # float16 1.0
    >>> codes = infinicore.full((1, 16), 0x99, dtype=infinicore.uint8)  # 9 - 8
    >>> F.linear_gguf(infinicore.ones(1, 32), infinicore.cat([scale, codes], 1), 2)
    tensor([[32.]])
    """
    name = "linear_gguf"
    elements, size = _gguf_block(name, format)
    shape = tuple(input.shape)
    whole = input.ndim > 0 and shape[-1] % elements == 0
    expect(whole, name, "input.shape", shape, f"[..., multiple of {elements}]")
    wanted = shape[-1] // elements * size
    fits = weight.ndim == 2 and weight.shape[1] == wanted
    expect(fits, name, "weight.shape", tuple(weight.shape), f"[N, {wanted}]")
    groups = not interleaved or weight.shape[0] % 8 == 0
    expect(groups, name, "weight.shape", tuple(weight.shape), "[multiple of 8, ...]")
    flags = {"quantize_input": bool(quantize_input), "interleaved": bool(interleaved)}
    return _of_rows(name, input, weight, bias, out=out, format=format, **flags)


def _of_rows(name: str, input: Tensor, *weights: Tensor | None, out: Any, **values: Any) -> Tensor:
    """Applies an operator on rows; a single row may lack the row dimension."""
    if input.ndim != 1:
        return emit(name, input, *weights, out=out, **values)  # type: ignore[no-any-return]
    made: Tensor = emit(name, input.unsqueeze(0), *weights, **values).squeeze(0)
    return made if out is None else write(name, out, made)  # type: ignore[no-any-return]


@function
def linear_mxfp4(
    input: Tensor,
    packed_weight: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None = None,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """alpha * input [..., K] @ weight.T + bias with a weight [N, K] in MXFP4: packed [N, K / 2],
    with scales [N, K / 32], both of bytes.

    >>> packed = infinicore.full((1, 16), 0x22, dtype=infinicore.uint8)  # ones
    >>> scale = infinicore.full((1, 1), 127, dtype=infinicore.uint8)  # 2 ** 0
    >>> F.linear_mxfp4(infinicore.ones(1, 32), packed, scale)
    tensor([[32.]])
    """
    weights = (packed_weight, weight_scale, bias)
    return _of_rows("linear_mxfp4", input, *weights, alpha=float(alpha), out=out)


@function
def linear_w8a8i8(
    input: Tensor,
    weight_packed: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """input [..., K] @ weight.T + bias in integers: each row of the input is quantised to int8 by
    its largest element; weight_packed is int8 [N, K], weight_scale float32 [N].

    >>> weight = infinicore.ones(1, 2, dtype=infinicore.int8)
    >>> F.linear_w8a8i8(infinicore.ones(1, 2), weight, infinicore.ones(1))
    tensor([[2.]])
    """
    name = "linear_w8a8i8"
    expect(weight_packed.ndim == 2, name, "weight_packed.ndim", weight_packed.ndim, "2")
    count, width = weight_packed.shape
    expect_shape(
        input.ndim > 0 and input.shape[-1] == width, name, "input", input, f"[..., {width}]"
    )
    expect_shape(weight_scale.numel() == count, name, "weight_scale", weight_scale, f"[{count}]")
    rows = input.numel() // max(width, 1)
    folded = input.reshape(rows, width).contiguous()
    packed, scales = _quantised(folded)
    kind = input.dtype
    if kind._code not in ("F16", "BF16"):  # the operator's result type
        exact = emit(
            "gemm", cast_to(packed, float32), cast_to(weight_packed, float32).transpose(0, 1)
        )
        exact = emit("mul", exact, scales)
        result = emit("mul", exact, weight_scale.reshape(1, count))
        if bias is not None:
            result = emit("add", result, cast_to(bias, float32))
        result = cast_to(result, kind)
    else:
        room = _core.empty((rows, count), kind, input.device)
        columns = weight_packed.contiguous().transpose(0, 1)
        shift = None if bias is None else cast_to(bias, kind)
        scale = weight_scale.reshape(count)
        result = emit("int8_gemm", packed, scales, columns, scale, shift, out=room)
    result = result.view(*input.shape[:-1], count)
    if out is None:
        return result
    made: Tensor = write(name, out, result)
    return made


def _quantised(rows: Tensor) -> tuple[Tensor, Tensor]:
    made = emit("per_channel_quant_int8", rows)
    return made[0], made[1]
