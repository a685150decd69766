"""Masked functions, compared with NumPy's masked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import masked, tensor

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((4, 5, 6))
MASK = RANDOM.random((4, 5, 6)) < 0.7
MASK[0, 0] = True  # a row of which everything is left
MASK[:, :, 0] = True  # and something of each
LEFT = np.ma.array(X, mask=~MASK)
FOLDS = ("sum", "prod", "mean", "var", "std")


def close(got: Any, wanted: Any) -> None:
    assert np.allclose(got.numpy(force=True), np.asarray(wanted))


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dim", [2, (0, 2), None])
def test_folds(name: str, dim: Any) -> None:
    keywords = {"ddof": 1} if name in ("var", "std") else {}
    wanted = getattr(LEFT, name)(axis=dim, **keywords)
    close(getattr(masked, name)(tensor(X), dim, mask=tensor(MASK)), wanted)
    kept = getattr(masked, name)(tensor(X), dim, keepdim=True, mask=tensor(MASK))
    assert kept.ndim == 3
    close(kept.reshape(np.shape(wanted)), wanted)


def test_extremes() -> None:
    for name, other in (("amax", "max"), ("amin", "min")):
        close(
            getattr(masked, name)(tensor(X), (0, 1), mask=tensor(MASK)),
            getattr(LEFT, other)((0, 1)),
        )
        place = getattr(masked, name.replace("a", "arg", 1))(tensor(X), 1, mask=tensor(MASK))
        close(place, getattr(LEFT, f"arg{other}")(1))
    whole = (X * 10).astype(np.int32)
    close(masked.amax(tensor(whole), 2, mask=tensor(MASK)), np.ma.array(whole, mask=~MASK).max(2))
    with pytest.raises(TypeError, match="amax: no tensors of type"):
        masked.amax(tensor(MASK), 2, mask=tensor(MASK))


def test_medians() -> None:
    rows = [np.sort(x[m])[(m.sum() - 1) // 2] for x, m in zip(X[0], MASK[0], strict=True)]
    close(masked.median(tensor(X[0]), mask=tensor(MASK[0])), rows)
    nothing = infinicore.tensor([False] * 6)
    assert masked.median(tensor(X[0]), mask=nothing).isnan().all().item()


def test_logarithms() -> None:
    powers = np.where(MASK, np.exp(X), 0)
    close(masked.logsumexp(tensor(X), (0, 2), mask=tensor(MASK)), np.log(powers.sum((0, 2))))
    close(masked.softmax(tensor(X), 2, mask=tensor(MASK)), powers / powers.sum(2, keepdims=True))
    with np.errstate(divide="ignore"):
        logs = np.log(powers / powers.sum(2, keepdims=True))
    close(masked.log_softmax(tensor(X), -1, mask=tensor(MASK)), logs)
    powers = np.where(MASK, np.exp(-X), 0)
    close(masked.softmin(tensor(X), 2, mask=tensor(MASK)), powers / powers.sum(2, keepdims=True))
    got = masked.logaddexp(tensor(X), tensor(X), input_mask=tensor(MASK))
    close(got, np.where(MASK, X + np.log(2), X))


def test_running() -> None:
    close(masked.cumsum(tensor(X), 1, mask=tensor(MASK)), np.where(MASK, X, 0).cumsum(1))
    close(masked.cumprod(tensor(X), 1, mask=tensor(MASK)), np.where(MASK, X, 1).cumprod(1))


@pytest.mark.parametrize("ord", [1.0, 2.0, 3.0, np.inf, -np.inf])
def test_norms(ord: float) -> None:
    rows = [np.linalg.norm(x[m], ord) for x, m in zip(X[0], MASK[0], strict=True)]
    close(masked.norm(tensor(X[0]), ord, 1, mask=tensor(MASK[0])), rows)
    unit = masked.normalize(tensor(X[0]), ord, 1, mask=tensor(MASK[0]))
    close(unit, np.where(MASK[0], X[0], 0) / np.array(rows)[:, None])


def test_masks() -> None:
    """A mask is broadcast, may be of numbers, and may be absent."""
    row = np.array([1, 0, 2, 0, 0, 1])
    close(masked.sum(tensor(X), 2, mask=tensor(row)), X[..., row != 0].sum(2))
    close(masked.var(tensor(X), 1, unbiased=False), X.var(1))
    close(masked.std(tensor(X), 1, correction=2), X.std(1, ddof=2))
    assert masked.sum(tensor(MASK), mask=tensor(MASK)).dtype is infinicore.int64
    assert masked.sum(tensor(X), dtype=infinicore.float32).dtype is infinicore.float32
    with pytest.raises(IndexError, match="sum: mask has 3 dimensions"):
        masked.sum(infinicore.ones(6), mask=tensor(MASK))
    with pytest.raises(ValueError, match="mean: the type is"):
        masked.mean(tensor(MASK))
