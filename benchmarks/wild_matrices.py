"""Matrices with which functions of linear algebra have a meaning. Grown samples are not valid
factors: results would overflow, or be what a library leaves after a failed factorisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opdb.samples import Call


def _dominant(matrix: Any) -> Any:
    """Diagonally dominant: well conditioned, also as a factor."""
    made = matrix.clone(memory_format=torch.contiguous_format)
    diagonal = made.diagonal(0, -2, -1)
    diagonal.copy_(1 + made.abs().sum(-1) + made.abs().sum(-2))
    return made


def _positive(matrix: Any) -> Any:
    return _dominant(matrix + matrix.mT)


def _first_positive(values: list[Any]) -> list[Any]:
    return [_positive(values[0]), *values[1:]]


def _dominant_at(place: int) -> Callable[[list[Any]], list[Any]]:
    def change(values: list[Any]) -> list[Any]:
        return [_dominant(each) if i == place else each for i, each in enumerate(values)]

    return change


def _orthogonal(values: list[Any]) -> list[Any]:
    """Factors of Householder reflections, which are orthogonal."""
    matrix, tau, *others = values
    count = tau.shape[-1]
    vectors = matrix[..., :count].tril(-1)
    return [matrix, 2 / (1 + (vectors * vectors).sum(-2)), *others]


CHANGES: dict[str, Callable[[list[Any]], list[Any]]] = {
    **dict.fromkeys(
        ("cholesky", "linalg.cholesky", "linalg.cholesky_ex"),
        _first_positive,
    ),
    **dict.fromkeys(
        ("cholesky_inverse", "linalg.lu_solve", "linalg.solve_triangular"),
        _dominant_at(0),
    ),
    **dict.fromkeys(("cholesky_solve", "lu_solve", "triangular_solve"), _dominant_at(1)),
    **dict.fromkeys(("linalg.householder_product", "ormqr"), _orthogonal),
}


def meaningful(operator: str, call: Call) -> Call:
    """The call with such matrices; arguments that do not fit are left for torch to reject."""
    change = CHANGES.get(operator)
    given = [call.input, *call.args]
    if change is None:
        return call
    try:
        first, *others = change(given)
    except (IndexError, RuntimeError, TypeError, ValueError):
        return call
    return Call(first, tuple(others), call.kwargs)
