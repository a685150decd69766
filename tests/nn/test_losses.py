"""Losses as modules, compared with torch's modules, and the loss of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn, tensor
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.losses import LOSSES
from kit.place import put
from kit.requirements import need

RANDOM = np.random.default_rng(2)
A, B, C = (RANDOM.standard_normal((4, 6)).astype(np.float32) for _ in range(3))
SHARES, CLASSES = np.abs(A) / 4, np.array([1, 0, 5, 2])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0], dtype=np.float32)
WEIGHT = np.linspace(0.5, 2, 6).astype(np.float32)
CASES: dict[str, list[Any]] = {name: [A, B] for name in ("L1Loss", "MSELoss", "HuberLoss")}
CASES |= {name: [A, B] for name in ("SmoothL1Loss", "PoissonNLLLoss")}
CASES |= {name: [SHARES, SHARES[::-1].copy()] for name in ("BCELoss", "BCEWithLogitsLoss")}
CASES |= {name: [A, CLASSES] for name in ("NLLLoss", "CrossEntropyLoss", "MultiMarginLoss")}
CASES |= {name: [A, np.sign(B)] for name in ("SoftMarginLoss", "HingeEmbeddingLoss")}
CASES |= {name: [A, B, C] for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss")}
CASES["KLDivLoss"] = [A, SHARES]
CASES["GaussianNLLLoss"] = [A, B, np.abs(C)]
CASES["CosineEmbeddingLoss"] = [A, B, SIGNS]
CASES["MarginRankingLoss"] = [A[:, 0].copy(), B[:, 0].copy(), SIGNS]
CASES["MultiLabelSoftMarginLoss"] = [A, (B > 0).astype(np.float32)]
CASES["MultiLabelMarginLoss"] = [A, np.array([[1, 3, -1, 0, 0, 0]] * 4)]
WEIGHTED = ("BCELoss", "BCEWithLogitsLoss", "NLLLoss", "CrossEntropyLoss", "MultiMarginLoss")


def compare(name: str, inputs: list[Any], **keywords: Any) -> None:
    torch = need("torch")
    theirs = getattr(torch.nn, name)(**keywords)
    given = {key: put(v) if hasattr(v, "numpy") else v for key, v in keywords.items()}
    ours = getattr(nn, name)(**given)
    if "Distance" not in name:  # torch's repr shows the function, which is a module there
        assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    wanted = theirs(*map(torch.from_numpy, inputs))
    got = ours(*map(tensor, inputs))
    assert np.allclose(got.numpy(force=True), wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "CTCLoss"])
def test_losses(name: str) -> None:
    for reduction in ("mean", "sum", "none"):
        compare(name, CASES[name], reduction=reduction)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_are_buffers(name: str) -> None:
    torch = need("torch")
    compare(name, CASES[name], weight=torch.from_numpy(WEIGHT))
    module = getattr(nn, name)(weight=tensor(WEIGHT))
    assert list(module.state_dict()) == ["weight"]


def test_older_arguments() -> None:
    x, y = tensor(A), tensor(B)
    assert nn.MSELoss(reduce=False)(x, y).shape == x.shape
    assert nn.MSELoss(size_average=False)(x, y).item() == F.mse_loss(x, y, reduction="sum").item()
    assert nn.MSELoss(reduce=True)(x, y).item() == F.mse_loss(x, y).item()
    with pytest.raises(TypeError, match="GaussianNLLLoss"):
        nn.GaussianNLLLoss(True)
    with pytest.raises(TypeError, match="HuberLoss"):
        nn.HuberLoss(margin=1)


# ---- Sequences ----------------------------------------------------------------------------------


def read(logs: Any, target: list[int], blank: int = 0) -> float:
    """-log of the sum over all paths that decode to the target."""
    import itertools

    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=logs.shape[0]):
        letters = [a for a, b in zip(path, (None, *path[:-1]), strict=True) if a != b]
        if [each for each in letters if each != blank] == target:
            total += np.exp(sum(logs[t, a] for t, a in enumerate(path)))
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("blank", [0, 2])
def test_sequences(blank: int) -> None:
    logs = np.log(RANDOM.dirichlet(np.ones(3), (5, 3)))
    letters = [each for each in range(3) if each != blank]
    targets = [[letters[0], letters[0]], [letters[1]], []]
    lengths = [5, 4, 3]
    wanted = [read(logs[:n, i], targets[i], blank) for i, n in enumerate(lengths)]
    rows = np.array([[*each, *[letters[0]] * (2 - len(each))] for each in targets])
    for given in (rows, np.array([each for row in targets for each in row])):
        got = F.ctc_loss(tensor(logs), tensor(given), lengths, [2, 1, 0], blank, "none")
        assert np.allclose(got.numpy(force=True), wanted)
    sizes = tensor([2, 1, 0]), tensor(lengths)
    mean = nn.CTCLoss(blank)(tensor(logs), tensor(rows), sizes[1], sizes[0])
    assert np.isclose(mean.item(), np.mean([wanted[0] / 2, wanted[1], wanted[2]]))
    alone = F.ctc_loss(tensor(logs[:, 0]), tensor(rows[0]), 5, 2, blank, "sum")
    assert np.isclose(alone.item(), wanted[0])


def test_blanks_among_targets() -> None:
    torch = need("torch")
    logs = torch.randn(20, 4, 5).log_softmax(-1)
    targets, sizes = torch.randint(0, 5, (4, 6)), torch.full((4,), 6)
    wanted = torch.nn.functional.ctc_loss(logs, targets, [20] * 4, sizes.tolist(), reduction="none")
    got = F.ctc_loss(
        tensor(logs.numpy()), tensor(targets.numpy()), [20] * 4, [6] * 4, reduction="none"
    )
    assert np.allclose(got.numpy(force=True), wanted, rtol=1e-4)


def test_sequences_that_cannot_be() -> None:
    logs = infinicore.zeros(1, 1, 2)
    target = tensor([[1, 1]])
    assert F.ctc_loss(logs, target, [1], [2]).item() == np.inf
    assert F.ctc_loss(logs, target, [1], [2], zero_infinity=True).item() == 0
    with pytest.raises(ValueError, match="ctc_loss: the largest of input_lengths is 2"):
        F.ctc_loss(logs, target, [2], [2])
    with pytest.raises(ValueError, match="ctc_loss: blank is 2"):
        F.ctc_loss(logs, target, [1], [2], blank=2)
    with pytest.raises(ValueError, match="ctc_loss: reduction is 'best'"):
        F.ctc_loss(logs, target, [1], [2], reduction="best")
