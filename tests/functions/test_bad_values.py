"""Indices, targets and probabilities that are out of range raise on the CPU, as in torch; while a
graph is recorded, and on a device, they are not checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore import tensor
from infinicore.nn import functional as F  # noqa: N812

pytestmark = pytest.mark.host

Call = Callable[[], Any]
LOGITS = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
NAN, INF = math.nan, math.inf


def logits() -> Any:
    return tensor(LOGITS)


BAD_INDICES: dict[str, Call] = {
    "cross_entropy": lambda: F.cross_entropy(logits(), tensor([0, 3])),
    "cross_entropy, negative": lambda: F.cross_entropy(logits(), tensor([-1, 0])),
    "cross_entropy beside an ignored one": lambda: F.cross_entropy(logits(), tensor([-100, 3])),
    "cross_entropy by keywords": lambda: F.cross_entropy(input=logits(), target=tensor([0, 3])),
    "cross_entropy of an image": lambda: F.cross_entropy(
        infinicore.zeros(1, 3, 2), tensor([[0, 3]])
    ),
    "cross_entropy, classes last": lambda: infinicore.cross_entropy(
        infinicore.zeros(1, 2, 3), tensor([[0, 3]])
    ),
    "cross_entropy of one row": lambda: F.cross_entropy(tensor([0.0, 1.0]), tensor(2)),
    "nll_loss": lambda: F.nll_loss(logits(), tensor([0, 3])),
    "nll_loss of int32": lambda: F.nll_loss(logits(), tensor([0, 3], dtype=infinicore.int32)),
    "multi_margin_loss": lambda: F.multi_margin_loss(logits(), tensor([0, 3])),
    "multilabel_margin_loss": lambda: F.multilabel_margin_loss(
        logits(), tensor([[0, 3, -1], [1, -1, -1]])
    ),
    "embedding": lambda: F.embedding(tensor([2]), infinicore.zeros(2, 3)),
    "embedding_bag": lambda: F.embedding_bag(tensor([[0, 2]]), infinicore.zeros(2, 3)),
    "embedding_bag, negative": lambda: F.embedding_bag(tensor([[0, -1]]), infinicore.zeros(2, 3)),
    "one_hot": lambda: F.one_hot(tensor([3]), 3),
    "unravel_index": lambda: infinicore.unravel_index(tensor([6]), (2, 3)),
    "max_unpool1d": lambda: F.max_unpool1d(infinicore.ones(1, 1, 2), tensor([[[0, 4]]]), 2),
    "max_unpool2d": lambda: F.max_unpool2d(infinicore.ones(1, 1, 1), tensor([[[-1]]]), 2),
    "max_unpool3d": lambda: F.max_unpool3d(infinicore.ones(1, 1, 1, 1), tensor([[[[8]]]]), 2),
    "max_unpool1d with a size": lambda: F.max_unpool1d(
        infinicore.ones(1, 1, 1), tensor([[[3]]]), 2, output_size=[3]
    ),
    "searchsorted": lambda: infinicore.searchsorted(
        tensor([1, 2]), tensor([1]), sorter=tensor([0, 2])
    ),
    "gather": lambda: infinicore.gather(logits(), 1, tensor([[3]])),
    "scatter": lambda: infinicore.scatter(logits(), 1, tensor([[3]]), 1.0),
    "index_add": lambda: infinicore.index_add(logits(), 0, tensor([2]), infinicore.ones(1, 3)),
    "take": lambda: infinicore.take(logits(), tensor([6])),
}


@pytest.mark.parametrize("name", BAD_INDICES)
def test_indices_out_of_range(name: str) -> None:
    function = name.partition(" ")[0].rstrip(",")
    for _ in range(2):  # traced, then replayed
        with pytest.raises(IndexError, match=f"^{function}: .*(out of bounds|negative)"):
            BAD_INDICES[name]()


def test_ignored_targets() -> None:
    x = logits()
    both = F.cross_entropy(x, tensor([0, 2]), reduction="none").tolist()
    for ignored in (-100, 255, -1):
        losses = F.cross_entropy(x, tensor([0, ignored]), ignore_index=ignored, reduction="none")
        assert losses.tolist() == [both[0], 0.0]
        losses = F.nll_loss(x, tensor([ignored, 1]), ignore_index=ignored, reduction="none")
        assert losses.tolist() == [0.0, -4.0]
    assert infinicore.unravel_index(tensor([-1]), (2, 3))[1].tolist() == [2]
    for target in (
        [0, 1],
        [0, -100],
        [1, 0],
    ):  # steps for ignored targets only where there are some
        losses = F.nll_loss(x, tensor(target), reduction="none").tolist()
        assert losses == [-float(x[i, t].item()) if t >= 0 else 0.0 for i, t in enumerate(target)]
    with pytest.raises(IndexError, match=r"nll_loss: .*out of bounds"):
        F.nll_loss(x, tensor([0, -100]), ignore_index=None)


def test_recorded_targets_are_not_read() -> None:
    target = tensor([0, 3])
    infinicore.start_graph_recording()
    try:
        F.cross_entropy(logits(), target)
    finally:
        infinicore.stop_graph_recording()


def test_offsets_of_bags() -> None:
    table, indices = infinicore.ones(2, 3), tensor([0, 1])
    with pytest.raises(ValueError, match=r"embedding_bag: offsets\[0\] is 1: expected 0"):
        F.embedding_bag(indices, table, tensor([1]))
    with pytest.raises(ValueError, match=r"embedding_bag: offsets\[-1\] is 3: expected at most 2"):
        F.embedding_bag(indices, table, tensor([0, 3]))
    assert F.embedding_bag(indices, table, tensor([0, 2])).shape == (2, 3)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize(
    "weights",
    [[0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], [1.0, NAN], [1.0, -1.0], [1.0, INF], [NAN, NAN]],
    ids=str,
)
def test_weights_of_multinomial(weights: Any, replacement: bool) -> None:
    with pytest.raises(RuntimeError, match=r"multinomial: .*expected"):
        infinicore.multinomial(tensor(weights), 1, replacement)


def test_weights_that_multinomial_takes() -> None:
    assert infinicore.multinomial(tensor([0.0, 1e-30]), 1).tolist() == [1]
    assert infinicore.multinomial(infinicore.ones(0, 3), 2).shape == (0, 2)


@pytest.mark.parametrize("bad", [-0.5, 1.5, NAN])
def test_probabilities(bad: float) -> None:
    good = tensor([0.5, 0.5])
    with pytest.raises(RuntimeError, match="binary_cross_entropy: input has an element"):
        F.binary_cross_entropy(tensor([0.5, bad]), good)
    with pytest.raises(RuntimeError, match="binary_cross_entropy: target has an element"):
        F.binary_cross_entropy(good, tensor([0.5, bad]))
    with pytest.raises(RuntimeError, match="bernoulli: input has an element"):
        infinicore.bernoulli(tensor([0.5, bad]))


def test_negative_deviations() -> None:
    with pytest.raises(RuntimeError, match=r"normal: std has an element -1\.0"):
        infinicore.normal(0.0, tensor([1.0, -1.0]))


def test_unravel_index_takes_integers() -> None:
    with pytest.raises(TypeError, match="unravel_index: indices has type"):
        infinicore.unravel_index(tensor([1.5]), (2, 3))
    with pytest.raises(ValueError, match="unravel_index: shape is"):
        infinicore.unravel_index(tensor([1]), (2, -3))


@pytest.mark.parametrize("kind", ["float32", "int32", "uint8"])
def test_weights_of_eight_bits(kind: str) -> None:
    a, one = infinicore.ones(2, 4, dtype=infinicore.int8), infinicore.ones(1)
    b = infinicore.ones(3, 4, dtype=getattr(infinicore, kind))
    with pytest.raises(TypeError, match=f"scaled_mm_w8a8: b has type infinicore.{kind}: .*int8"):
        infinicore.scaled_mm_w8a8(a, b, one, infinicore.ones(3))
    if kind != "uint8":
        with pytest.raises(TypeError, match=f"scaled_mm_w4a8: b has type infinicore.{kind}: "):
            infinicore.scaled_mm_w4a8(a, b, one, infinicore.ones(3))


@pytest.mark.parametrize("kind", ["int32", "bool"])
@pytest.mark.parametrize("name", ["sum", "prod", "matmul", "var", "std", "logsumexp"])
def test_results_that_would_be_cut(name: str, kind: str) -> None:
    x = tensor([[1.5, 2.5], [0.5, 1.0]])
    shape = (2, 2) if name == "matmul" else (2,)
    out = infinicore.zeros(*shape, dtype=getattr(infinicore, kind))
    second = x if name == "matmul" else 1
    with pytest.raises(TypeError, match=f"{name}: out has type infinicore.{kind}: expected"):
        getattr(infinicore, name)(x, second, out=out)
    assert not any(out.flatten().tolist())


def test_sum_in_a_type_into_another() -> None:
    x = tensor([1.5, 2.5])
    with pytest.raises(TypeError, match=r"sum: out has type infinicore\.int64"):
        infinicore.sum(x, 0, dtype=infinicore.float64, out=tensor(0))
    assert infinicore.sum(x, 0, out=tensor(0.0, dtype=infinicore.float64)).item() == 4.0
