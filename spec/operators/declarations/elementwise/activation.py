"""Activations: elementwise functions of neural networks, and gates."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from ...language.views import first_half, second_half
from .elementwise import UNARY


def _gate(x: Array, z: Array) -> Array:
    """x * sigmoid(z), with one division."""
    return x / (1.0 + fn.exp(-z))


def _softplus(x: Array, beta: Array, threshold: Array) -> Array:
    """log(1 + e^(beta x)) / beta in a form that cannot overflow; x itself above the threshold."""
    z = beta * x
    smooth = (fn.maximum(z, 0.0) + fn.log1p(fn.exp(-fn.absolute(z)))) / beta
    return fn.where(threshold < z, x, smooth)


@operator(
    "Relu(!y, x)",
    """
    out y F+|I* [*S]
    x     =y    [*S]
    """,
    public="""
    relu(input)
    nn.functional.relu relu_(input, inplace=False)
    """,
)
def relu(x: Array) -> Array:
    """max(x, 0)."""
    return fn.maximum(x, 0)


@operator("Relu6(!y, x)", UNARY, umbrella=False)
def relu6(x: Array) -> Array:
    """x clamped to [0, 6]."""
    return fn.minimum(fn.maximum(x, 0.0), 6.0)


@operator("HardTanh(!output, input, float min_val, float max_val)", UNARY)
def hardtanh(x: Array, *, min_val: float, max_val: float) -> Array:
    """x clamped to [min_val, max_val]."""
    return fn.minimum(fn.maximum(x, min_val), max_val)


@operator("HardSigmoid(!y, x)", UNARY, umbrella=False)
def hardsigmoid(x: Array) -> Array:
    """clamp(x + 3, 0, 6) / 6."""
    return fn.minimum(fn.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0)


@operator("HardShrink(!y, x, double lambd)", UNARY, umbrella=False)
def hardshrink(x: Array, *, lambd: float) -> Array:
    """0 where |x| <= lambd, else x."""
    return fn.where(fn.absolute(x) <= lambd, 0.0, x)


@operator("Threshold(!y, x, double threshold, double value)", UNARY, umbrella=False)
def threshold(x: Array, *, threshold: float, value: float) -> Array:
    """value where x <= threshold, else x."""
    return fn.where(x <= threshold, value, x)


@operator(
    "HardSwish(!output, input)", UNARY, public="nn.functional.hardswish(input, inplace=False)"
)
def hardswish(x: Array) -> Array:
    """x * clamp(x + 3, 0, 6) / 6."""
    return x * (fn.minimum(fn.maximum(x + 3.0, 0.0), 6.0) / 6.0)


@operator(
    "Sigmoid(!y, x)",
    UNARY,
    public="""
    sigmoid(input)
    nn.functional.sigmoid(input)
    """,
    complex_as="form",
)
def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return fn.sigmoid(x)


@operator(
    "Silu(!output, intput)",
    UNARY,
    public="nn.functional.silu(input, inplace=False)",
    complex_as="form",
)
def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return _gate(x, x)


@operator("Gelu(!output, intput)", UNARY)
def gelu(x: Array) -> Array:
    """x times the probability that a normal variable is below x."""
    return 0.5 * x * (1.0 + fn.erf(x * fn.SQRT1_2))


@operator("GeluTanh(!y, x)", UNARY)
def gelutanh(x: Array) -> Array:
    """x (1 + tanh(z)) / 2 with z = 0.7978845608 (x + 0.044715 x^3): gelu, approximated. Written as
    x sigmoid(2 z), which is the same."""
    return _gate(x, (x + 0.044715 * x * x * x) * (2 * 0.7978845608028654))


def _tanh_softplus(x: Array) -> Array:
    """tanh(log(1 + e^x)) with one exponential: n / (n + 2) for n = (1 + e^x)^2 - 1."""
    e = fn.exp(fn.minimum(x, 20.0))  # beyond, the quotient is 1
    n = e * (e + 2.0)
    return n / (n + 2.0)


@operator("Mish(!y, x)", UNARY, public="nn.functional.mish(input, inplace=False)")
def mish(x: Array) -> Array:
    """x * tanh(log(1 + e^x))."""
    return x * _tanh_softplus(x)


@operator("QuickGelu(!y, x)", UNARY)
def quickgelu(x: Array) -> Array:
    """x * sigmoid(1.702 x)."""
    return _gate(x, 1.702 * x)


@operator("Selu(!y, x)", UNARY, public="nn.functional.selu selu_(input, inplace=False)")
def selu(x: Array) -> Array:
    """1.0507 times x, or times 1.6733 (e^x - 1) where x is negative."""
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return fn.where(x > 0.0, scale * x, scale * alpha * fn.expm1(x))


@operator(
    "Softplus(!y_desc, x_desc, float beta, float threshold)",
    UNARY,
    public="nn.functional.softplus(input, beta=1, threshold=20)",
)
def softplus(x: Array, *, beta: float, threshold: float) -> Array:
    """log(1 + e^(beta x)) / beta, and x where beta x is above the threshold."""
    return _softplus(x, beta, threshold)


@operator(
    "Softsign(!y, x)",
    """
    out y F+|I32|I64 [*S]
    x     =y         [*S]
    """,
    public="nn.functional.softsign(input)",
)
def softsign(x: Array) -> Array:
    """x / (1 + |x|); with integers the quotient is rounded to 0."""
    return x / (1 + fn.absolute(x))


@operator("Tanhshrink(!output, intput)", UNARY, public="nn.functional.tanhshrink(input)")
def tanhshrink(x: Array) -> Array:
    """x - tanh(x)."""
    return x - fn.tanh(x)


@operator(
    "Prelu(!y, x, weight)",
    """
    out y  F+ [*S]
    x      =y [*S]
    weight =y [~S]
    """,
    umbrella=False,
)
def prelu(x: Array, weight: Array) -> Array:
    """x, or weight * x where x is not positive. The weight is broadcast."""
    return fn.where(x > 0.0, x, weight * x)


@operator(
    "SwiGLU(!c_desc, a_desc, b_desc)",
    """
    out c F+ [*S]
    a     =c [*S]
    b     =c [*S]
    """,
    public="nn.functional.swiglu(input: Tensor, other: Tensor)",
)
def swiglu(a: Array, b: Array) -> Array:
    """a * silu(b): b is the gate."""
    return a * _gate(b, b)


@operator(
    "SiluAndMul(!output, input)",
    """
    out output F+      [*B, D]     dense
    input      =output [*B, 2 * D] dense
    """,
)
def silu_and_mul(input: Array) -> Array:
    """silu of the first half of each row times the second half."""
    gate = first_half(input)
    return _gate(gate, gate) * second_half(input)


@operator(
    "FusedGatedDeltaNetGating(!g_desc, !beta_output_desc, A_log_desc, a_desc, b_desc, dt_bias_desc,"
    " float beta, float threshold)",
    """
    out g           F32    [B, T, H]
    out beta_output F32    [B, T, H]
    A_log           F      [H]
    a               =A_log [B, T, H]
    b               =A_log [B, T, H]
    dt_bias         =A_log [H]
    """,
    public="""
        nn.functional.fused_gated_delta_net_gating(A_log, a, b, dt_bias, beta=1.0,
            threshold=20.0) -> tuple
            g = -exp(A_log) * softplus(a + dt_bias, beta, threshold) and sigmoid(b), both float32;
            a and b are [B, T, H], A_log and dt_bias [H].

            >>> zero, h = infinicore.zeros(1, 1, 1), infinicore.zeros(1)
            >>> F.fused_gated_delta_net_gating(h, zero, zero, h)
            (tensor([[[-0.6931]]]), tensor([[[0.5000]]]))
    """,
)
def fused_gated_delta_net_gating(
    A_log: Array, a: Array, b: Array, dt_bias: Array, *, beta: float, threshold: float
) -> tuple[Array, Array]:
    """The gates of a gated delta net: the decay -e^A_log softplus(a + dt_bias), and sigmoid(b)."""
    return -fn.exp(A_log) * _softplus(a + dt_bias, beta, threshold), fn.sigmoid(b)
