"""`infinicore.save` and `infinicore.load`."""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import infinicore
from infinicore import nn


class Stranger:
    pass


def again(value: Any, **keywords: Any) -> Any:
    buffer = io.BytesIO()
    infinicore.save(value, buffer)
    return infinicore.load(io.BytesIO(buffer.getvalue()), **keywords)


def test_containers_of_tensors(tmp_path: Path) -> None:
    x = infinicore.arange(6).reshape(2, 3)
    given = OrderedDict(x=x, parts=[x[0], (x.T, 2.5)], kind=x.dtype, name="x", z=1 + 2j)
    infinicore.save(given, tmp_path / "file")
    for made in (infinicore.load(str(tmp_path / "file")), again(given, map_location="cpu")):
        assert made["x"].tolist() == x.tolist()
        assert made["parts"][1][0].tolist() == x.T.tolist()
        assert (made["kind"], made["name"], made["z"]) == (infinicore.int64, "x", 1 + 2j)
    half = again(infinicore.ones(2, dtype=infinicore.bfloat16))
    assert half.dtype is infinicore.bfloat16


def test_weights_of_modules() -> None:
    one, two = nn.Linear(3, 2), nn.Linear(3, 2)
    one.weight.fill_(2)
    two.load_state_dict(again(one.state_dict()))
    assert two.weight.tolist() == [[2.0] * 3] * 2


def test_nothing_else_is_loaded() -> None:
    with pytest.raises(pickle.UnpicklingError, match="Stranger"):
        again(Stranger())
    assert isinstance(again(Stranger(), weights_only=False), Stranger)


def test_constants() -> None:
    assert (infinicore.pi, infinicore.e, infinicore.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(infinicore.nan)
    assert infinicore.ones(2)[infinicore.newaxis].shape == (1, 2)


@pytest.mark.parametrize(
    "file",
    [
        b"cinfinicore._device\nSize\nN}Vnumel\nI7\ns\x86b.",  # a method of a class
        b"cinfinicore._tensor\nrebuild\nN}V__defaults__\nI1\ns\x86b.",  # a function's defaults
        b"(cbuiltins\nbytearray\nI1000000000000\no.",  # any amount of memory
        b"cbuiltins\nset\n(cbuiltins\nrange\n(I1000000000000\ntRtR.",
        b"",
        b"text",
    ],
)
def test_a_hostile_file_changes_nothing(file: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="load: the file"):
        infinicore.load(io.BytesIO(file))
    assert infinicore.ones(2, 3).shape.numel() == 6


def test_views_stay_views() -> None:
    x = infinicore.arange(12).reshape(3, 4).float()
    given = {
        "x": x,
        "row": x[1],
        "weight": nn.Parameter(x[:, ::2]),
        "bytes": x.view(infinicore.int32),
    }
    for keywords in ({}, {"map_location": "cpu"}, {"weights_only": False}):
        made = again(given, **keywords)
        made["row"].fill_(7)
        assert made["x"][1].tolist() == [7.0] * 4
        assert made["weight"].tolist() == [[0.0, 2.0], [7.0, 7.0], [8.0, 10.0]]
        assert made["bytes"].dtype is infinicore.int32
    assert x[1].tolist() == [4.0, 5.0, 6.0, 7.0]


def test_one_view_is_written_without_the_rest() -> None:
    whole = infinicore.zeros(1000, 10)
    for value in (whole[3], [whole[3], whole[700]], [whole[3], whole[3]]):
        buffer = io.BytesIO()
        infinicore.save(value, buffer)
        assert len(buffer.getvalue()) < 1000


def test_views_out_of_their_memory_are_refused() -> None:
    from infinicore._storage import rebuild_view

    whole = infinicore.zeros(8, dtype=infinicore.uint8)
    for layout in (
        ((3,), (1,), 0),
        ((1,), (1,), 8),
        ((2, 2), (2, 1), 0),
        ((1,), (-1,), 0),
        ((1,), (), 0),
    ):
        with pytest.raises(ValueError, match="rebuild_view"):
            rebuild_view(whole, *layout, infinicore.float32)
    assert rebuild_view(whole, (2,), (1,), 0, infinicore.float32).tolist() == [0.0, 0.0]
