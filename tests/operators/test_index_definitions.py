"""The definitions of gather and scatter operators, against torch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from .second_opinion import call, np, same, torch, uncompared, values

WORDS = ("sum", "prod", "mean", "amax", "amin")
KINDS = ("float64", "int8", "int64", "uint8")


def data(kind: str, *sizes: int, seed: int = 0) -> Any:
    made = values(*sizes, seed=seed, scale=2.0 if kind == "float64" else 60.0)
    return made if kind == "float64" else np.clip(made, -128, 127).astype(np.int64).astype(kind)


def places(limit: int, *sizes: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, limit, sizes)


def torched(array: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array))


@pytest.mark.parametrize("kind", [*KINDS, "bool"])
def test_picking(kind: str) -> None:
    x = data("int64", 5, 6, 7).astype(kind)
    for dim in (-3, 0, 1, 2):
        index = places(x.shape[dim], 4, 3, 5)
        theirs = torch.gather(torched(x), dim, torched(index))
        same(call("gather", x, index, dim=dim)[0], theirs)
        theirs = torch.index_select(torched(x), dim, torched(index[0, 0]))
        same(call("index_select", x, index[0, 0], dim=dim)[0], theirs)


def test_out_of_range() -> None:
    x, index = values(3, 4), np.array([[0, -1, 3, 2]])
    assert np.array_equal(call("gather", x, index, dim=0)[0] == 0, [[False, True, True, False]])
    assert np.array_equal(call("index_select", x, index[0], dim=0)[0].any(axis=1), [1, 0, 0, 1])
    for name in ("scatter_add", "scatter_reduce"):
        more = {"reduce": 0, "include_self": True} if name == "scatter_reduce" else {}
        ours = call(name, x, index, np.ones((1, 4)), dim=0, **more)[0]
        assert np.array_equal(
            ours - x > 0.5,
            np.eye(3, 4, dtype=bool) & (np.arange(4) == 0)
            | ((np.arange(3)[:, None] == 2) & (np.arange(4) == 3)),
        )


@pytest.mark.parametrize("kind", KINDS)
def test_scattering(kind: str) -> None:
    x, source = data(kind, 5, 6, 7), data(kind, 4, 5, 6, seed=1)
    for dim in (-3, 1, 2):
        index = places(x.shape[dim], *source.shape)
        given = (torched(x), dim, torched(index), torched(source))
        same(call("scatter_add", x, index, source, dim=dim)[0], torch.scatter_add(*given))
        for (reduce, word), include in itertools.product(enumerate(WORDS), (True, False)):
            theirs = torch.scatter_reduce(*given, word, include_self=include)
            more = {"dim": dim, "reduce": reduce, "include_self": include}
            same(call("scatter_reduce", x, index, source, **more)[0], theirs)


@pytest.mark.parametrize("shape", [(5, 6, 7), (9000,)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_index_reduce(kind: str, shape: tuple[int, ...]) -> None:
    x = data(kind, *shape)
    for dim in (-3, 1, 2) if len(shape) > 1 else (0,):
        count = 9 if len(shape) > 1 else 10000
        index = places(x.shape[dim], count)
        sizes = list(x.shape)
        sizes[dim] = count
        source = data(kind, *sizes, seed=1)
        given = (torched(x), dim, torched(index), torched(source))
        for (reduce, word), include in itertools.product(enumerate(WORDS), (True, False)):
            if word == "sum":  # index_add, there
                if include:
                    more = {"dim": dim, "reduce": 0, "include_self": True}
                    theirs = torch.index_add(*given)
                    same(call("index_reduce", x, index, source, **more)[0], theirs)
                continue
            theirs = torch.index_reduce(*given, word, include_self=include)
            more = {"dim": dim, "reduce": reduce, "include_self": include}
            same(call("index_reduce", x, index, source, **more)[0], theirs)


def test_booleans() -> None:
    x, source = places(2, 9).astype(bool), np.ones(6, bool)
    index = np.array([0, 1, 2, 2, 1, 0])
    ours = call("scatter_add", x, index, source, dim=0)[0]
    assert np.array_equal(ours, np.concatenate([[True] * 3, x[3:]]))
    for reduce, wanted in enumerate((True, False, False, True, False)):
        mixed = np.array([1, 1, 1, 0, 0, 0], bool)
        more = {"dim": 0, "reduce": reduce, "include_self": False}
        ours = call("scatter_reduce", x, index, mixed, **more)[0]
        assert (ours[:3] == wanted).all()
        assert np.array_equal(ours[3:], x[3:])


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_index_reduce" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    assert not uncompared("scatter")
