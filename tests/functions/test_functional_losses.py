"""Losses and distances against ref."""

from __future__ import annotations

import math
from typing import Any

import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812
from kit import ref
from kit.functions import Case, I, Run, T, runs
from kit.functions import case as plain_case
from kit.place import put


def case(name: str, *args: Any, skip: str = "", **keywords: Any) -> Case:
    keywords.setdefault("reference", getattr(ref, name))
    return plain_case(f"nn.functional.{name}", *args, skip=skip, **keywords)


X, Y = T(3, 4), T(3, 4)
SHARE = T(3, 4, low=0.05, high=0.95)
POSITIVE = T(3, 4, low=0.1, high=2)


def signs(x: ref.Tensor) -> ref.Tensor:
    return ref.where(x > 0, 1.0, -1.0).to(x.dtype)


CASES = [
    *(
        case(name, X, Y, reduction=reduction)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss")
        for reduction in ("none", "mean", "sum")
    ),
    case("mse_loss", X, Y),
    case("smooth_l1_loss", X, Y, beta=0.5),
    case("smooth_l1_loss", X, Y, beta=0.0),
    case("huber_loss", X, Y, delta=0.7),
    *(
        case("kl_div", X, SHARE, reduction=reduction)
        for reduction in ("none", "mean", "sum", "batchmean")
    ),
    case("kl_div", X, Y, log_target=True, reduction="sum", close=4),
    *(
        case("binary_cross_entropy", SHARE, SHARE, reduction=reduction)
        for reduction in ("none", "mean", "sum")
    ),
    case("binary_cross_entropy", SHARE, SHARE, weight=POSITIVE),
    *(
        case("binary_cross_entropy_with_logits", X, SHARE, reduction=reduction)
        for reduction in ("none", "mean", "sum")
    ),
    case("binary_cross_entropy_with_logits", X, SHARE, weight=POSITIVE, pos_weight=T(4, low=0)),
    case("gaussian_nll_loss", X, Y, POSITIVE),
    case("gaussian_nll_loss", X, Y, POSITIVE, full=True, eps=0.5, reduction="none"),
    case("gaussian_nll_loss", X, Y, T(3, 1, low=0.1), reduction="sum"),
    case("poisson_nll_loss", X, POSITIVE),
    case("poisson_nll_loss", POSITIVE, T(3, 4, low=0, high=3), log_input=False, full=True),
    case("hinge_embedding_loss", X, Y, reduction="none"),
    case("hinge_embedding_loss", X, Y, margin=2.0),
    case("margin_ranking_loss", T(5), T(5), T(5), margin=0.3),
    case("margin_ranking_loss", T(5), T(5), T(5), reduction="none"),
    case("cosine_embedding_loss", X, Y, T(3), margin=0.1, reduction="none"),
    case("cosine_embedding_loss", T(4), T(4), T(), reduction="none"),
    case("multi_margin_loss", X, I(3, below=4), kinds="f32 f64"),
    case("multi_margin_loss", X, I(3, below=4), p=2, margin=0.5, reduction="none"),
    case("multi_margin_loss", X, I(3, below=4), weight=T(4, low=0), reduction="sum"),
    case("multilabel_margin_loss", T(3, 5), I(3, 5, below=5, low=-1), reduction="none"),
    case("multilabel_margin_loss", T(3, 5), I(3, 5, below=5, low=-1)),
    case("multilabel_margin_loss", T(5), I(5, below=5, low=-1)),
    case("multilabel_margin_loss", T(20, 33), I(20, 33, below=33, low=-1), reduction="sum"),
    case("multilabel_soft_margin_loss", X, SHARE),
    case("multilabel_soft_margin_loss", X, SHARE, weight=T(4), reduction="none"),
    *(
        case("triplet_margin_loss", X, Y, T(3, 4), swap=swap, p=p, reduction=reduction)
        for swap, p, reduction in ((False, 2, "mean"), (True, 2, "none"), (False, 1, "sum"))
    ),
    case("triplet_margin_with_distance_loss", X, Y, T(3, 4)),
    case("triplet_margin_with_distance_loss", X, Y, T(3, 4), margin=2.0, swap=True),
    *(
        case("nll_loss", X, I(3, below=4), reduction=reduction)
        for reduction in ("none", "mean", "sum")
    ),
    case("nll_loss", T(2, 4, 3), I(2, 3, below=4), weight=T(4, low=0.1), ignore_index=1),
    case("nll_loss", T(4), I(below=4)),
    *(
        case("cross_entropy", X, I(3, below=4), reduction=reduction)
        for reduction in ("none", "mean", "sum")
    ),
    case("cross_entropy", T(2, 4, 3), I(2, 3, below=4), ignore_index=2),
    case("cross_entropy", X, I(3, below=4), weight=T(4, low=0.1), label_smoothing=0.2),
    case("cross_entropy", X, I(3, below=4), label_smoothing=0.2, ignore_index=0, reduction="sum"),
    case("cross_entropy", X, SHARE),
    case("cross_entropy", X, SHARE, weight=T(4, low=0.1), label_smoothing=0.1, reduction="none"),
    case("cross_entropy", T(4), I(below=4)),
    case("pairwise_distance", X, Y),
    case("pairwise_distance", X, Y, p=1.0, keepdim=True),
    case("pairwise_distance", X, Y, p=3.0, eps=0.1),
    case("pairwise_distance", T(3, 4), T(4)),
    case("cosine_similarity", X, Y),
    case("cosine_similarity", T(3, 4, 2), T(4, 2), dim=-1, eps=1e-3),
    case("normalize", X),
    case("normalize", T(3, 4, 2), p=1.0, dim=0),
    case("normalize", T(3, 4, 2), p=3.0, dim=(1, 2), eps=0.1),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_targets_of_one_sign() -> None:
    x = ref.linspace(-2, 2, 10)
    t = signs(ref.linspace(1, -1, 10))
    for name in ("hinge_embedding_loss", "soft_margin_loss"):
        ours = getattr(F, name)(put(x), put(t))
        expected = getattr(ref, name)(x, t)
        ref.assert_close(ref.tensor(ours.item()), expected)


def test_labels_of_extreme_values() -> None:
    """Only terms above 0 are counted, and nothing behind the first -1."""
    low, high, nan = -math.inf, math.inf, math.nan
    x = infinicore.tensor([[high, 0.5, nan, 0.0], [0.0, 0.5, low, high]])
    labels = infinicore.tensor([[1, -1, 2, 0], [3, 3, -1, 0]])
    found = F.multilabel_margin_loss(x, labels, reduction="none")
    assert found.tolist() == [high, 0.0]
    assert F.multilabel_margin_loss(x[:1, :3], labels[:1, :3] * 0 - 1).item() == 0
    assert F.multilabel_margin_loss(x[:0], labels[:0], reduction="none").shape == (0,)


def test_a_distance_of_ones_own() -> None:
    x, y, z = (ref.randn(3, 4) for _ in range(3))
    ours = F.triplet_margin_with_distance_loss(
        *(put(t) for t in (x, y, z)),
        distance_function=lambda a, b: F.pairwise_distance(a, b, p=1.0),
    )
    expected = ref.triplet_margin_with_distance_loss(
        x, y, z, distance_function=lambda a, b: ref.pairwise_distance(a, b, p=1.0)
    )
    ref.assert_close(ref.tensor(ours.item()), expected)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights(name: str) -> None:
    x, y, w = (ref.rand(3, 4) for _ in range(3))
    for reduction in ("none", "mean", "sum"):
        ours = getattr(F, name)(
            *(put(t) for t in (x, y)),
            weight=put(w),
            reduction=reduction,
        )
        expected = getattr(ref, name)(x, y, weight=w, reduction=reduction)
        ref.assert_close(ref.tensor(ours.tolist()), expected)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.mse_loss(x, x, reduction="all"), "mse_loss: reduction is 'all'"),
        (lambda x: F.l1_loss(x, infinicore.ones(5)), "l1_loss: target has shape"),
        (lambda x: F.huber_loss(x, x, 0.0), "huber_loss: delta is 0.0"),
        (
            lambda x: F.nll_loss(x, infinicore.zeros(4, dtype=infinicore.int64)),
            "nll_loss: target.shape is",
        ),
        (
            lambda x: F.multi_margin_loss(x, infinicore.zeros(3, dtype=infinicore.int64), p=3),
            "multi_margin_loss: p is 3",
        ),
    ],
)
def test_refused(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call(infinicore.ones(3, 4))
