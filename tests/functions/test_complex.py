"""Complex tensors, compared with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit.place import KIND

RANDOM = np.random.default_rng(7)
KINDS = {np.complex64: 2e-5, np.complex128: 1e-12}


def values(*sizes: int) -> Any:
    return RANDOM.standard_normal(sizes) + 1j * RANDOM.standard_normal(sizes)


A, B = values(3, 4), values(3, 4)
ic = infinicore
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "number": (lambda a, b: 2 - a * (1 + 2j), lambda a, b: 2 - a * (1 + 2j)),
    "reflected": (lambda a, b: (1 + 2j) / a, lambda a, b: (1 + 2j) / a),
    "div": (lambda a, b: a / b, lambda a, b: a / b),
    "pow": (lambda a, b: a**b, lambda a, b: a**b),
    "square": (lambda a, b: a**2, lambda a, b: a**2),
    "mixed": (lambda a, b: a * b.real, lambda a, b: a * b.real),
    "neg": (lambda a, b: -a, lambda a, b: -a),
    "abs": (lambda a, b: abs(a), lambda a, b: abs(a)),
    "angle": (lambda a, b: ic.angle(a), lambda a, b: np.angle(a)),
    "conj": (lambda a, b: ic.conj(a), lambda a, b: a.conj()),
    "conj_physical": (lambda a, b: ic.conj_physical(a), lambda a, b: a.conj()),
    "resolve_conj": (lambda a, b: ic.resolve_neg(ic.resolve_conj(a)), lambda a, b: a),
    "sgn": (lambda a, b: ic.sgn(a), lambda a, b: a / abs(a)),
    "reciprocal": (lambda a, b: ic.reciprocal(a), lambda a, b: 1 / a),
    "rsqrt": (lambda a, b: ic.rsqrt(a), lambda a, b: 1 / np.sqrt(a)),
    "sigmoid": (lambda a, b: ic.sigmoid(a), lambda a, b: 1 / (1 + np.exp(-a))),
    "polar": (
        lambda a, b: ic.polar(abs(a), ic.angle(a)),
        lambda a, b: a,
    ),
    "equal": (lambda a, b: a == a.T.T, lambda a, b: a == a),
    "not_equal": (lambda a, b: a != b, lambda a, b: a != b),
    "isfinite": (lambda a, b: ic.isfinite(a), lambda a, b: np.isfinite(a)),
    "isnan": (lambda a, b: ic.isnan(a), lambda a, b: np.isnan(a)),
    "logical_not": (lambda a, b: ic.logical_not(a), lambda a, b: ~a.astype(bool)),
    "where": (
        lambda a, b: ic.where(a.real > 0, a, b),
        lambda a, b: np.where(a.real > 0, a, b),
    ),
    "sum": (lambda a, b: a.sum(), lambda a, b: a.sum()),
    "sum of rows": (lambda a, b: a.sum(1, True), lambda a, b: a.sum(1, keepdims=True)),
    "mean": (lambda a, b: a.mean(0), lambda a, b: a.mean(0)),
    "prod": (lambda a, b: a.prod(), lambda a, b: a.prod()),
    "prod of rows": (lambda a, b: a.prod(1), lambda a, b: a.prod(1)),
    "cumsum": (lambda a, b: a.cumsum(0), lambda a, b: a.cumsum(0)),
    "cumprod": (lambda a, b: a.cumprod(1), lambda a, b: a.cumprod(1)),
    "var": (lambda a, b: a.var(0), lambda a, b: a.var(0, ddof=1)),
    "std": (lambda a, b: a.std(), lambda a, b: a.std(ddof=1)),
    "norm": (lambda a, b: ic.norm(a), lambda a, b: np.linalg.norm(a)),
    "any": (lambda a, b: a.any(), lambda a, b: a.any()),
    "matmul": (lambda a, b: a @ b.T, lambda a, b: a @ b.T),
    "matmul with reals": (lambda a, b: a @ b.real.T, lambda a, b: a @ b.real.T),
    "dot": (lambda a, b: ic.dot(a[0], b[0]), lambda a, b: a[0] @ b[0]),
    "vdot": (lambda a, b: ic.vdot(a[0], b[0]), lambda a, b: np.vdot(a[0], b[0])),
    "outer": (lambda a, b: ic.outer(a[0], b[0]), lambda a, b: np.outer(a[0], b[0])),
    "kron": (lambda a, b: ic.kron(a, b), lambda a, b: np.kron(a, b)),
    "einsum": (
        lambda a, b: ic.einsum("ij,kj->ik", a, b),
        lambda a, b: np.einsum("ij,kj->ik", a, b),
    ),
    "addmm": (lambda a, b: ic.addmm(a[:, :3], a, b.T), lambda a, b: a[:, :3] + a @ b.T),
    "cat": (lambda a, b: ic.cat([a, b], 1), lambda a, b: np.concatenate([a, b], 1)),
    "index": (lambda a, b: a[ic.tensor([2, 0])], lambda a, b: a[[2, 0]]),
    "mask": (lambda a, b: a[a.real > 0], lambda a, b: a[a.real > 0]),
    "slices": (lambda a, b: a[1:, ::2] + 1, lambda a, b: a[1:, ::2] + 1),
    "tril": (lambda a, b: ic.tril(a), lambda a, b: np.tril(a)),
    "roll": (lambda a, b: ic.roll(a, 1, 0), lambda a, b: np.roll(a, 1, 0)),
    "diff": (lambda a, b: ic.diff(a), lambda a, b: np.diff(a)),
    "trace": (lambda a, b: ic.trace(a), lambda a, b: np.trace(a)),
    "lerp": (lambda a, b: ic.lerp(a, b, 0.5 + 1j), lambda a, b: a + (0.5 + 1j) * (b - a)),
    "ldexp": (lambda a, b: ic.ldexp(a, ic.tensor(2)), lambda a, b: a * 4),
    "logaddexp": (lambda a, b: ic.logaddexp(a, b).exp(), lambda a, b: np.exp(a) + np.exp(b)),
    "logsumexp": (lambda a, b: ic.logsumexp(a, 1), lambda a, b: np.log(np.exp(a).sum(1))),
    "logcumsumexp": (
        lambda a, b: ic.logcumsumexp(a, 1).exp(),
        lambda a, b: np.exp(a).cumsum(1),
    ),
    "cov": (lambda a, b: ic.cov(a), lambda a, b: np.cov(a)),
    "corrcoef": (lambda a, b: ic.corrcoef(a), lambda a, b: np.corrcoef(a)),
    "dist": (lambda a, b: ic.dist(a, b), lambda a, b: np.linalg.norm(a - b)),
    "dist of order 4": (
        lambda a, b: ic.dist(a, b, 4),
        lambda a, b: (abs(a - b) ** 4).sum() ** 0.25,
    ),
    "pairwise_distance": (
        lambda a, b: F.pairwise_distance(a, b, eps=0),
        lambda a, b: np.linalg.norm(a - b, axis=-1),
    ),
    "l1_loss": (lambda a, b: F.l1_loss(a, b), lambda a, b: abs(a - b).mean()),
    "triplet_margin_loss": (
        lambda a, b: F.triplet_margin_loss(a, b, -b, eps=0),
        lambda a, b: np.maximum(
            np.linalg.norm(a - b, axis=-1) - np.linalg.norm(a + b, axis=-1) + 1, 0
        ).mean(),
    ),
    "normalize": (
        lambda a, b: F.normalize(a),
        lambda a, b: a / np.linalg.norm(a, axis=1, keepdims=True),
    ),
    "rms_norm": (
        lambda a, b: F.rms_norm(a, [4], b[0], 1e-5),
        lambda a, b: a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5) * b[0],
    ),
    "softsign": (lambda a, b: F.softsign(a), lambda a, b: a / (1 + abs(a))),
    "tanhshrink": (lambda a, b: F.tanhshrink(a), lambda a, b: a - np.tanh(a)),
    "pad": (lambda a, b: F.pad(a, (1, 2), value=3.0), lambda a, b: _padded(a)),
    "conv1d": (
        lambda a, b: F.conv1d(a[:, None], b[:2, None, :3], b[0, :2]),
        lambda a, b: _convolved(a, b[:2, :3], b[0, :2]),
    ),
    "grouped conv1d": (
        lambda a, b: F.conv1d(a[None], b[:, None, :3], b[:, 0], groups=3),
        lambda a, b: np.stack(
            [_convolved(a[i : i + 1], b[i : i + 1, :3], b[i : i + 1, 0])[0, 0] for i in range(3)]
        )[None],
    ),
    "conv_transpose1d": (
        lambda a, b: F.conv_transpose1d(a[:, None], b[:1, None]),
        lambda a, b: np.stack([np.convolve(row, b[0]) for row in a])[:, None],
    ),
    "addmm with factors": (
        lambda a, b: ic.addmm(a[:, :3], a, b.T, alpha=1 + 2j, beta=2 - 1j),
        lambda a, b: (2 - 1j) * a[:, :3] + (1 + 2j) * (a @ b.T),
    ),
    "addbmm": (
        lambda a, b: ic.addbmm(a[:, :3], a[None], b.T[None], alpha=1 + 2j, beta=2.0),
        lambda a, b: 2 * a[:, :3] + (1 + 2j) * (a @ b.T),
    ),
    "matrix_exp": (lambda a, b: ic.matrix_exp(a[:, :3]), lambda a, b: expm(a[:, :3])),
    "block_diag": (
        lambda a, b: ic.block_diag(a, b.real),
        lambda a, b: block_diag(a, b.real),
    ),
    "masked_fill": (
        lambda a, b: a.masked_fill(a.real > 0, 1 + 2j),
        lambda a, b: np.where(a.real > 0, 1 + 2j, a),
    ),
    "scatter": (
        lambda a, b: a.scatter(1, ic.zeros(3, 1, dtype=ic.int64), 2.5),
        lambda a, b: np.concatenate([np.full((3, 1), 2.5), a[:, 1:]], 1),
    ),
}


def _padded(a: Any) -> Any:
    return np.pad(a, ((0, 0), (1, 2)), constant_values=3)


def _convolved(a: Any, weight: Any, bias: Any) -> Any:
    rows = [[np.correlate(row, each.conj()) for each in weight] for row in a]
    return np.array(rows) + bias[:, None]


MAPS = [
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
]
ARCS = {name: f"arc{name[1:]}" for name in ["asin", "acos", "atan", "asinh", "acosh", "atanh"]}
for _name, _other in {**dict.fromkeys(MAPS, ""), **ARCS}.items():
    FUNCTIONS[_name] = (
        lambda a, b, name=_name: getattr(ic, name)(a),
        lambda a, b, name=_other or _name: getattr(np, name)(a),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name: str, kind: Any) -> None:
    ours, theirs = FUNCTIONS[name]
    a, b = A.astype(kind), B.astype(kind)
    got = ours(infinicore.tensor(a), infinicore.tensor(b)).numpy(force=True)
    wanted = theirs(A.astype(kind).astype(np.complex128), B.astype(kind).astype(np.complex128))
    assert got.shape == wanted.shape
    single = kind is np.complex64
    kinds = {"c": kind, "f": np.float32 if single else np.float64, "b": np.bool_}
    assert got.dtype == kinds[np.asarray(wanted).dtype.kind]
    assert np.allclose(got, wanted, rtol=20 * KINDS[kind], atol=20 * KINDS[kind])


def test_in_place() -> None:
    x = infinicore.tensor(A)
    x *= infinicore.tensor(B)
    x += 1
    x[0] = 1 + 1j
    wanted = A * B + 1
    wanted[0] = 1 + 1j
    assert np.allclose(x.numpy(force=True), wanted)
    out = infinicore.empty(3, 4, dtype=infinicore.complex128)
    assert infinicore.mul(x, 2, out=out) is out
    assert np.allclose(out.numpy(force=True), 2 * wanted)


@pytest.mark.parametrize("kind", ["?", "u1", "i8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("size", [0, 1, 15, 33, 3001])
def test_conversions(kind: str, size: int) -> None:
    x = (RANDOM.standard_normal((2, size)) * 9).astype(kind)
    if x.dtype.kind == "c":
        x.imag = RANDOM.standard_normal((2, size))
    whole = infinicore.tensor(x)
    for tensor, given in ((whole, x), (whole.T, x.T), (whole[:, 1::2], x[:, 1::2])):
        for target, made in ((np.complex64, tensor.cfloat()), (np.complex128, tensor.cdouble())):
            wanted = given.astype(target)
            assert np.array_equal(made.numpy(force=True), wanted)
            assert np.array_equal(infinicore.conj(made).numpy(force=True), wanted.conj())
    assert whole.to(infinicore.complex32).dtype is infinicore.complex32


# Rows that are packed, that fill blocks, and that do not; operands broadcast along each dimension.
LAYOUTS = [(1, 5000), (40, 3), (40, 17), (7, 300), (300, 2), (3, 1025), (1, 1)]


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
@pytest.mark.parametrize(("rows", "columns"), LAYOUTS)
def test_layouts(rows: int, columns: int, kind: Any) -> None:
    a, b = values(rows, 2 * columns).astype(kind), values(columns, rows).astype(kind)
    x, y = infinicore.tensor(a), infinicore.tensor(b)
    cases = [
        (x[:, :columns], y.T, a[:, :columns], b.T),
        (x[:, ::2], y.T[:1], a[:, ::2], b.T[:1]),
        (x[:, columns:], y.T[:, :1], a[:, columns:], b.T[:, :1]),
        (x[:, :columns], x.real[:, :columns], a[:, :columns], a.real[:, :columns]),
        (x[:, 1::2], x.imag[:, ::2], a[:, 1::2], a.imag[:, ::2]),
        (y.T, y.T, b.T, b.T),
    ]
    for one, other, p, q in cases:
        for made, wanted in ((one * other, p * q), (one - other, p - q), (-one, -p)):
            assert np.allclose(made.numpy(force=True), wanted, rtol=1e-5, atol=1e-5)
    # Results in views, whose neighbours stay.
    out = infinicore.zeros(rows, 2 * columns, dtype=x.dtype, device=KIND)
    infinicore.mul(x[:, ::2], x[:, 1::2], out=out[:, ::2])
    wanted = np.zeros_like(a)
    wanted[:, ::2] = a[:, ::2] * a[:, 1::2]
    assert np.allclose(out.numpy(force=True), wanted, rtol=1e-5, atol=1e-5)
    # The parts exchanged, in place and into parts of other numbers.
    swapped = infinicore.complex(x.imag, x.real)
    assert np.array_equal(swapped.numpy(force=True), a.imag + 1j * a.real)
    x[:, :columns] = x[:, :columns].conj() + 1
    a[:, :columns] = a[:, :columns].conj() + 1
    x.real[:, columns:] = x.imag[:, :columns]
    a.real[:, columns:] = a.imag[:, :columns]
    assert np.allclose(x.numpy(force=True), a)


def test_types_meet() -> None:
    c64, c128 = infinicore.complex64, infinicore.complex128
    single = infinicore.ones(2, dtype=c64)
    assert (single * infinicore.ones(2, dtype=infinicore.float64)).dtype is c128
    assert (single * infinicore.ones(2, dtype=infinicore.int64)).dtype is c64
    assert (infinicore.ones(2) * 1j).dtype is c64
    assert (infinicore.ones(2, dtype=infinicore.float64) * 1j).dtype is c128
    assert (single * 2.5).dtype is c64
    assert infinicore.result_type(infinicore.ones(2), 1j) is c64
    assert (infinicore.ones(2) * infinicore.tensor(1j, dtype=c128)).dtype is c64


def test_complex_numbers_as_exponents() -> None:
    x = np.array([1 + 2j, -0.5j])
    for base, exponent in ((x, 1j), (1j, x), (x.real, 2 + 1j)):
        made = [
            infinicore.tensor(each) if isinstance(each, np.ndarray) else each
            for each in (base, exponent)
        ]
        for work in (infinicore.pow, infinicore.float_power, lambda a, b: a**b):
            assert np.allclose(work(*made).numpy(force=True), base**exponent)


def test_there_is_no_order() -> None:
    x = infinicore.ones(2, dtype=infinicore.complex64)
    for function in (lambda: x < x, lambda: x.amax(), lambda: infinicore.sort(x)):
        with pytest.raises(TypeError, match="complex"):
            function()


def test_recorded_in_a_graph() -> None:
    x, y = infinicore.tensor(A), infinicore.tensor(B)
    with infinicore.record() as made:
        z = infinicore.exp(x * y) @ y.T
    x.copy_(infinicore.tensor(2 * A))
    made.graph.run()
    assert np.allclose(z.numpy(force=True), np.exp(2 * A * B) @ B.T)


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_without_elements_or_dimensions(shape: tuple[int, ...]) -> None:
    x = infinicore.ones(shape, dtype=infinicore.complex64, device=KIND)
    assert (x * (1 + 1j)).shape == x.shape
    assert complex(x.sum().item()) == x.numel()
    assert complex(x.prod().item()) == 1


@pytest.mark.requires("torch")
def test_exchange_with_torch() -> None:
    import torch

    theirs = torch.from_numpy(A)
    ours = infinicore.from_torch(theirs)
    assert np.allclose((ours * 2).numpy(force=True), A * 2)
    if KIND == "cpu":
        assert np.allclose(torch.from_dlpack(ours).numpy(), A)


def test_branch_of_running_logarithms() -> None:
    """Adding one element after the other, the imaginary part never jumps by more than pi / 2."""
    z = RANDOM.standard_normal(50) - np.arange(50) * 0.05 + 3j * np.arange(50)
    wanted = [z[0]]
    for each in z[1:]:
        low, high = sorted((each, wanted[-1]), key=lambda value: value.real)
        wanted.append(high + np.log(1 + np.exp(low - high)))
    assert np.allclose(infinicore.logcumsumexp(infinicore.tensor(z), 0).numpy(force=True), wanted)
    with pytest.raises(TypeError, match="logcumsumexp"):
        infinicore.logcumsumexp(infinicore.tensor(z), 0, reverse=True)


def test_complex_random_numbers() -> None:
    infinicore.manual_seed(3)
    z = infinicore.randn(20000, dtype=infinicore.complex64).numpy(force=True)
    assert abs(z.mean()) < 0.05
    assert abs((abs(z) ** 2).mean() - 1) < 0.05
    z = infinicore.zeros(20000, dtype=infinicore.complex64).uniform_(1, 2).numpy(force=True)
    for part in (z.real, z.imag):
        assert part.min() >= 1
        assert abs(part.mean() - 1.5) < 0.05
    z = infinicore.rand_like(infinicore.tensor(A)).numpy(force=True)
    assert z.dtype == np.complex128
    with pytest.raises(TypeError, match="rand"):
        infinicore.rand(2, dtype=infinicore.int64)


def test_complex_numbers_into_real_tensors() -> None:
    with pytest.raises(RuntimeError, match="masked_fill: value is complex"):
        infinicore.zeros(2).masked_fill(infinicore.tensor([True, False]), 1j)
    with pytest.raises(TypeError, match="bias"):
        F.conv1d(infinicore.ones(1, 1, 3), infinicore.ones(1, 1, 2), infinicore.tensor([1j]))


def test_the_product_of_one_number_is_no_view() -> None:
    z = infinicore.tensor(1 + 2j)
    z.prod(0).fill_(0)
    assert z.item() == 1 + 2j
