"""Products with quantised weights."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import float32
from infinicore._emit import cast_to, emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._operands import is_dense, run_into
from infinicore.nn.functional.moe.fused_moe import _dense

__all__ = ["linear_mxfp4", "linear_w8a8i8"]


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
    name = "linear_mxfp4"
    alone = input.ndim == 1
    given = _dense(input.unsqueeze(0) if alone else input, packed_weight, weight_scale, bias)

    def work(to: Any) -> Tensor:
        made = emit(name, *given, alpha=float(alpha), out=to)
        return made.squeeze(0) if alone else made

    return run_into(name, out, is_dense(out) and not alone, work)


@function
def linear_w8a8i8(
    input: Tensor,
    weight_packed: Tensor,
    weight_scale: Tensor,
    bias: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """input [..., K] @ weight.T + bias in integers: rows of the input are quantised to int8, each
    by its largest element; weight_packed is int8 [N, K], weight_scale float32 [N].

    >>> weight = infinicore.ones(1, 2, dtype=infinicore.int8)
    >>> F.linear_w8a8i8(infinicore.ones(1, 2), weight, infinicore.ones(1))
    tensor([[2.]])
    """
    name = "linear_w8a8i8"
    need_tensor(name, "input", input)
    expect(weight_packed.ndim == 2, name, "weight_packed.ndim", weight_packed.ndim, "2")
    count, width = weight_packed.shape
    expect(
        input.ndim > 0 and input.shape[-1] == width,
        name,
        "input.shape",
        tuple(input.shape),
        f"[..., {width}]",
    )
    expect(
        weight_scale.numel() == count,
        name,
        "weight_scale.shape",
        tuple(weight_scale.shape),
        f"[{count}]",
    )
    rows = input.numel() // max(width, 1)
    folded = input.reshape(rows, width).contiguous()
    packed, scales = _quantised(folded)
    kind = input.dtype
    if kind._code not in ("F16", "BF16"):  # what the operator's results are
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
        shift = None if bias is None else cast_to(bias, kind).contiguous()
        scale = weight_scale.contiguous().view(count)
        result = emit("int8_gemm", packed, scales, columns, scale, shift, out=room)
    result = result.view(*input.shape[:-1], count)
    if out is None:
        return result
    made: Tensor = write(name, out, result)
    return made


def _quantised(rows: Tensor) -> tuple[Tensor, Tensor]:
    made = emit("per_channel_quant_int8", rows)
    return made[0], made[1]
