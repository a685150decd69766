"""Arrays that describe themselves by `__array_interface__`: malformed descriptions are errors that
name the field, never a crash."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import infinicore as ic

pytestmark = pytest.mark.host

MEMORY = np.arange(6, dtype=np.float32)


class Described:
    def __init__(self, interface: Any) -> None:
        self.__array_interface__ = interface


def good() -> dict[str, Any]:
    address = MEMORY.ctypes.data
    return {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (address, False),
        "strides": None,
        "version": 3,
    }


BAD: dict[str, list[Any]] = {
    "shape": [None, 5, "ab", (-1, 3), (2.5,), (2**62, 4), (2**64,), ("a",), (None,), {}],
    "typestr": [
        *(None, 5, b"<f4", "", "f4", "<", "<f", "<f3", "<f4x", "<f-4", "<f16", "<f999999999999"),
        *("<O8", "<U4", "|V8", "<M8[ns]", "<i3", ">f4", ">i8"),
    ],
    "data": [
        *(None, 5, b"abc", (), (8,), (0, False), (-1, False), (2**64, False), (-(2**70), False)),
        *(("x", False), (None, False), (1.5, False), ((), ())),
    ],
    "strides": [
        *(5, "ab", (12,), (12, 4, 4), ("a", "b"), (2.5, 4), (12, None), (3, 1)),
        *((2**62, 2**62), (-(2**63), 4), (2**70, 4)),
    ],
    "mask": [MEMORY, 1],
}
CASES = [(field, value) for field, values in BAD.items() for value in values]


def test_a_good_one() -> None:
    for change in ({}, {"strides": (12, 4)}, {"typestr": "|f4"}, {"typestr": "=f4"}):
        made = ic.tensor(Described({**good(), **change}))
        assert made.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert ic.tensor(Described({**good(), "shape": (0, 3), "data": (0, False)})).shape == (0, 3)
    back = {**good(), "shape": (3,), "strides": (-4,), "data": (MEMORY[2:].ctypes.data, False)}
    assert ic.tensor(Described(back)).tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("make", [ic.tensor, ic.as_tensor], ids=["tensor", "as_tensor"])
@pytest.mark.parametrize(("field", "value"), CASES, ids=lambda v: repr(v)[:30])
def test_bad_fields(make: Any, field: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        make(Described({**good(), field: value}))
    text = str(caught.value)
    assert field in text or "elements" in text, text


@pytest.mark.parametrize("field", ["shape", "typestr", "data"])
def test_missing_fields(field: str) -> None:
    interface = good()
    del interface[field]
    with pytest.raises(TypeError, match=f"tensor: __array_interface__ has no {field}"):
        ic.tensor(Described(interface))


@pytest.mark.parametrize("interface", [5, "x", [], ()], ids=repr)
def test_no_dict(interface: Any) -> None:
    with pytest.raises(TypeError, match=r"__array_interface__ is .*: expected a dict"):
        ic.tensor(Described(interface))


def test_random_fields() -> None:
    """Several wrong fields together. Addresses are always those of the memory or null."""
    draw = random.Random(20)
    for _ in range(3000):
        interface = good()
        for field in draw.sample(sorted(BAD), draw.randint(1, 3)):
            interface[field] = draw.choice(BAD[field])
        for field in draw.sample(sorted(interface), draw.randint(0, 1)):
            del interface[field]
        try:
            made = ic.tensor(Described(interface))
        except (TypeError, ValueError):
            continue
        assert made.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], interface


@pytest.mark.parametrize("kind", [">f4", ">f8", ">f2", ">i2", ">i8", ">u4", ">c8"])
def test_other_byte_orders(kind: str) -> None:
    array = np.arange(3).astype(kind)
    for make in (ic.tensor, ic.as_tensor, ic.op.view):
        with pytest.raises(TypeError, match=r"byte order.*newbyteorder"):
            make(array)
    assert ic.tensor(array.astype(array.dtype.newbyteorder("="))).tolist() == [0, 1, 2]
    assert ic.from_numpy(array).tolist() == [0, 1, 2]  # a copy in this machine's order


def test_bytes_have_no_order() -> None:
    assert ic.tensor(np.arange(3).astype(">i1")).tolist() == [0, 1, 2]
