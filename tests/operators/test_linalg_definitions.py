"""The definitions of linear algebra on batches, against torch; and matrices that have no result."""

from __future__ import annotations

from typing import Any

import pytest

from kit import Maker
from kit.drawing import Draw, Rules
from kit.operator_runs import Trial
from spec.operators import REGISTRY

from .second_opinion import call, np, same, tensors, torch, uncompared, values


def positive(*sizes: int) -> Any:
    x = values(*sizes)
    return x @ np.swapaxes(x, -1, -2) + np.eye(sizes[-1])


@pytest.mark.parametrize("sizes", [(1, 1), (5, 5), (3, 4, 4), (2, 0, 0), (0, 3, 3)])
def test_square(sizes: tuple[int, ...]) -> None:
    x, b = values(*sizes), values(*sizes[:-1], 3, seed=1)
    t, tb = tensors([x, b])
    close: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}
    same(call("det", x)[0], torch.linalg.det(t), **close)
    for ours, theirs in zip(call("slogdet", x), torch.linalg.slogdet(t), strict=True):
        same(ours, theirs, **close)
    same(call("inverse", x)[0], torch.linalg.inv(t), **close)
    same(call("solve", x, b)[0], torch.linalg.solve(t, tb), **close)
    same(call("eigh", x)[0], torch.linalg.eigh(t)[0], **close)
    same(call("matrix_exp", x)[0], torch.matrix_exp(t), **close)
    whole = positive(*sizes)
    for upper in (False, True):
        # Elements that are not read may have any value.
        spoilt = whole + (np.tril(values(*sizes), -1) if upper else np.triu(values(*sizes), 1))
        theirs = torch.linalg.cholesky(*tensors([whole]), upper=upper)
        same(call("cholesky", spoilt, upper=upper)[0], theirs, **close)


@pytest.mark.parametrize("sizes", [(5, 5), (7, 3), (2, 3, 7), (4, 0), (2, 0, 4)])
def test_factors(sizes: tuple[int, ...]) -> None:
    x = values(*sizes)
    (t,) = tensors([x])
    for ours, theirs in zip(call("qr", x), torch.linalg.qr(t), strict=True):
        same(ours, theirs, atol=1e-10)
    u, s, vh = call("svd", x)
    same(s, torch.linalg.svd(t, full_matrices=False)[1], atol=1e-10)
    same((u * s[..., None, :]) @ vh, x, atol=1e-10)


SINGULAR = {
    "det": 0.0,
    "inverse": np.nan,
    "solve": np.nan,
    "cholesky": np.nan,
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular(make: Maker, name: str) -> None:
    """The middle one of three matrices has a pivot of 0; the others are unaffected."""
    inputs = {tensor.name for tensor in REGISTRY[name].inputs}
    middle = np.stack([np.eye(4), np.diag([1.0, 0.0, 1.0, 1.0]), np.eye(4)])

    def value(draw: Draw, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(np.eye(4), shape) if draw.inputs else middle

    rules = Rules(
        symbols={"*B": ((3,),), "N": (4,), "K": (4,)},
        attributes={"upper": (0,)} if name == "cholesky" else {},
        values=dict.fromkeys(inputs, value),
        compare=lambda draw, given, got, expected: check(got, name),
    )
    Trial(make, Draw(REGISTRY[name], rules, "F64", "usual", 0)).four_ways()


def check(got: Any, name: str) -> None:
    (result,) = got.values()
    fine = np.ones(3) if name == "det" else np.broadcast_to(np.eye(4), (3, 4, 4))
    assert np.array_equal(result[[0, 2]], fine[[0, 2]])
    assert np.array_equal(result[1], np.full_like(fine[1], SINGULAR[name]), equal_nan=True)


def test_every_definition_was_compared(request: pytest.FixtureRequest) -> None:
    if not any("test_square" in item.name for item in request.session.items):
        pytest.skip("only some tests of this file run")
    assert not uncompared("factorizations")
