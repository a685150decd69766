"""Matrix products."""

from __future__ import annotations

from ...language.expression import Array
from ...language.folds import fold_sum
from ...language.model import operator
from ...language.views import expand


@operator(
    "Gemm(c_desc, a_desc, b_desc) -> (!c, a, b, float alpha, float beta)",
    """
    inout c  F+  [*B, M, N]
    a        =c  [~B, M, K]
    b        =c  [~B, K, N]
    """,
    where="len(B) <= 1",
    kernel=True,
    takes_epilogue=True,
    complex_as="product",
)
def gemm(c: Array, a: Array, b: Array, *, alpha: float, beta: float) -> Array:
    """c = alpha * a @ b + beta * c, of matrices or of batches of them; c is not read when beta is
    0. Any strides are supported, including transposed views."""
    product = alpha * (a @ b)
    return product if beta == 0 else product + beta * c


@operator(
    "IntegerMatmul(!c, a, b)",
    """
    out c  I*  [*B, M, N]
    a      =c  [*B, M, K]
    b      =c  [~B, N, K]
    """,
    where="len(B) <= 1",
    serving="gemm",
)
def integer_matmul(a: Array, b: Array) -> Array:
    """c = a @ b^T, of matrices of integers or of batches of them; what does not fit the type wraps
    around. Any strides will do, so b may be a transposed view."""
    return fold_sum(expand(a, -2) * expand(b, -3))


@operator(
    "Addbmm(out_desc, input_desc, batch1_desc, batch2_desc, float alpha, float beta)"
    " -> (!output=out, input, batch1, batch2)",
    """
    out out  F+    [N, P]
    input    =out  [N, P]
    batch1   =out  [B, N, M]
    batch2   =out  [B, M, P]
    """,
    lowered=True,
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
    lowered=True,
    sizes={"O": "A + C"},
    complex_as="product",
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
    lowered=True,
)
def matrix_power(x: Array, *, n: int) -> Array:
    """A square matrix multiplied with itself; the identity for n = 0."""
    import numpy as np

    return np.linalg.matrix_power(x, n)
