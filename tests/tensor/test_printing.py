"""Text: what torch prints, up to the names of types."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore as ic
from kit.requirements import need

torch = need("torch")

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8 float16 bfloat16"

pytestmark = pytest.mark.host  # elsewhere the device is printed too

SAMPLES = [
    torch.tensor(3.0),
    torch.tensor(7),
    torch.tensor([1.0, 2.0, 3.0]),
    torch.tensor([1.5, -2.25, 1e-3]),
    torch.tensor([1e-8, 1.0]),
    torch.tensor([1e10, 1.0]),
    torch.tensor([float("nan"), float("inf"), -1.0]),
    torch.tensor([0.1, float("-inf"), 0.0]),
    torch.tensor([[1, -20], [300, 4]]),
    torch.tensor([True, False]),
    torch.arange(24).reshape(2, 3, 4),
    torch.arange(2000),
    torch.arange(10000.0).reshape(100, 100),
    torch.arange(40.0),
    torch.zeros(0),
    torch.zeros(2, 0),
    torch.zeros(2, 0, dtype=torch.int32),
    torch.tensor([1, 2], dtype=torch.int32),
    torch.tensor([1.5, 2], dtype=torch.float64),
    torch.tensor([1.5, 2], dtype=torch.float16),
    torch.tensor([1.5, 2], dtype=torch.bfloat16),
    torch.arange(30, dtype=torch.int8),
    torch.tensor([1 + 2j, -0.5 - 1j]),
    torch.zeros(3, 3),
    torch.tensor([100000.0, 1.0]),
    torch.tensor([123456.5, 1.25]),
]


@pytest.mark.parametrize("sample", range(len(SAMPLES)))
def test_as_torch(sample: int) -> None:
    expected = repr(SAMPLES[sample]).replace("torch.", "infinicore.")
    found = ic.from_torch(SAMPLES[sample])
    assert repr(found) == expected and str(found) == expected


def test_options() -> None:
    x = torch.tensor([[0.123456, 1234.5], [1.0, 2.0]])
    y = ic.from_torch(x)
    for options in (
        {"precision": 2},
        {"sci_mode": True},
        {"sci_mode": False},
        {"linewidth": 12},
        {"threshold": 2, "edgeitems": 1},
        {"profile": "short"},
        {"profile": "full"},
    ):
        with ic.printoptions(**options):
            torch.set_printoptions(**options)
            try:
                assert repr(y) == repr(x), options
            finally:
                torch.set_printoptions(profile="default")
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
