"""The definitions against torch: a second opinion, in float64, on random and on special values."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")
torch = pytest.importorskip("torch")
F = torch.nn.functional

from spec.operators import OPERATORS, REGISTRY  # noqa: E402
from spec.operators.trace import programs  # noqa: E402

MODULES = ("activation", "blas", "elementwise", "loss", "norm", "reduction")
MINE = [operator for operator in OPERATORS if operator.module in MODULES]
SPECIAL = (0, 1, -1, 0.5, -2, 3, 40, -40, 700, -800, 1e-9, 1e300, -1e300, 5e-324, math.pi)
WILD = (*SPECIAL, -0.0, math.nan, math.inf, -math.inf)
checked: set[str] = set()


def values(*sizes: int, seed: int = 0, scale: float = 2.0) -> Any:
    return np.random.default_rng([seed, *sizes]).normal(size=sizes) * scale


def pairs(numbers: tuple[float, ...] = WILD) -> list[Any]:
    """All pairs of special values, as two arrays."""
    return [grid.reshape(-1) for grid in np.meshgrid(*[np.array(numbers, float)] * 2)]


def call(name: str, *tensors: Any, **attributes: Any) -> list[Any]:
    """What the definition gives, as a list."""
    checked.add(name)
    operator = REGISTRY[name]
    names = [tensor.name for tensor in operator.inputs]
    given = dict(zip(names, tensors, strict=True))
    wanted = set(inspect.signature(operator.definition).parameters)
    assert wanted <= {*given, *attributes}, wanted
    with np.errstate(all="ignore"):
        result = operator.definition(**given, **attributes)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def same(ours: Any, theirs: Any, rtol: float = 1e-12, atol: float = 0.0) -> None:
    theirs = np.asarray(theirs)
    assert ours.size == theirs.size
    np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=rtol, atol=atol)


def tensors(arrays: Any) -> list[Any]:
    return [None if array is None else torch.from_numpy(np.array(array)) for array in arrays]


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
    "silu": F.silu,
    "gelu": F.gelu,
    "gelutanh": lambda x: F.gelu(x, approximate="tanh"),
    "quickgelu": lambda x: x * torch.sigmoid(1.702 * x),
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
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
    # Of gelu's tails torch has as little as 1 + erf(x) leaves.
    same(ours, UNARY[name](torch.from_numpy(x)), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    for a, b in (pairs(), (values(999), values(999, seed=1))):
        (ours,) = call(name, a, b)
        theirs = BINARY[name](*tensors([a, b]))
        if name in ("floor_divide", "fmod"):  # torch gives up where the quotient is huge
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
    assert np.isnan(
        call("clip", np.array([math.nan, 0]), np.array([0, math.nan]), np.ones(2))[0]
    ).all()
    same(call("addcmul", a, b, c, value=0.3)[0], torch.addcmul(ta, tb, tc, value=0.3))
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


# ---- Losses -------------------------------------------------------------------------------------

REDUCTIONS = list(enumerate(("none", "mean", "sum")))


@pytest.mark.parametrize(("reduction", "word"), REDUCTIONS)
def test_losses_by_element(reduction: int, word: str) -> None:
    x, y, v = values(6, 5), values(6, 5, seed=1), np.abs(values(6, 5, seed=2)) * 0.1
    t, ty, tv = tensors([x, y, v])
    for delta in (0.5, 3.0):
        ours = call("huber_loss", x, y, delta=delta, reduction=reduction)[0]
        same(ours, F.huber_loss(t, ty, reduction=word, delta=delta))
    for beta in (0.0, 1.0):
        ours = call("smooth_l1_loss", x, y, beta=beta, reduction=reduction)[0]
        same(ours, F.smooth_l1_loss(t, ty, reduction=word, beta=beta))
    for full in (0, 1):
        ours = call("gaussian_nll_loss", x, y, v, full=full, eps=0.05, reduction=reduction)[0]
        theirs = F.gaussian_nll_loss(t, ty, tv.clone(), full=bool(full), eps=0.05, reduction=word)
        same(ours, theirs)
    sign = np.array([1.0, -1.0, 0.0])[np.arange(30).reshape(6, 5) % 3]
    ours = call("hinge_embedding_loss", x, sign, margin=1.5, reduction=reduction)[0]
    theirs = F.hinge_embedding_loss(t, torch.from_numpy(sign), margin=1.5, reduction=word)
    same(ours, theirs)


@pytest.mark.parametrize(("reduction", "word"), REDUCTIONS)
def test_bce(reduction: int, word: str) -> None:
    x = np.concatenate([values(20), [500.0, -500.0, 0.0, -0.0, 1e-9]]).reshape(5, 5)
    y = np.random.default_rng(0).random((5, 5))
    weight, positive = np.abs(values(5)), np.abs(values(5, seed=1))
    for w, p in itertools.product((None, weight), (None, positive)):
        name = "binary_cross_entropy_with_logits"
        theirs = F.binary_cross_entropy_with_logits(
            *tensors([x, y, w]), reduction=word, pos_weight=tensors([p])[0]
        )
        same(call(name, x, y, w, p, reduction=reduction)[0], theirs, atol=1e-13)


@pytest.mark.parametrize(("reduction", "word"), REDUCTIONS)
def test_losses_by_row(reduction: int, word: str) -> None:
    x, weight = values(6, 5), np.abs(values(5))
    target = np.array([0, 4, 2, 1, 1, 3])
    for p, w in itertools.product((1, 2), (None, weight)):
        theirs = F.multi_margin_loss(
            *tensors([x, target]), p=p, margin=0.7, weight=tensors([w])[0], reduction=word
        )
        given: dict[str, Any] = {"p": p, "margin": 0.7, "reduction": reduction}
        same(call("multi_margin_loss", x, target, w, **given)[0], theirs)
    wild = np.where(np.arange(6) % 2, target, [-1, 5, 99, -(2**62), 2**62, -5])
    given = {"p": 1, "margin": 0.7, "reduction": 0}
    assert (call("multi_margin_loss", x, wild, weight, **given)[0].reshape(-1)[::2] == 0).all()
    anchor, positive, negative = (values(6, 5, seed=s) for s in range(3))
    three = tensors([anchor, positive, negative])
    for swap, p in itertools.product((0, 1), (1, 2, 3)):
        given = {"margin": 1.0, "swap": swap, "reduction": reduction}
        ours = call("triplet_margin_loss", anchor, positive, negative, p=p, eps=1e-6, **given)[0]
        theirs = F.triplet_margin_loss(
            *three, margin=1.0, p=p, eps=1e-6, swap=bool(swap), reduction=word
        )
        same(ours, theirs)
        ours = call("triplet_margin_with_distance_loss", anchor, positive, negative, **given)[0]
        theirs = F.triplet_margin_with_distance_loss(
            *three, margin=1.0, swap=bool(swap), reduction=word
        )
        same(ours, theirs)


def test_cross_entropy() -> None:
    x = values(2, 3, 7)
    x[0, 0] *= 300
    x[0, 1, 2] = -math.inf
    target = np.array([[1, 2, 0], [6, 3, 5]])
    theirs = F.cross_entropy(*tensors([x.reshape(6, 7), target.reshape(6)]), reduction="none")
    same(call("cross_entropy", x, target)[0], theirs.reshape(2, 3))
    wild = np.array([[-1, 7, -100], [2**31 - 1, -(2**31), 2**62]])
    assert (call("cross_entropy", x, wild)[0] == 0).all()


# ---- BLAS ---------------------------------------------------------------------------------------


def test_blas() -> None:
    blas = pytest.importorskip("scipy.linalg.blas")
    x, y = values(9), values(9, seed=1)
    one = np.array([0.75])
    same(call("asum", x)[0], blas.dasum(x))
    same(call("blas_amax", x)[0], blas.idamax(x) + 1)
    same(call("blas_amin", x)[0], np.abs(x).argmin() + 1)
    assert call("blas_amax", x[:0])[0] == call("blas_amin", x[:0])[0] == 0
    same(call("blas_copy", x)[0], x)
    same(call("blas_dot", x, y)[0], blas.ddot(x, y))
    same(call("axpy", one, x, y)[0], blas.daxpy(x, y.copy(), a=0.75))
    same(call("scal", one, x)[0], 0.75 * x)
    for ours, theirs in zip(call("swap", x, y), (y, x), strict=True):
        same(ours, theirs)
    for ours, theirs in zip(
        call("rot", x, y, one, one / 2), blas.drot(x, y, 0.75, 0.375), strict=True
    ):
        same(ours, theirs)
    for scale in (1.0, 1e300, 1e-300, 0.0):
        same(call("nrm2", x * scale)[0], blas.dnrm2(x * scale))
    assert call("nrm2", x[:0])[0] == 0
    assert call("nrm2", np.array([1.0, -math.inf]))[0] == math.inf


def test_rotations() -> None:
    blas = pytest.importorskip("scipy.linalg.blas")
    numbers = (3.0, -3.0, 0.0, 4.0, 1e200, -1e-200)
    for a, b in itertools.product(numbers, numbers):
        r, z, c, s = (float(v.reshape(-1)[0]) for v in call("rotg", np.array([a]), np.array([b])))
        same(np.array([c * a + s * b, c * b - s * a]), [r, 0], atol=1e-15 * abs(r))
        assert c * c + s * s == pytest.approx(1)
        if abs(a) != abs(b) and a and b:
            same(np.array([c, s]), blas.drotg(a, b))
        assert z == pytest.approx(0 if b == 0 else s if abs(a) > abs(b) else 1 / c if c else 1)
    x, y = values(9), values(9, seed=1)
    for flag in (-2.0, -1.0, 0.0, 1.0):
        param = np.array([flag, 0.5, -0.25, 2.0, 1.5])
        theirs = blas.drotm(x, y, param)
        for ours, expected in zip(call("rotm", x, y, param), theirs, strict=True):
            same(ours, expected)


@pytest.mark.parametrize("d1", [2.0, 1e-12, 1e12])
@pytest.mark.parametrize("d2", [3.0, 0.0, 1e-12, 1e12, -0.5])
def test_modified_rotations(d1: float, d2: float) -> None:
    blas = pytest.importorskip("scipy.linalg.blas")
    for x, y in ((1.0, 2.0), (2.0, 0.1), (1.0, 0.0), (-3.0, 3.0)):
        before = np.full(5, 7.0)
        *numbers, param = call("rotmg", *(np.array([v]) for v in (d1, d2, x, y)), before)
        theirs = blas.drotmg(d1, d2, x, y)
        assert param[0] == theirs[0]
        implied = {-2.0: [1, 2, 3, 4], 0.0: [1, 4], 1.0: [2, 3]}.get(param[0], [])
        for i in range(1, 5):
            assert param[i] == (7 if i in implied else pytest.approx(theirs[i]))
        if param[0] >= 0:  # what the rotation is for: x is all that is left
            assert numbers[0] * numbers[2] ** 2 == pytest.approx(d1 * x * x + d2 * y * y)


def test_no_modified_rotation() -> None:
    d1, d2, x, param = call("rotmg", *(np.array([v]) for v in (-1.0, 2.0, 3.0, 4.0)), np.ones(5))
    assert param.tolist() == [-1, 0, 0, 0, 0]
    assert d1 == d2 == x == 0
    for wild in (math.inf, math.nan):  # comes to an end
        call("rotmg", *(np.array([v]) for v in (wild, wild, 1.0, 2.0)), np.ones(5))


# ---- All of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", MINE, ids=lambda operator: operator.name)
def test_has_a_program_or_a_kernel(operator: Any) -> None:
    assert bool(programs(operator)) != operator.kernel


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if len(request.session.items) < len(MINE) + 40:
        pytest.skip("only some tests of this file run")
    assert {operator.name for operator in MINE} <= checked
