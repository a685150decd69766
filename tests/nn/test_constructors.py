"""Invalid arguments are rejected by a module's constructor, as in torch."""

from __future__ import annotations

from typing import Any

import pytest

from infinicore import nn

pytestmark = pytest.mark.host

REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("GroupNorm", (3, 4), {}, "num_channels is 4: expected a multiple"),
    ("GroupNorm", (0, 4), {}, "num_channels"),
    ("Embedding", (5, 3), {"padding_idx": 9}, "padding_idx is 9"),
    ("Embedding", (5, 3), {"padding_idx": -6}, "padding_idx is -6"),
    ("EmbeddingBag", (5, 3), {"padding_idx": 1.5}, "padding_idx is 1.5: expected an integer"),
    ("Bilinear", (0, 3, 4), {}, "in1_features is 0"),
    ("Linear", (4, True), {}, "out_features is True: expected an integer"),
    ("Linear", ("x", 3), {}, "in_features is 'x': expected an integer"),
    ("Conv2d", (4, 4, 3), {"padding": "x"}, "padding is 'x'"),
    ("Conv2d", (4, 4, 3), {"padding": "same", "stride": 2}, "padding is 'same'"),
    ("Conv2d", (4, 4, 3), {"groups": 0}, "groups is 0"),
    ("FractionalMaxPool2d", (2,), {}, "output_ratio is None"),
    ("FractionalMaxPool2d", (2, 1), {"output_ratio": 0.5}, "output_ratio is 0.5"),
    ("FractionalMaxPool3d", (0, 1), {}, "kernel_size is 0"),
    ("Hardtanh", (1.0, -1.0), {}, "max_val is -1.0: expected more than min_val"),
    ("HuberLoss", (), {"delta": "x"}, "delta is 'x'"),
    ("MultiMarginLoss", (3,), {}, "p is 3: expected 1 or 2"),
    ("MultiheadAttention", (4, -1), {}, "num_heads is -1"),
    ("MultiheadAttention", (4, 2), {"kdim": []}, "kdim is"),
    ("TransformerEncoderLayer", (0, 2), {}, "d_model is 0"),
    ("TripletMarginLoss", (-1.0,), {}, "margin is -1.0"),
    ("Unflatten", (1, "ab"), {}, "unflattened_size is 'ab'"),
    ("Upsample", (), {"scale_factor": "x"}, "scale_factor is 'x'"),
    ("BatchNorm2d", (None,), {}, "num_features is NoneType: expected an integer"),
]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]}{row[1]}{row[2]}")
def test_refused(row: tuple[str, tuple[Any, ...], dict[str, Any], str]) -> None:
    name, args, keywords, text = row
    with pytest.raises((TypeError, ValueError), match=f"^{name}: ") as caught:
        getattr(nn, name)(*args, **keywords)
    assert text in str(caught.value)


@pytest.mark.requires("torch")
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]}{row[1]}{row[2]}")
def test_torch_refuses_the_same(row: tuple[str, tuple[Any, ...], dict[str, Any], str]) -> None:
    import torch

    name, args, keywords, _ = row
    if name == "GroupNorm" and args == (0, 4):
        pytest.skip("torch divides by zero")
    if name == "HuberLoss" and torch.__version__ < "2.13":
        pytest.skip("torch looks at delta from 2.13 on")
    with pytest.raises((TypeError, ValueError, AssertionError, IndexError)):
        getattr(torch.nn, name)(*args, **keywords)


def test_taken() -> None:
    assert nn.GroupNorm(2, 4, bias=False).bias is None
    assert nn.BatchNorm1d(3, bias=False).weight is not None
    assert nn.InstanceNorm1d(3, affine=True, bias=False).bias is None
    assert str(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
    assert nn.Embedding(5, 3, padding_idx=-1).padding_idx == -1

    class Own(nn.GroupNorm):
        def __init__(self) -> None:
            super().__init__(2, 4)

    assert Own().num_groups == 2
