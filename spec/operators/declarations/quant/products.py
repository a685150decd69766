"""Products with quantised weights; marlin.py has those with Marlin's."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from ...language.numeric import e2m1_values, e8m0_values, unpack_nibbles


@operator(
    "I8Gemm(!out_desc, bias_desc, x_desc, x_scale_desc, weights_desc, weights_scale_desc)",
    """
    out out        H16   [M, N]
    bias?          =out  [N]           dense
    x              I8    [M, K]
    x_scale        F32   [M] or [M, 1] dense
    weights        I8    [K, N]
    weights_scale  F32   [N] or [N, 1] dense
    """,
    kernel=True,
)
def int8_gemm(bias: Array, x: Array, x_scale: Array, weights: Array, weights_scale: Array) -> Array:
    """The product of 8-bit matrices, summed exactly, times a scale for each row and each column,
    and the bias."""
    import numpy as np

    sums = x.astype(np.int64) @ weights.astype(np.int64)
    scaled = sums * x_scale.reshape(-1, 1) * weights_scale.reshape(1, -1)
    return scaled if bias is None else scaled + bias


@operator(
    "LinearMxfp4(!output_desc, input_desc, packed_weight_desc, weight_scale_desc, bias_desc,"
    " float alpha)",
    """
    out output     F        [*B, N]       dense
    input          =output  [*B, K]       dense
    packed_weight  U8       [N, K // 2]   dense
    weight_scale   U8       [N, K // 32]  dense
    bias?          =output  [N]           dense
    """,
    where="len(B) >= 1; K % 32 == 0",
    kernel=True,
)
def linear_mxfp4(
    input: Array, packed_weight: Array, weight_scale: Array, bias: Array, *, alpha: float
) -> Array:
    """alpha * input @ W^T + bias with W [N, K] in MXFP4: two codes a byte, a scale for 32 of a
    row."""
    import numpy as np

    scales = np.repeat(e8m0_values()[weight_scale], 32, axis=-1)
    weights = e2m1_values()[unpack_nibbles(packed_weight)] * scales
    product = alpha * (input @ weights.T)
    return product if bias is None else product + bias
