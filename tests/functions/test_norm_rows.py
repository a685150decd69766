"""Norms and softmax of rows of every length: full vectors and remainders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812

LENGTHS = [*range(1, 20), 31, 32, 33, 47, 64, 65, 100, 129, 1000, 4099]
TOLERANCE = {"float32": 3e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(20)


def made(rng: Any, shape: tuple[int, ...], dtype: str) -> tuple[Any, np.ndarray]:
    """A tensor, and its values in double precision."""
    values = infinicore.tensor(rng.standard_normal(shape).astype(np.float32))
    tensor = values.to(getattr(infinicore, dtype))
    return tensor, tensor.to(infinicore.float64).numpy(force=True)


def check(ours: Any, expected: np.ndarray, dtype: str, what: Any) -> None:
    found = ours.to(infinicore.float64).numpy(force=True)
    scale = max(1.0, float(np.abs(expected).max()))
    assert np.abs(found - expected).max() <= TOLERANCE[dtype] * scale, what


def softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def standard(x: np.ndarray, dims: Any, eps: float = 1e-5) -> np.ndarray:
    away = x - x.mean(dims, keepdims=True)
    return away / np.sqrt((away * away).mean(dims, keepdims=True) + eps)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_rows_of_every_length(dtype: str, rng: Any) -> None:
    for n in LENGTHS:
        for rows in (1, 5, 300 if n < 50 else 3):
            x, a = made(rng, (rows, n), dtype)
            w, u = made(rng, (n,), dtype)
            b, v = made(rng, (n,), dtype)
            check(F.softmax(x, -1), softmax(a), dtype, ("softmax", rows, n))
            check(F.log_softmax(x, -1), np.log(softmax(a)), dtype, ("log_softmax", rows, n))
            rms = a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5) * u
            check(F.rms_norm(x, (n,), w, 1e-5), rms, dtype, ("rms_norm", rows, n))
            normed = standard(a, -1) * u
            check(F.layer_norm(x, (n,), w), normed, dtype, ("layer_norm", rows, n))
            check(F.layer_norm(x, (n,), w, b), normed + v, dtype, ("layer_norm+", rows, n))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_rows_in_place_and_apart(dtype: str, rng: Any) -> None:
    """Results over their operands, rows with gaps, and rows of two outer dimensions."""
    for n in (3, 8, 21, 130):
        x, a = made(rng, (4, 6, n), dtype)
        views = [(x[:, ::2], a[:, ::2]), (x.permute(1, 0, 2), a.transpose(1, 0, 2)), (x[1], a[1])]
        for view, values in views:
            check(F.softmax(view, -1), softmax(values), dtype, n)
            check(F.log_softmax(view, -1), np.log(softmax(values)), dtype, n)
            w, u = made(rng, (n,), dtype)
            check(F.layer_norm(view, (n,), w), standard(values, -1) * u, dtype, n)
        F.softmax(x, -1, out=x)
        check(x, softmax(a), dtype, n)


def test_extreme_rows() -> None:
    x = infinicore.tensor([[1e4, 1e4 - 1, -1e4, 0.0, 3.0] * 5, [-np.inf, 0.0, 1.0, 2.0, 3.0] * 5])
    found = F.softmax(x, -1).numpy(force=True)
    assert np.allclose(found, softmax(x.numpy(force=True).astype(np.float64)), rtol=1e-6)
    x[1, 3] = float("nan")
    found = F.softmax(x, -1).numpy(force=True)
    assert np.isnan(found[1]).all()
    assert not np.isnan(found[0]).any()
    assert np.isnan(F.log_softmax(x, -1).numpy(force=True)[1]).all()


IMAGES = [(2, 6, 7, 7), (3, 12, 1, 1), (1, 3, 130, 130), (4, 6, 3, 3), (2, 4, 5), (2, 8, 2, 3, 4)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", IMAGES, ids=str)
def test_norms_of_channels(shape: tuple[int, ...], dtype: str, rng: Any) -> None:
    channels, rank = shape[1], len(shape)
    along = (channels, *[1] * (rank - 2))
    x, a = made(rng, shape, dtype)
    w, u = made(rng, (channels,), dtype)
    b, v = made(rng, (channels,), dtype)
    mean, m = made(rng, (channels,), dtype)
    var, s = made(rng, (channels,), dtype)
    var, s = var.abs(), np.abs(s)
    u, v, m, s = (each.reshape(along) for each in (u, v, m, s))
    given = (a - m) / np.sqrt(s + 1e-2)
    check(F.batch_norm(x, mean, var, eps=1e-2), given, dtype, "given")
    check(F.batch_norm(x, mean, var, w, b, eps=1e-2), given * u + v, dtype, "given, scaled")
    others = (0, *range(2, rank))
    own = F.batch_norm(x, None, None, w, b, training=True)
    check(own, standard(a, others) * u + v, dtype, "batch")
    if a[0, 0].size > 1:
        check(F.instance_norm(x), standard(a, tuple(range(2, rank))), dtype, "instance")
    groups = 3 if channels % 3 == 0 else 2
    parts = a.reshape(shape[0], groups, -1)
    normed = standard(parts, 2).reshape(shape)
    if parts.shape[2] > 1:
        check(F.group_norm(x, groups), normed, dtype, "groups")
        check(F.group_norm(x, groups, w, b), normed * u + v, dtype, "groups, scaled")
        check(F.group_norm(x, groups, None, b), normed + v, dtype, "groups, moved")


def test_norms_of_channels_last(rng: Any) -> None:
    x, a = made(rng, (2, 5, 6, 4), "float32")
    view, values = x.permute(0, 3, 1, 2), a.transpose(0, 3, 1, 2)
    check(F.batch_norm(view, training=True), standard(values, (0, 2, 3)), "float32", "batch")
    check(F.group_norm(view, 1), standard(values, (1, 2, 3)), "float32", "groups")
    w, u = made(rng, (4,), "float32")
    mean = infinicore.zeros(4)
    found = F.batch_norm(view, mean, infinicore.ones(4), w, eps=0.0)
    check(found, values * u.reshape(4, 1, 1), "float32", "given")
