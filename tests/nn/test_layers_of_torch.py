"""Modules beyond those of language models, compared with torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from infinicore.nn import functional as F  # noqa: N812
from infinicore.nn.of_functions import MODULES
from kit.place import put
from kit.requirements import need

RANDOM = np.random.default_rng(11)
SIZES = {1: (7,), 2: (7, 6), 3: (5, 6, 4)}


def compare(name: str, args: Any, keywords: Any, *sizes: tuple[int, ...]) -> None:
    """The module with the same weights gives the same result as torch's."""
    torch = need("torch")
    theirs = getattr(torch.nn, name)(*args, **keywords).eval()
    for key, value in theirs.state_dict().items():
        if value.dtype.is_floating_point:
            value.copy_(torch.rand(value.shape) + 0.1 if "var" in key else torch.randn(value.shape))
    ours = getattr(nn, name)(*args, **keywords)
    state = {key: put(value) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    inputs = [torch.from_numpy(RANDOM.standard_normal(each).astype(np.float32)) for each in sizes]
    with torch.no_grad():
        wanted = theirs(*inputs)
    got = ours(*map(put, inputs))
    pairs = zip(got, wanted, strict=True) if isinstance(wanted, tuple) else [(got, wanted)]
    for one, two in pairs:
        # Sums of large numbers may be small, so the tolerance is relative to the largest result.
        slack = 1e-5 * max(1.0, float(two.abs().max()) if two.numel() else 0.0)
        assert np.allclose(one.numpy(force=True), two.numpy(), rtol=1e-4, atol=slack)


@pytest.mark.parametrize("rank", SIZES)
def test_convolutions(rank: int) -> None:
    image = (2, 4, *SIZES[rank])
    compare(f"Conv{rank}d", (4, 6, 3), {"padding": 1, "groups": 2}, image)
    compare(f"Conv{rank}d", (4, 6, 3), {"stride": 2, "bias": False}, image)
    compare(f"Conv{rank}d", (4, 6, 3), {"padding": 1, "padding_mode": "circular"}, image)
    compare(f"Conv{rank}d", (4, 6, 3), {"padding": "same", "padding_mode": "replicate"}, image)
    compare(f"ConvTranspose{rank}d", (4, 6, 3), {"stride": 2, "output_padding": 1}, image)


@pytest.mark.parametrize("rank", SIZES)
def test_norms(rank: int) -> None:
    image = (2, 4, *SIZES[rank])
    compare(f"BatchNorm{rank}d", (4,), {}, image)
    compare(f"BatchNorm{rank}d", (4,), {"affine": False, "track_running_stats": False}, image)
    compare(f"InstanceNorm{rank}d", (4,), {"affine": True}, image)
    compare(f"InstanceNorm{rank}d", (4,), {"track_running_stats": True}, image)


@pytest.mark.parametrize("rank", SIZES)
def test_pools_and_pads(rank: int) -> None:
    image = (2, 4, *SIZES[rank])
    compare(f"MaxPool{rank}d", (2,), {"padding": 1}, image)
    compare(f"AvgPool{rank}d", (2,), {}, image)
    compare(f"AdaptiveAvgPool{rank}d", (2,), {}, image)
    compare(f"AdaptiveMaxPool{rank}d", (2,), {}, image)
    for word in ("Zero", "Reflection", "Replication", "Circular"):
        compare(f"{word}Pad{rank}d", (1,), {}, image)
    compare(f"ConstantPad{rank}d", (1, 2.5), {}, image)


ACTIVATIONS = """
    CELU ELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU6 SELU
    Softplus Softshrink Softsign Tanhshrink
"""


@pytest.mark.parametrize("name", ACTIVATIONS.split())
def test_activations(name: str) -> None:
    compare(name, (), {}, (3, 8))


OTHERS: list[tuple[str, Any, Any]] = [
    ("LogSoftmax", {"dim": -1}, [(3, 8)]),
    ("Softmin", {"dim": -1}, [(3, 8)]),
    ("Threshold", {"threshold": 0.1, "value": 20.0}, [(3, 8)]),
    ("PixelShuffle", {"upscale_factor": 2}, [(1, 8, 3, 3)]),
    ("PixelUnshuffle", {"downscale_factor": 2}, [(1, 2, 4, 4)]),
    ("ChannelShuffle", {"groups": 2}, [(1, 4, 3, 3)]),
    ("LocalResponseNorm", {"size": 2}, [(1, 4, 3, 3)]),
    ("LPPool1d", {"norm_type": 2, "kernel_size": 2}, [(1, 4, 8)]),
    ("LPPool2d", {"norm_type": 2, "kernel_size": 2}, [(1, 4, 8, 8)]),
    ("Upsample", {"scale_factor": 2, "mode": "bilinear"}, [(1, 2, 3, 4)]),
    ("Unfold", {"kernel_size": 2}, [(1, 2, 3, 4)]),
    ("Fold", {"output_size": (3, 4), "kernel_size": 2}, [(1, 8, 6)]),
    ("CosineSimilarity", {}, [(3, 8), (3, 8)]),
    ("PairwiseDistance", {}, [(3, 8), (3, 8)]),
    ("Flatten", {}, [(2, 3, 4)]),
    ("Unflatten", {"dim": 1, "unflattened_size": (2, 4)}, [(3, 8)]),
]


@pytest.mark.parametrize(("name", "keywords", "sizes"), OTHERS, ids=[row[0] for row in OTHERS])
def test_others(name: str, keywords: Any, sizes: Any) -> None:
    compare(name, (), keywords, *sizes)


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention(batch_first: bool) -> None:
    given = {"batch_first": batch_first}
    compare("MultiheadAttention", (8, 2), given, (5, 3, 8), (5, 3, 8), (5, 3, 8))
    keys = {**given, "kdim": 6, "vdim": 4, "bias": False}
    compare("MultiheadAttention", (8, 2), keys, (5, 3, 8), (5, 3, 6), (5, 3, 4))
    compare("MultiheadAttention", (8, 2), given, (5, 8), (4, 8), (4, 8))
    more = {**given, "add_bias_kv": True, "add_zero_attn": True}
    compare("MultiheadAttention", (8, 2), more, (5, 3, 8), (5, 3, 8), (5, 3, 8))
    for norm_first in (False, True):
        layer = {**given, "norm_first": norm_first, "activation": "gelu"}
        compare("TransformerEncoderLayer", (8, 2, 16), layer, (5, 3, 8))


@pytest.mark.requires("torch")
def test_masks_of_attention() -> None:
    import torch

    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    ours = nn.MultiheadAttention(8, 2, batch_first=True)
    ours.load_state_dict({key: put(value) for key, value in theirs.state_dict().items()})
    x = torch.randn(2, 5, 8)
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    for need_weights in (False, True):
        with torch.no_grad():
            wanted, _ = theirs(x, x, x, padding, need_weights, mask)
        t = put(x)
        got, _ = ours(t, t, t, put(padding), need_weights, put(mask))
        assert np.allclose(got.numpy(force=True), wanted.numpy(), atol=1e-5)


def test_modules_of_functions() -> None:
    """Without torch: each module calls its function."""
    x = infinicore.tensor([[-1.0, 0.5, 3.0, -2.0]])
    assert nn.LeakyReLU(0.2)(x).tolist() == F.leaky_relu(x, 0.2).tolist()
    assert repr(nn.LeakyReLU(0.2)) == "LeakyReLU(negative_slope=0.2)"
    with pytest.raises(TypeError, match="PixelShuffle"):
        nn.PixelShuffle()
    assert set(MODULES) <= set(dir(nn)) | set(nn.__all__)
    assert nn.BatchNorm1d(3)(infinicore.zeros(2, 3)).shape == (2, 3)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    assert encoder(infinicore.zeros(4, 1, 8)).shape == (4, 1, 8)
