"""Quantisation: packed weights to numbers, numbers to int8 and back."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from ...language.numeric import e2m1_values, e8m0_values, round_half_away, round_to, unpack_nibbles

AWQ_ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # the nibble of a word that holds column j


@operator(
    "Mxfp4Dequantize(!out_desc, packed_desc, scales_desc)",
    """
    out out  F   [*B, K]      inner1
    packed   U8  [*B, K//2]   inner1
    scales   U8  [*B, K//32]  inner1
    """,
    where="K % 32 == 0",
    kernel=True,
)
def mxfp4_dequantize(packed: Array, scales: Array) -> Array:
    """Expands MXFP4: two e2m1 codes in a byte, the even column in the low nibble, and one
    power-of-two scale (e8m0) for 32 columns."""
    import numpy as np

    values = e2m1_values()[unpack_nibbles(packed)]
    return values * np.repeat(e8m0_values()[scales], 32, axis=-1)


@operator(
    "DequantizeAWQ(!out_desc, qweight_desc, scales_desc, zeros_desc)",
    """
    out out  F16  [K, N]     dense
    qweight  I32  [K, N//8]  dense
    scales   F16  [G, N]     dense
    zeros    I32  [G, N//8]  dense
    """,
    where="N % 8 == 0; G > 0; K % G == 0",
    kernel="dequantize",
)
def dequantize_awq(qweight: Array, scales: Array, zeros: Array) -> Array:
    """Expands AWQ weights: `(q - z) * scale`, eight 4-bit columns in a word in AWQ's order, one
    scale and zero for each of G groups of rows."""
    import numpy as np

    def columns(words: Array) -> Array:
        nibbles = unpack_nibbles(words, 8).reshape(*words.shape, 8)
        return nibbles[..., AWQ_ORDER].reshape(len(words), 8 * words.shape[1])

    group = np.arange(len(qweight)) // max(len(qweight) // len(scales), 1)
    return (columns(qweight) - columns(zeros)[group]) * scales[group]


@operator(
    "DequantizeGPTQ(!out_desc, qweight_desc, scales_desc, zeros_desc, g_idx_desc)",
    """
    out out  F16  [K, N]     dense
    qweight  I32  [K//8, N]  dense
    scales   F16  [G, N]     dense
    zeros    I32  [G, N//8]  dense
    g_idx    I32  [K]        dense
    """,
    where="K % 8 == 0; N % 8 == 0; G > 0",
    kernel="dequantize",
)
def dequantize_gptq(qweight: Array, scales: Array, zeros: Array, g_idx: Array) -> Array:
    """Expands GPTQ weights: `(q - (z + 1)) * scale`, eight 4-bit rows in a word; `g_idx` names
    the group of each row (modulo G)."""
    rows = unpack_nibbles(qweight.T, 8).T
    group = g_idx % len(scales)
    return (rows - (unpack_nibbles(zeros, 8)[group] + 1)) * scales[group]


def _f32(x: Array) -> Array:
    """Quantisation is defined with each step rounded to F32: codes at a tie depend on it."""
    return round_to(x, "F32")


def _codes(exact: Array, low: int) -> Array:
    """Whole numbers from low to 127; what is no number becomes 0."""
    import numpy as np

    return np.clip(round_half_away(np.nan_to_num(exact, nan=0.0)), low, 127)


@operator(
    "PerChannelQuantI8(!x_packed_desc, !x_scale_desc, !x_zero_desc, x_desc)",
    """
    out x_packed  I8   [M, K]         dense
    out x_scale   F32  [M, 1] or [M]  dense
    out x_zero?   F32  [M, 1] or [M]  dense
    x             F    [M, K]         dense
    """,
    header="quant/per_channel_quant_int8",
    kernel="quant_int8",
)
def per_channel_quant_int8(
    x: Array, *, shapes: dict[str, tuple[int, ...]]
) -> tuple[Array, Array, Array]:
    """Quantises each row to int8 with its own scale, ties away from zero. Without `x_zero`
    symmetric: `scale = max(amax / 127, 1e-8)`; with it asymmetric:
    `scale = max((max - min) / 255, 1e-8)`, `zero = -min / scale - 128`, `q = x / scale + zero`."""
    import numpy as np

    least = float(np.float32(1e-8))
    with np.errstate(all="ignore"):
        if shapes.get("x_zero") is None:
            amax = np.abs(x).max(axis=1, initial=0.0)
            scale = np.maximum(_f32(amax / 127), least)
            codes = _codes(_f32(x / scale[:, None]), -127)
            return codes, scale.reshape(shapes["x_scale"]), None
        low = x.min(axis=1, initial=np.inf) if x.shape[1] else np.zeros(len(x))
        high = x.max(axis=1, initial=-np.inf) if x.shape[1] else low
        scale = np.maximum(_f32(_f32(high - low) / 255), least)
        zero = _f32(_f32(-low / scale) - 128)
        exact = _f32(_f32(x / scale[:, None]) + zero[:, None])
    codes = _codes(exact, -128)
    return codes, scale.reshape(shapes["x_scale"]), zero.reshape(shapes["x_zero"])


@operator(
    """PerTensorQuantI8(x_packed_desc, x_scale_desc, x_zero_desc, x_desc)
    -> (!x_packed, !x_scale, !x_zero, x, const bool is_static)""",
    """
    out x_packed   I8   [*S]
    inout x_scale  F32  [1] or []
    x_zero?        F32  [1] or []
    x              F    [*S]
    """,
    header="quant/per_tensor_quant_int8",
    kernel="quant_int8",
)
def per_tensor_quant_int8(
    x_scale: Array, x_zero: Array, x: Array, *, is_static: bool
) -> tuple[Array, Array]:
    """Quantises a tensor to int8 with one scale, ties away from zero. `is_static`: with the scale
    as given; else the scale becomes `max(scale, amax / 127)` first. There is no zero point:
    `x_zero` must be absent. A scale of 0 gives zeros."""
    import numpy as np

    scale = np.asarray(x_scale)
    if not is_static:
        scale = np.maximum(x_scale, _f32(np.abs(x).max(initial=0.0) / 127))
    with np.errstate(all="ignore"):
        exact = np.where(scale.reshape(()) == 0, 0.0, _f32(x / scale.reshape(())))
    return _codes(exact, -127), scale


@operator(
    "PerTensorDequantI8(!x_desc, x_packed_desc, x_scale_desc, x_zero_desc)",
    """
    out x     F    [*S]
    x_packed  I8   [*S]
    x_scale   F32  [1] or []
    x_zero?   F32  [1] or []
    """,
    header="dequant/per_tensor_dequant_int8",
    where="not present(x_zero)",
)
def per_tensor_dequant_int8(x_packed: Array, x_scale: Array, x_zero: Array) -> Array:
    """`x = packed * scale`. There is no zero point: `x_zero` must be absent."""
    return x_packed * x_scale
