"""The definitions against torch: a second opinion, in float64, on random and on special values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from spec.operators import REGISTRY

from .second_opinion import WILD, F, call, np, pairs, same, tensors, torch, uncompared, values

_WORDS = """
    acos asin asinh atanh digamma erf erfc erfinv floor log10 log1p reciprocal sinh tan tanh relu
    sigmoid selu
"""
UNARY: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(torch, name) for name in _WORDS.split()},
    "ones": torch.ones_like,
    "zeros": torch.zeros_like,
    "relu6": F.relu6,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "angle": torch.angle,
    "mish": F.mish,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelutanh": lambda x: F.gelu(x, approximate="tanh"),
    "quickgelu": lambda x: x * torch.sigmoid(1.702 * x),
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    **{name: getattr(torch.special, name) for name in ("erfcx", "log_ndtr", "ndtri")},
}
_WORDS = "add sub mul floor_divide fmod fmin hypot logaddexp logaddexp2"
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(torch, name) for name in _WORDS.split()},
    "equal": torch.eq,
    "prelu": lambda x, w: torch.where(x > 0, x, w * x),
    "swiglu": lambda a, b: a * F.silu(b),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    x = np.concatenate([np.array(WILD, float), values(2000), np.linspace(-1, 1, 101)])
    (ours,) = call(name, x)
    # In gelu's tails torch has only the digits that 1 + erf(x) leaves.
    same(ours, UNARY[name](torch.from_numpy(x)), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    for a, b in (pairs(), (values(999), values(999, seed=1))):
        (ours,) = call(name, a, b)
        theirs = BINARY[name](*tensors([a, b]))
        if name in ("floor_divide", "fmod"):  # torch gives NaN where the quotient is huge
            with np.errstate(all="ignore"):
                known = (np.abs(a / b) < 1e15) & np.isfinite(b)
            ours, theirs = ours[known], theirs[known]
        same(ours, theirs, atol=1e-15)


@pytest.mark.parametrize("name", ["add", "floor_divide", "fmin", "equal"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers(name: str, dtype: type) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = (low, low + 1, -7, -2, -1, 1, 2, 3, 8, high - 1, high)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(*[np.array(numbers, dtype)] * 2))
    keep = (a != low) | (b != -1) if name == "floor_divide" else np.ones(a.shape, bool)
    a, b = a[keep], b[keep]
    theirs = BINARY["fmin" if name == "equal" else name] if name != "fmin" else torch.minimum
    theirs = torch.eq if name == "equal" else theirs
    assert np.array_equal(call(name, a, b)[0], theirs(*tensors([a, b])))


def test_integer_division_never_fails() -> None:
    low = np.array([np.iinfo(np.int32).min, 5, -5], np.int32)
    assert call("floor_divide", low, np.array([-1, 0, 0], np.int32))[0].tolist() == [low[0], 0, 0]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_shifts(dtype: type) -> None:
    limits = np.iinfo(dtype)
    bits = limits.bits
    counts = [c for c in (-1, 0, 1, bits - 1, bits, bits + 1, 100) if c >= limits.min]
    for x, count in itertools.product((limits.min, limits.max, 5, limits.max // 3), counts):
        expected = x >> (count if 0 <= count < bits else bits)
        ours = call("bitwise_right_shift", np.array([x], dtype), np.array([count], dtype))[0]
        assert ours[0] == expected, (x, count)


def test_scalars_of_elementwise() -> None:
    x = np.concatenate([np.array(WILD, float), values(100)])
    t = torch.from_numpy(x)
    same(call("mul_scalar", x, alpha=-1.5)[0], t * -1.5)
    same(call("hardtanh", x, min_val=-0.5, max_val=2.0)[0], F.hardtanh(t, -0.5, 2.0))
    same(call("hardshrink", x, lambd=0.3)[0], F.hardshrink(t, 0.3))
    same(call("threshold", x, threshold=0.1, value=-7.0)[0], F.threshold(t, 0.1, -7.0))
    numbers = {"nan": 0.5, "posinf": 1e300, "neginf": -2.0}
    same(call("nan_to_num", x, **numbers)[0], torch.nan_to_num(t, **numbers))
    for beta, threshold in ((1.0, 20.0), (0.5, 3.0), (2.0, 1000.0)):
        ours = call("softplus", x, beta=beta, threshold=threshold)[0]
        theirs = F.softplus(t, beta, threshold)
        known = np.isfinite(theirs.numpy()) | ~np.isfinite(x)  # torch overflows below the threshold
        same(ours[known], theirs[known])
    for a, b in (pairs(), (np.abs(values(99)), values(99))):
        same(call("float_power", a, b, scalar_exponent=0.0)[0], torch.float_power(*tensors([a, b])))
    same(call("float_power", x, None, scalar_exponent=3.0)[0], torch.float_power(t, 3.0))


def test_several_operands() -> None:
    a, b, c = (values(7, 5, seed=s) for s in range(3))
    ta, tb, tc = tensors([a, b, c])
    low, high = np.minimum(b, c), np.maximum(b, c)
    same(call("clip", a, low, high)[0], torch.clip(ta, *tensors([low, high])))
    assert np.array_equal(call("clip", a, high + 1, low)[0], high + 1)
    for ends in ((low, high), (high, low)):
        same(call("clamp", a, *ends)[0], torch.clamp(ta, *tensors(list(ends))))
    assert np.isnan(
        call("clip", np.array([math.nan, 0]), np.array([0, math.nan]), np.ones(2))[0]
    ).all()
    same(call("addcmul", a, b, c, value=0.3)[0], torch.addcmul(ta, tb, tc, value=0.3))
    same(call("addcdiv", a, b, c, value=0.3)[0], torch.addcdiv(ta, tb, tc, value=0.3))
    same(call("lerp", a, b, c, weight_scalar=0.0)[0], torch.lerp(ta, tb, tc), atol=1e-14)
    same(
        call("lerp", a, b[:1], None, weight_scalar=0.3)[0], torch.lerp(ta, tb[:1], 0.3), atol=1e-14
    )
    ours = call("addr", a, b[:, 0], c[0], beta=0.5, alpha=2.0)[0]
    same(ours, torch.addr(ta, tb[:, 0], tc[0], beta=0.5, alpha=2.0))
    x = values(3, 8)
    left, right = torch.from_numpy(x).chunk(2, dim=-1)
    same(call("silu_and_mul", x)[0], F.silu(left) * right)


def test_ldexp() -> None:
    x, exponent = np.meshgrid(
        [0.0, 1.0, -3.5, 1e300, 5e-324, 1e-310], [-2100, -1074, -1, 0, 5, 2100]
    )
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, exponent)
    same(call("ldexp", x, exponent)[0], expected, atol=1e-323)
    ours = call("ldexp", np.array([1.0, math.inf, 0.0]), np.array([2.9, -9e9, 9e9]))[0]
    same(ours, [4, math.inf, 0])


def test_gating() -> None:
    log, bias = values(4), values(4, seed=1)
    a, b = values(2, 3, 4), values(2, 3, 4, seed=1)
    ours = call("fused_gated_delta_net_gating", log, a, b, bias, beta=1.0, threshold=20.0)
    tlog, ta, tb, tbias = tensors([log, a, b, bias])
    same(ours[0], -torch.exp(tlog) * F.softplus(ta + tbias))
    same(ours[1], torch.sigmoid(tb))


# ---- Rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [[0], [1], [0, 2], [0, 1, 2]])
def test_reductions(dim: list[int]) -> None:
    x = values(4, 3, 5)
    t = torch.from_numpy(x)
    given: dict[str, Any] = {"dim": dim, "dim_size": len(dim), "keepdim": True}
    same(call("sum", x, **given)[0], t.sum(dim), atol=1e-13)
    holes = np.where(x > 1, np.nan, x)
    same(call("nansum", holes, **given)[0], torch.from_numpy(holes).nansum(dim), atol=1e-13)
    same(call("mean", x, **given)[0], t.mean(dim), atol=1e-13)
    same(call("amax", x, **given)[0], t.amax(dim))
    same(call("amin", x, **given)[0], t.amin(dim))
    same(call("prod", x, **given)[0], x.prod(tuple(dim)), rtol=1e-10)
    whole = (x * 2).astype(np.int32)
    same(call("prod", whole, **given)[0], whole.prod(tuple(dim)))
    same(call("sum", whole, **given)[0], torch.from_numpy(whole).sum(dim))
    same(call("any", whole, **given)[0], (whole != 0).any(tuple(dim)))
    if len(dim) in (1, 3):
        place = dim[0] if len(dim) == 1 else None
        same(call("argmax", whole, **given)[0], whole.argmax(place))
        same(call("argmin", whole, **given)[0], whole.argmin(place))
    for unbiased in (False, True):
        same(call("var", x, unbiased=unbiased, **given)[0], t.var(dim, unbiased=unbiased))
        variance, mean = call("var_mean", x, unbiased=unbiased, **given)
        same(variance, t.var(dim, unbiased=unbiased))
        same(mean, t.mean(dim), atol=1e-13)
    truth = x > -2
    same(call("all", truth, **given)[0], torch.from_numpy(truth).numpy().all(tuple(dim)))
    same(call("all", truth.astype(np.uint8) * 3, **given)[0], truth.all(tuple(dim)))


def test_variance_of_little() -> None:
    given: dict[str, Any] = {"dim": [0], "dim_size": 1, "keepdim": False}
    for count, unbiased in itertools.product((0, 1), (False, True)):
        variance, mean = call("var_mean", np.ones((count, 2)), unbiased=unbiased, **given)
        assert np.isnan(variance).all() == (count == 0 or unbiased)
        assert np.isnan(mean).all() == (count == 0)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
def test_distances(p: float) -> None:
    a, b = values(2, 5, 4), values(2, 5, 4, seed=1)
    a[0, 0] = b[0, 0]
    same(call("dist", a, b, p=p)[0], torch.dist(*tensors([a, b]), p=p))
    same(call("cdist", a, b[:1, :3], p=p)[0], torch.cdist(*tensors([a, b[:1, :3]]), p=p))
    same(call("dot", a[0, 0], b[0, 1])[0], torch.dot(*tensors([a[0, 0], b[0, 1]])))


def test_norms() -> None:
    x, y, w, b = values(3, 4, 8), values(3, 4, 8, seed=1), values(8), values(8, seed=1)
    t, tw, tb = tensors([x, w, b])
    same(call("rms_norm", x, w, epsilon=1e-5)[0], F.rms_norm(t, (8,), tw, 1e-5))
    normed, total = call("add_rms_norm", x, y, w, epsilon=1e-5)
    same(total, x + y)
    same(normed, F.rms_norm(torch.from_numpy(x + y), (8,), tw, 1e-5))
    for bias in (b, None):
        ours = call("layer_norm", x, w, bias, eps=1e-5)
        same(ours[0], F.layer_norm(t, (8,), tw, None if bias is None else tb, 1e-5), atol=1e-13)
        same(ours[1], F.layer_norm(t, (8,), None, None, 1e-5), atol=1e-13)
        same(ours[2], torch.sqrt(t.var(-1, unbiased=False) + 1e-5))


def test_norms_of_channels() -> None:
    x = values(3, 4, 5, 6)
    channels = [values(4, seed=i + 1) for i in range(4)]
    channels[1] = np.abs(channels[1])
    mean, variance, weight, bias = tensors(channels)
    whole = [np.broadcast_to(each[:, None, None], x.shape) for each in channels]
    t = torch.from_numpy(x)
    ours = call("batch_norm", x, *whole, eps=1e-5)[0]
    same(ours, F.batch_norm(t, mean, variance, weight, bias, eps=1e-5), atol=1e-13)
    ours = call("channel_norm", x, *whole[2:], dim=[2, 3], dim_size=2, eps=1e-5)[0]
    same(ours, F.instance_norm(t, weight=weight, bias=bias, eps=1e-5), atol=1e-13)
    grouped = [each.reshape(3, 2, 2, 5, 6) for each in (x, *whole[2:])]
    ours = call("channel_norm", *grouped, dim=[2, 3, 4], dim_size=3, eps=1e-5)[0]
    same(ours.reshape(x.shape), F.group_norm(t, 2, weight, bias, 1e-5), atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = values(3, 4, 8) * 100
    x[0, 0, :] = -math.inf
    x[0, 1, 2] = math.inf
    x[1, 0, 0] = math.nan
    x[1, 1, 3:] = -math.inf
    t = torch.from_numpy(x)
    same(call("softmax", x, axis=axis)[0], torch.softmax(t, axis))
    same(call("log_softmax", x, dim=axis)[0], torch.log_softmax(t, axis))
    for p in (1, 2, 3):
        y = np.where(np.isnan(x), 1.0, x)
        y[2, 2] = 0.0
        ours = call("lp_norm", y, axis=axis, p=p, eps=1e-6)[0]
        same(ours, F.normalize(torch.from_numpy(y), float(p), axis, 1e-6))


def test_lp_norm_of_huge_and_tiny() -> None:
    for scale in (1e300, 1e-300, 1e-320):
        ours = call("lp_norm", np.array([3.0, 4.0]) * scale, axis=0, p=2, eps=0.0)[0]
        same(ours, [0.6, 0.8], rtol=1e-3)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (1, 6)])
def test_causal_softmax(shape: tuple[int, ...]) -> None:
    x = values(*shape)
    rows, columns = shape[-2:]
    hidden = torch.ones(rows, columns).triu(columns - rows + 1).bool()
    theirs = torch.softmax(torch.from_numpy(x).masked_fill(hidden, -math.inf), -1)
    (ours,) = call("causal_softmax", x)
    same(ours, theirs)
    assert (ours[..., hidden.numpy()] == 0).all()


# ---- All of them --------------------------------------------------------------------------------


SINGLE = (*WILD, 90.0, -90.0, 1e-30, 1e38, -1e38, 3e38, 1e-39)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_holds_in_float32(name: str) -> None:
    """Back ends compute in F32: intermediate results must not overflow."""
    with np.errstate(all="ignore"):
        numbers = tuple(np.array(SINGLE, np.float32).tolist())
        arrays = pairs(numbers)[: 1 if name in UNARY else 2]
        definition = REGISTRY[name].definition
        ours = np.asarray(definition(*(a.astype(np.float32) for a in arrays)))
        exact = np.asarray(definition(*arrays)).astype(np.float32)
    if name == "swiglu":  # silu(-90) is 0 in F32, as in torch, so huge numbers times it differ
        ours, exact = (some[np.abs(arrays[0]) < 1e9] for some in (ours, exact))
    if name not in ("floor_divide", "fmod"):  # exact in C++, not so in NumPy's F32
        np.testing.assert_allclose(ours, exact, rtol=1e-5, atol=1e-6)


POLYNOMIALS = [f"chebyshev_polynomial_{letter}" for letter in "tuvw"]
POLYNOMIALS += ["hermite_polynomial_h", "hermite_polynomial_he"]
POLYNOMIALS += ["laguerre_polynomial_l", "legendre_polynomial_p"]
POLYNOMIALS += [f"shifted_{name}" for name in POLYNOMIALS[:4]]


@pytest.mark.parametrize("kind", range(12))
def test_polynomials(kind: int) -> None:
    x, degree = (grid.reshape(-1) for grid in np.meshgrid(values(40), np.arange(-2.0, 8.0)))
    theirs = getattr(torch.special, POLYNOMIALS[kind])(*tensors([x, degree]))
    same(call("orthogonal_polynomial", x, degree, kind=kind)[0], theirs, rtol=1e-9, atol=1e-9)


def test_trigamma() -> None:
    x = np.concatenate([np.abs(WILD), values(2000, scale=9.0), [-0.5, -20.25, 1e-3]])
    same(call("trigamma", x)[0], torch.polygamma(1, torch.from_numpy(x)), rtol=2e-9)
    (ours,) = call("trigamma", np.array([0.0, -1.0, -7.0, -1e300, math.nan]))
    assert np.isinf(ours[:4]).all() and np.isnan(ours[4])  # torch: 1 over the sine of about pi n


def test_special_functions_of_two_arguments() -> None:
    x, y = (np.abs(some) + 0.1 for some in (values(50, scale=9.0), values(50, seed=1, scale=9.0)))
    tx, ty = tensors([x, y])
    same(call("zeta", x + 1, y)[0], torch.special.zeta(tx + 1, ty), rtol=1e-10)
    for upper, theirs in enumerate((torch.special.gammainc, torch.special.gammaincc)):
        same(call("incomplete_gamma", x, y, upper=upper)[0], theirs(tx, ty), 1e-8, 1e-12)


def test_polygamma() -> None:
    x = np.random.default_rng(6).uniform(-8, 20, 2000)
    theirs = torch.from_numpy(np.abs(x) + 0.1)
    for n in (1, 2, 5, 9):
        named = {"s": n + 1.0, "scale": math.factorial(n) * (-1.0) ** (n + 1)}
        same(call("polygamma", theirs.numpy(), **named)[0], torch.polygamma(n, theirs), rtol=1e-9)
        # The derivative one step on differs by one term, also below 0.
        step = named["scale"] * x ** -(n + 1.0)
        ours, next_one = (call("polygamma", each, **named)[0] for each in (x, x + 1))
        assert np.allclose(ours, next_one + step, rtol=1e-7)
    assert np.isinf(call("polygamma", np.array([0.0, -1.0, -7.0]), **named)[0]).all()


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_binary" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    modules = ("elementwise", "activation", "normal", "special", "reduction", "norm")
    assert not uncompared(*modules)
