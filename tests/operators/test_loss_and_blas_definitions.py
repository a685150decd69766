"""The definitions of losses and of BLAS against torch and a BLAS, in float64."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from .second_opinion import F, call, np, same, tensors, torch, uncompared, values

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
        if beta and not reduction:
            same(call("huber", x, y, delta=beta, scale=1 / beta)[0], ours)
            theirs = F.huber_loss(t, ty, reduction=word, delta=0.3)
            same(call("huber", x, y, delta=0.3, scale=1.0)[0], theirs)
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
    from scipy.linalg import blas

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
    from scipy.linalg import blas

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
    from scipy.linalg import blas

    for x, y in ((1.0, 2.0), (2.0, 0.1), (1.0, 0.0), (-3.0, 3.0)):
        before = np.full(5, 7.0)
        *numbers, param = call("rotmg", *(np.array([v]) for v in (d1, d2, x, y)), before)
        theirs = blas.drotmg(d1, d2, x, y)
        assert param[0] == theirs[0]
        implied = {-2.0: [1, 2, 3, 4], 0.0: [1, 4], 1.0: [2, 3]}.get(param[0], [])
        for i in range(1, 5):
            assert param[i] == (7 if i in implied else pytest.approx(theirs[i]))
        if param[0] >= 0:  # the purpose of the rotation: only x is left
            assert numbers[0] * numbers[2] ** 2 == pytest.approx(d1 * x * x + d2 * y * y)


def test_no_modified_rotation() -> None:
    d1, d2, x, param = call("rotmg", *(np.array([v]) for v in (-1.0, 2.0, 3.0, 4.0)), np.ones(5))
    assert param.tolist() == [-1, 0, 0, 0, 0]
    assert d1 == d2 == x == 0
    for wild in (math.inf, math.nan):  # terminates
        call("rotmg", *(np.array([v]) for v in (wild, wild, 1.0, 2.0)), np.ones(5))


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_rotations" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    assert not uncompared("loss", "blas")
