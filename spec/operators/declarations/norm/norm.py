"""Normalisation of rows: norms and softmax."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.folds import fold_max, fold_mean, fold_sum
from ...language.model import operator


@operator(
    "RMSNorm(!y_desc, x_desc, w_desc, float epsilon)",
    """
    out y F+ [*B, D] inner1
    x     =y [*B, D] inner1
    w     F+ [D]     dense
    """,
    where="D > 0",
    in_place={"y": "x"},
)
def rms_norm(x: Array, w: Array, *, epsilon: float) -> Array:
    """Rows divided by their root mean square, times w."""
    return x * w * fn.rsqrt(fold_mean(x * x) + epsilon)


@operator(
    "AddRMSNorm(!y_desc, !residual_out_desc, a_desc, b_desc, weight_desc, float epsilon)",
    """
    out y            F+ [*B, D] inner1
    out residual_out =y [*B, D] inner1
    a                =y [*B, D] inner1
    b                =y [*B, D] inner1
    weight           F+ [D]     dense
    """,
    where="D > 0",
    in_place={"y": "a", "residual_out": "b"},
)
def add_rms_norm(a: Array, b: Array, weight: Array, *, epsilon: float) -> tuple[Array, Array]:
    """The `rms_norm` of a + b, and a + b. The norm is of the sum before it is rounded."""
    total = a + b
    return total * weight * fn.rsqrt(fold_mean(total * total) + epsilon), total


@operator(
    "LayerNorm(!output_desc, !input_standardization_desc, !input_std_deviation_desc, input_desc,"
    " weight_desc, bias_desc, float eps)",
    """
    out output                 F+      [*B, D]
    out input_standardization? =output [*B, D]
    out input_std_deviation?   =output [*B]
    input                      =output [*B, D]
    weight                     =output [D]
    bias?                      =output [D]
    """,
    where="D > 0",
    in_place={"output": "input"},
)
def layer_norm(
    input: Array, weight: Array, bias: Array | None, *, eps: float
) -> tuple[Array, Array, Array]:
    """Rows normalised to mean 0 and variance 1, times weight, plus bias; if asked for, the rows
    before those two, and their standard deviations, sqrt(variance + eps)."""
    away = input - fold_mean(input)
    deviation = fn.sqrt(fold_mean(away * away) + eps)
    standard = away / deviation
    scaled = standard * weight
    return (scaled if bias is None else scaled + bias), standard, deviation


@operator(
    "BatchNorm(!output, input, mean, variance, weight, bias, float eps)",
    """
    out output F+      [*S]
    input      =output [*S]
    mean       F+      [*S]
    variance   =mean   [*S]
    weight     =mean   [*S]
    bias       =mean   [*S]
    """,
    in_place={"output": "input"},
)
def batch_norm(
    input: Array, mean: Array, variance: Array, weight: Array, bias: Array, *, eps: float
) -> Array:
    """(input - mean) / sqrt(variance + eps) * weight + bias. Statistics of channels are operands
    with strides of 0 along the other dimensions."""
    return (input - mean) * (fn.rsqrt(variance + eps) * weight) + bias


@operator(
    "ChannelNorm(!output, input, weight, bias, size_t *dim[dim_size], size_t dim_size, float eps)",
    """
    out output F+      [*S]
    input      =output [*S]
    weight     F+      [*S]
    bias       =weight [*S]
    """,
    in_place={"output": "input"},
)
def channel_norm(
    input: Array, weight: Array, bias: Array, *, dim: list[int], dim_size: int, eps: float
) -> Array:
    """The input normalised to mean 0 and variance 1 over the listed dimensions, times weight, plus
    bias, which may have strides of 0: the norms of groups, instances and batches."""
    away = input - fold_mean(input, axis=dim)
    return away * (fn.rsqrt(fold_mean(away * away, axis=dim) + eps) * weight) + bias


@operator(
    "Softmax(!y_desc, x_desc, int axis)",
    """
    out y F+ [*S]
    x     =y [*S]
    """,
    where="axis >= -len(S); axis < len(S)",
    in_place={"y": "x"},
)
def softmax(x: Array, *, axis: int) -> Array:
    """e^x, divided by its sum along the axis."""
    power = fn.exp(x - fold_max(x, axis=axis))
    return power / fold_sum(power, axis=axis)


@operator(
    "LogSoftmax(!output, input, int dim)",
    """
    out output F+      [*S]
    input      =output [*S]
    """,
    where="dim >= -len(S); dim < len(S)",
    in_place={"output": "input"},
)
def log_softmax(input: Array, *, dim: int) -> Array:
    """The logarithm of softmax."""
    shifted = input - fold_max(input, axis=dim)
    return shifted - fn.log(fold_sum(fn.exp(shifted), axis=dim))


@operator(
    "CausalSoftmax(!y_desc, x_desc)",
    """
    out y F  [*B, L, T]
    x     =y [*B, L, T]
    """,
    where="T >= L",
    kernel=True,
    in_place={"y": "x"},
    public="""
    nn.functional.causal_softmax(input, out=None)
        Softmax of attention scores [..., queries, keys], in which query i sees the keys up to
        keys - queries + i; the others get exactly 0.

        >>> F.causal_softmax(infinicore.zeros(2, 2))
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """,
)
def causal_softmax(x: Array) -> Array:
    """The softmax of rows of which row i has T - L + i + 1 entries; the others become 0."""
    import numpy as np

    rows, columns = x.shape[-2:]
    kept = np.arange(columns) <= np.arange(rows)[:, None] + (columns - rows)
    return np.where(kept, softmax(np.where(kept, x, -np.inf), axis=-1), 0.0)


@operator(
    "LPNorm(!output_desc, input_desc, int axis, int p, float eps)",
    """
    out output F+      [*S]
    input      =output [*S]
    """,
    where="axis >= -len(S); axis < len(S); p >= 1",
    in_place={"output": "input"},
)
def lp_norm(input: Array, *, axis: int, p: int, eps: float) -> Array:
    """x divided by its p-norm along the axis, or by eps if that is greater."""
    size = fn.absolute(input)
    largest = fold_max(size, axis=axis)
    # Powers are taken of what is at most 1, so that they cannot overflow.
    unit = fn.where(fn.either(fn.equal(largest, 0.0), fn.isinf(largest)), 1.0, largest)
    root = fn.sqrt(unit)  # in two steps: the reciprocal of the smallest numbers overflows
    total = fold_sum(fn.power(size / root / root, p), axis=axis)
    return input / fn.maximum(unit * fn.power(total, 1.0 / p), eps)
