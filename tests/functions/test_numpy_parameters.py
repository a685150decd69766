"""NumPy's names of parameters, which torch takes as well: axis, keepdims, x, x1, x2."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import infinicore
from infinicore import _core

# The same call with torch's names and with NumPy's: functions that are traced, plain ones, native
# methods, methods in place.
CALLS = [
    ("sum", {"dim": 1, "keepdim": True}, {"axis": 1, "keepdims": True}),
    ("amax", {"dim": 0}, {"axis": 0}),
    ("softmax", {"dim": 0}, {"axis": 0}),
    ("cumsum", {"dim": 1}, {"axis": 1}),
    ("std", {"dim": 1, "keepdim": True}, {"dim": 1, "keepdims": True}),
    ("sort", {"dim": 0}, {"axis": 0}),
    ("topk", {"k": 1, "dim": 0}, {"k": 1, "axis": 0}),
    ("chunk", {"chunks": 3, "dim": 1}, {"chunks": 3, "axis": 1}),
    ("split", {"split_size_or_sections": 2, "dim": 1}, {"split_size_or_sections": 2, "axis": 1}),
    ("unbind", {"dim": 1}, {"axis": 1}),
    ("squeeze", {"dim": 0}, {"axis": 0}),
    ("unsqueeze", {"dim": 2}, {"axis": 2}),
    ("narrow", {"dim": 1, "start": 1, "length": 2}, {"axis": 1, "start": 1, "length": 2}),
    ("select", {"dim": 1, "index": 2}, {"axis": 1, "index": 2}),
    ("cumprod_", {"dim": 1}, {"axis": 1}),
    ("unsqueeze_", {"dim": 0}, {"axis": 0}),
]


def values(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [values(each) for each in result]
    return result.tolist() if isinstance(result, infinicore.Tensor) else result


@pytest.mark.parametrize(("name", "torchs", "numpys"), CALLS)
def test_both_names_mean_the_same(
    name: str, torchs: dict[str, Any], numpys: dict[str, Any]
) -> None:
    def make() -> Any:
        return infinicore.arange(6.0).reshape(2, 3)

    expected = values(getattr(infinicore, name)(make(), **torchs))
    assert values(getattr(infinicore, name)(make(), **numpys)) == expected
    assert values(getattr(make(), name)(**numpys)) == expected


def test_names_of_operands() -> None:
    x, y = infinicore.ones(2), infinicore.tensor([1.0, 2.0])
    for call in ({"x": x, "other": y}, {"x1": x, "x2": y}, {"a": x, "x2": y}):
        assert infinicore.add(**call).tolist() == [2, 3]
    assert infinicore.flatten(x=y).tolist() == [1, 2]
    assert infinicore.argwhere(input=y).tolist() == [[0], [1]]


def test_linalg_and_fft() -> None:
    x = infinicore.arange(6.0).reshape(2, 3)
    assert infinicore.linalg.norm(x, axis=1).tolist() == infinicore.linalg.norm(x, dim=1).tolist()
    assert infinicore.fft.rfft(x, axis=0).tolist() == infinicore.fft.rfft(x, dim=0).tolist()


BOTH: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (infinicore.sum, {"dim": 0, "axis": 1}),
    (infinicore.sum, {"axis": 1, "dim": 0}),
    (infinicore.chunk, {"chunks": 1, "dim": 0, "axis": 1}),
    (infinicore.Tensor.unsqueeze, {"dim": 0, "axis": 1}),
    (infinicore.Tensor.index_add_, {"dim": 0, "axis": 0, "index": None, "source": None}),
]


@pytest.mark.parametrize(("function", "keywords"), BOTH)
def test_both_at_once_are_refused(function: Callable[..., Any], keywords: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="several values for argument 'dim'"):
        function(infinicore.ones(2, 2), **keywords)
    with pytest.raises(TypeError):
        function(infinicore.ones(2, 2), 0, axis=0, nothing=1)


def test_unknown_names_are_refused() -> None:
    for function in (infinicore.sum, infinicore.chunk, infinicore.Tensor.unsqueeze):
        with pytest.raises(TypeError):
            function(infinicore.ones(2, 2), axes=1)
    with pytest.raises(TypeError):
        infinicore.abs(infinicore.ones(1), axis=0)


def test_what_stands_in_front_of_a_function() -> None:
    chunk = infinicore.chunk
    assert isinstance(chunk, _core.Renaming)
    assert "chunk" in repr(chunk) and chunk.__doc__ and chunk.__name__ == "chunk"
    assert infinicore.swapaxes is infinicore.transpose is not chunk
    again = pickle.loads(pickle.dumps(chunk))
    assert again is chunk
    assert values(again(infinicore.arange(4), 2, axis=0)) == [[0, 1], [2, 3]]
