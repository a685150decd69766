"""Matrices that devices process in one block each, and those just too large for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import linalg, tensor

RANDOM = np.random.default_rng(0)
DTYPES = {np.float32: 2e-3, np.float64: 1e-9}


def values(*sizes: int, dtype: Any = np.float32) -> Any:
    return RANDOM.standard_normal(sizes).astype(dtype)


def of(made: Any) -> Any:
    return made.numpy(force=True).astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 3), (20, 1), (56, 40), (130, 2)])
def test_equations(sizes: tuple[int, int], dtype: Any) -> None:
    n, close = sizes[0], DTYPES[dtype]
    x, b = values(2, n, n, dtype=dtype), values(2, *sizes, dtype=dtype)
    assert np.allclose(x @ of(linalg.solve(tensor(x), tensor(b))), b, atol=close)
    inverse, info = linalg.inv_ex(tensor(x))
    assert np.allclose(x @ of(inverse), np.eye(n), atol=close)
    assert not of(info).any()
    x[1, n // 2] = 0
    inverse, info = linalg.inv_ex(tensor(x))
    assert np.allclose(x[0] @ of(inverse)[0], np.eye(n), atol=close)
    assert np.isnan(of(inverse)[1]).all()
    assert of(info)[0] == 0 < of(info)[1]


@pytest.mark.parametrize("sizes", [(100, 23), (10, 60), (1, 1)])
def test_lu(sizes: tuple[int, int]) -> None:
    x = values(2, *sizes)
    p, lower, upper = map(of, linalg.lu(tensor(x)))
    assert np.allclose(p @ lower @ upper, x, atol=1e-5)
    assert (p.sum(-1) == 1).all()


@pytest.mark.parametrize(("n", "columns"), [(1, 300), (16, 16), (64, 3), (300, 2)])
def test_triangles(n: int, columns: int) -> None:
    x, b = values(n, n) + 3 * n**0.5 * np.eye(n, dtype=np.float32), values(n, columns)
    for upper in (False, True):
        triangle = np.triu(x) if upper else np.tril(x)
        made = linalg.solve_triangular(tensor(x), tensor(b), upper=upper)
        assert np.allclose(triangle @ of(made), b, atol=1e-4)
        made = linalg.solve_triangular(tensor(x), tensor(b.T.copy()), upper=upper, left=False)
        assert np.allclose(of(made) @ triangle, b.T, atol=1e-4)
    symmetric = x @ x.T
    factor, info = linalg.cholesky_ex(tensor(symmetric))
    assert not of(info).any()
    solved = of(infinicore.cholesky_solve(tensor(b), factor))
    assert np.allclose(symmetric @ solved, b, atol=2e-3)
    lu, pivots = linalg.lu_factor(tensor(x))
    assert np.allclose(x @ of(linalg.lu_solve(lu, pivots, tensor(b))), b, atol=1e-4)


@pytest.mark.parametrize(("rows", "columns", "sides"), [(20, 18, 7), (300, 4, 130), (300, 20, 3)])
def test_reflectors(rows: int, columns: int, sides: int) -> None:
    x, other = values(rows, columns), values(rows, sides)
    a, tau = infinicore.geqrf(tensor(x))
    q = of(linalg.householder_product(a, tau))
    assert np.allclose(q.T @ q, np.eye(columns), atol=1e-5)
    assert np.allclose(q @ np.triu(of(a)[:columns]), x, atol=1e-4)
    made = infinicore.ormqr(a, tau, tensor(other))
    right = infinicore.ormqr(a, tau, tensor(other.T.copy()), left=False, transpose=True)
    assert np.allclose(of(made), of(right).T, atol=1e-5)
    assert np.allclose(of(infinicore.ormqr(a, tau, made, transpose=True)), other, atol=1e-4)


@pytest.mark.parametrize("sizes", [(50, 50), (3, 48, 48)])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 5.0])
def test_exponentials(sizes: tuple[int, ...], scale: float) -> None:
    x = values(*sizes, dtype=np.float64) * scale / sizes[-1] ** 0.5
    if len(sizes) == 3:
        x[1] *= 1e-3  # matrices that are squared more or less often
    values_of, vectors = np.linalg.eig(x)
    wanted = vectors @ (np.exp(values_of)[..., None] * np.linalg.inv(vectors))
    wanted = np.eye(sizes[-1]) if scale == 0 else wanted.real
    assert np.allclose(of(infinicore.matrix_exp(tensor(x))), wanted, rtol=1e-9, atol=1e-9)
    narrow = tensor(x.astype(np.float32))
    assert np.allclose(of(linalg.matrix_exp(narrow)), wanted, rtol=1e-3, atol=1e-3)
    x.flat[0] = np.nan
    assert np.isnan(of(infinicore.matrix_exp(tensor(x))).reshape(-1, *sizes[-2:])[0]).all()


@pytest.mark.parametrize("n", [2, 3, 6, 40])
def test_polygamma(n: int) -> None:
    special = pytest.importorskip("scipy.special")
    x = np.abs(values(200, dtype=np.float64)) * 9 + 0.1
    wanted = special.polygamma(n, x)
    assert np.allclose(of(infinicore.polygamma(n, tensor(x))), wanted, rtol=1e-10)
    # Two values below 0, by the recurrence.
    below = np.array([-0.25, -1.625])
    shifted = special.polygamma(n, below + 2)
    terms = (-1.0) ** n * special.factorial(n) * (below ** -(n + 1.0) + (below + 1) ** -(n + 1.0))
    made = of(infinicore.polygamma(n, tensor(below)))
    assert np.allclose(made, shifted - terms, rtol=1e-8)


def test_no_right_hand_sides() -> None:
    for rows in (3, 70):
        matrix = infinicore.eye(rows)
        none = infinicore.empty(rows, 0)
        for upper in (False, True):
            made = infinicore.linalg.solve_triangular(matrix, none, upper=upper)
            assert tuple(made.shape) == (rows, 0)
        assert tuple(infinicore.linalg.solve(matrix, none).shape) == (rows, 0)
