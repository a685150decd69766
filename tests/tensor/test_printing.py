"""repr: the same as torch's, except for the names of types."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import infinicore as ic
from kit import process, ref
from kit.place import put
from kit.requirements import need

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8 float16 bfloat16"

pytestmark = pytest.mark.host  # elsewhere the device is printed too

SAMPLES = [
    ref.tensor(3.0),
    ref.tensor(7),
    ref.tensor([1.0, 2.0, 3.0]),
    ref.tensor([1.5, -2.25, 1e-3]),
    ref.tensor([1e-8, 1.0]),
    ref.tensor([1e10, 1.0]),
    ref.tensor([float("nan"), float("inf"), -1.0]),
    ref.tensor([0.1, float("-inf"), 0.0]),
    ref.tensor([[1, -20], [300, 4]]),
    ref.tensor([True, False]),
    ref.arange(24).view(2, 3, 4),
    ref.arange(2000),
    ref.arange(10000.0).view(100, 100),
    ref.arange(40.0),
    ref.zeros(0),
    ref.zeros(2, 0),
    ref.zeros(2, 0, dtype=ref.int32),
    ref.tensor([1, 2], dtype=ref.int32),
    ref.tensor([1.5, 2], dtype=ref.float64),
    ref.tensor([1.5, 2], dtype=ref.float16),
    ref.tensor([1.5, 2], dtype=ref.bfloat16),
    ref.arange(30, dtype=ref.int8),
    ref.tensor([1 + 2j, -0.5 - 1j], dtype=np.dtype(np.complex64)),
    ref.zeros(3, 3),
    ref.tensor([100000.0, 1.0]),
    ref.tensor([123456.5, 1.25]),
]


# Of the samples in their order, and of OPTIONS, as torch prints them.
TEXTS = json.loads((process.TESTS / "expectations" / "printed_by_torch.json").read_text())
OPTIONS: list[dict[str, Any]] = [
    {"precision": 2},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 12},
    {"threshold": 2, "edgeitems": 1},
    {"profile": "short"},
    {"profile": "full"},
]
MATRIX = ref.tensor([[0.123456, 1234.5], [1.0, 2.0]])


@pytest.mark.parametrize("sample", range(len(SAMPLES)))
def test_samples(sample: int) -> None:
    found = put(SAMPLES[sample]).cpu()
    assert repr(found) == str(found) == TEXTS["samples"][sample]


def test_what_torch_prints() -> None:
    torch = need("torch")
    texts = [repr(ref.to_torch(sample)).replace("torch.", "infinicore.") for sample in SAMPLES]
    assert texts == TEXTS["samples"]
    for options, text in zip(OPTIONS, TEXTS["options"], strict=True):
        torch.set_printoptions(**options)
        try:
            assert repr(ref.to_torch(MATRIX)) == text, options
        finally:
            torch.set_printoptions(profile="default")


def test_options() -> None:
    for options, text in zip(OPTIONS, TEXTS["options"], strict=True):
        with ic.printoptions(**options):
            assert repr(put(MATRIX).cpu()) == text, options
    before = ic.get_printoptions()
    ic.set_printoptions(precision=1)
    assert repr(ic.tensor([0.25])) == "tensor([0.2])"
    ic.set_printoptions(profile="default")
    assert ic.get_printoptions() == before
    with pytest.raises(ValueError, match="profile"):
        ic.set_printoptions(profile="odd")
    with pytest.raises(ValueError, match="precision"):
        ic.set_printoptions(precision=-1)


def test_every_type() -> None:
    for name in NAMES.split():
        assert repr(ic.ones(2, dtype=getattr(ic, name))).startswith("tensor([")
    assert f"{ic.tensor(2.5):.2f}" == "2.50" and f"{ic.tensor([1])}" == "tensor([1])"
    assert repr(ic.from_numpy(np.arange(3))) == "tensor([0, 1, 2])"
