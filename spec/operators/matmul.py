"""Matrix products."""

from __future__ import annotations

from .expression import Array
from .model import operator
from .numeric import e2m1_values, e8m0_values, unpack_nibbles


@operator(
    "Gemm(c_desc, a_desc, b_desc) -> (!c, a, b, float alpha, float beta)",
    """
    inout c  F+  [*B, M, N]
    a        =c  [~B, M, K]
    b        =c  [~B, K, N]
    """,
    where="len(B) <= 1",
    kernel=True,
)
def gemm(c: Array, a: Array, b: Array, *, alpha: float, beta: float) -> Array:
    """c = alpha * a @ b + beta * c, of matrices or of batches of them; c is not read when beta is
    0. Any strides will do, so transposed views too."""
    product = alpha * (a @ b)
    return product if beta == 0 else product + beta * c


@operator(
    "Addbmm(out_desc, input_desc, batch1_desc, batch2_desc, float alpha, float beta)"
    " -> (!output=out, input, batch1, batch2)",
    """
    out out  F+    [N, P]
    input    =out  [N, P]
    batch1   =out  [B, N, M]
    batch2   =out  [B, M, P]
    """,
    kernel=True,
)
def addbmm(input: Array, batch1: Array, batch2: Array, *, alpha: float, beta: float) -> Array:
    """beta * input + alpha * the sum of the products of a batch; the input is not read when beta
    is 0."""
    product = alpha * (batch1 @ batch2).sum(axis=0)
    return product if beta == 0 else product + beta * input


@operator(
    "Inner(!out_desc, input_desc, other_desc)",
    """
    out out  F     [*O]
    input    =out  [*A, K]
    other    =out  [*C, K]
    """,
    where="len(O) == len(A) + len(C); prod(O) == prod(A) * prod(C)",
    kernel=True,
)
def inner(input: Array, other: Array) -> Array:
    """The sums of products along the last dimension of both."""
    import numpy as np

    return np.tensordot(input, other, axes=(-1, -1))


@operator(
    "MatrixPower(!y, x, int n)",
    """
    out y  F+  [N, N]  dense
    x      =y  [N, N]  dense
    """,
    where="n >= 0",
    kernel=True,
)
def matrix_power(x: Array, *, n: int) -> Array:
    """A square matrix multiplied with itself; the identity for n = 0."""
    import numpy as np

    return np.linalg.matrix_power(x, n)


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
