"""Complex tensors, compared with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import infinicore
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
}
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


def test_types_meet() -> None:
    c64, c128 = infinicore.complex64, infinicore.complex128
    single = infinicore.ones(2, dtype=c64)
    assert (single * infinicore.ones(2, dtype=infinicore.float64)).dtype is c128
    assert (single * infinicore.ones(2, dtype=infinicore.int64)).dtype is c64
    assert (infinicore.ones(2) * 1j).dtype is c64
    assert (infinicore.ones(2, dtype=infinicore.float64) * 1j).dtype is c128
    assert (single * 2.5).dtype is c64
    assert infinicore.result_type(infinicore.ones(2), 1j) is c64


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
