"""Factors of tall matrices with few columns, which the CPU computes in tiles of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore

pytestmark = pytest.mark.requires("host")

RANDOM = np.random.default_rng(1)
DTYPES = {np.float32: 1e-5, np.float64: 1e-13}
SIZES = [(32, 1), (33, 16), (100, 3), (9000, 2), (2, 3, 700, 15), (8193, 7), (4, 40, 17)]


def of(tensor: Any) -> Any:
    return tensor.numpy(force=True).astype(np.float64)


def plain(x: Any) -> Any:
    return infinicore.from_numpy(x)


def turned(x: Any) -> Any:
    return infinicore.from_numpy(np.ascontiguousarray(np.swapaxes(x, -1, -2))).transpose(-1, -2)


def strided(x: Any) -> Any:
    wide = np.repeat(x, 2, -1)
    wide[..., 1::2] = np.nan
    return infinicore.from_numpy(wide)[..., ::2]


def product(a: Any, tau: Any) -> Any:
    """Q of reflectors, by their definition."""
    made = np.broadcast_to(np.eye(a.shape[-2]), (*a.shape[:-1], a.shape[-2])).copy()
    for k in range(tau.shape[-1]):
        v = np.where(np.arange(a.shape[-2]) > k, a[..., k], 0)
        v[..., k] = 1
        across = made @ v[..., None] * tau[..., k, None, None]
        made -= across * v[..., None, :]
    return made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("place", [plain, turned, strided])
def test_factors(sizes: tuple[int, ...], dtype: Any, place: Any) -> None:
    x = RANDOM.standard_normal(sizes).astype(dtype)
    close = DTYPES[dtype] * sizes[-2] ** 0.5
    q, r = (of(each) for each in infinicore.linalg.qr(place(x)))
    assert np.allclose(q @ r, x, atol=close)
    assert np.allclose(np.swapaxes(q, -1, -2) @ q, np.eye(sizes[-1]), atol=close)
    exact = np.linalg.qr(x.astype(np.float64))
    assert np.array_equal(r, np.triu(r)) and np.allclose(r, exact[1], atol=10 * close)
    a, tau = (of(each) for each in infinicore.geqrf(place(x)))
    assert np.allclose(np.triu(a)[..., : sizes[-1], :], r, atol=close)
    if sizes[-2] < 200:
        assert np.allclose(product(a, tau)[..., : sizes[-1]], q, atol=close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("sizes", "count"), [((90, 16), 16), ((2, 64, 9), 4), ((3, 600, 5), 1)])
@pytest.mark.parametrize("place", [plain, turned, strided])
def test_products(sizes: tuple[int, ...], count: int, dtype: Any, place: Any) -> None:
    """Q times matrices, also for factors with which it is not orthogonal."""
    a = RANDOM.standard_normal(sizes).astype(dtype) / 8
    tau = RANDOM.random((*sizes[:-2], count)).astype(dtype)
    q, close = product(a.astype(np.float64), tau), 100 * DTYPES[dtype]
    made = infinicore.linalg.householder_product(place(a), plain(tau))
    assert np.allclose(of(made), q[..., : sizes[-1]], atol=close, rtol=close)
    for columns in (1, 6, 16, 17):
        c = RANDOM.standard_normal((*sizes[:-1], columns)).astype(dtype)
        for transpose in (False, True):
            turn = np.swapaxes(q, -1, -2) if transpose else q
            made = infinicore.ormqr(place(a), plain(tau), place(c), True, transpose)
            assert np.allclose(of(made), turn @ c, atol=close, rtol=close)
            side = np.swapaxes(c, -1, -2)
            made = infinicore.ormqr(place(a), plain(tau), place(side.copy()), False, transpose)
            assert np.allclose(of(made), side @ turn, atol=close, rtol=close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(2, 50, 4), (300, 300)])
def test_no_reflections(sizes: tuple[int, ...], dtype: Any) -> None:
    a = infinicore.from_numpy(np.full(sizes, np.nan, dtype))
    tau = infinicore.empty(*sizes[:-2], 0, dtype=a.dtype)
    for x in (a, a.transpose(-1, -2)[..., : sizes[-1], : sizes[-1]]):
        made = infinicore.linalg.householder_product(x, tau)
        expected = np.broadcast_to(np.eye(*x.shape[-2:]), tuple(x.shape))
        assert np.array_equal(of(made), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-37, 1e-25, 1e25, 1e37])
def test_extreme_elements(dtype: Any, size: float) -> None:
    """Squares of these overflow or underflow in single precision."""
    x = RANDOM.standard_normal((100, 3))
    q, r = (of(each) for each in infinicore.linalg.qr(plain((x * size).astype(dtype))))
    close = DTYPES[dtype] * 10
    assert np.allclose(q.T @ q, np.eye(3), atol=close)
    assert np.allclose(q @ (r / size), x, atol=close)


def test_columns_of_zeros() -> None:
    """Their reflections are the identity, and the signs of the diagonal stay."""
    for x in (np.eye(40, 3), np.zeros((40, 3)), np.triu(RANDOM.random((40, 5)))):
        q, r = infinicore.linalg.qr(plain(x))
        assert np.array_equal(of(r), x[: x.shape[1]])
        assert np.array_equal(of(q), np.eye(*x.shape))
        assert not of(infinicore.geqrf(plain(x)).tau).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(500, 3), (2, 8191, 16), (3000, 17), (2, 1000, 70), (900, 100)])
@pytest.mark.parametrize("rank", [0, 2, 200])
def test_singular_values(sizes: tuple[int, ...], dtype: Any, rank: int) -> None:
    count = min(rank, sizes[-1])
    left, right = ((*sizes[:-1], count), (*sizes[:-2], count, sizes[-1]))
    x = (RANDOM.standard_normal(left) @ RANDOM.standard_normal(right)).astype(dtype)
    expected = np.linalg.svd(x.astype(np.float64), compute_uv=False)
    close = DTYPES[dtype] * 10
    near = close * max(1, expected.max())
    for a, exact in ((plain(x), x), (turned(np.swapaxes(x, -1, -2)), np.swapaxes(x, -1, -2))):
        u, s, vh = (of(each) for each in infinicore.linalg.svd(a, full_matrices=False))
        assert np.allclose(s, expected, atol=near)
        assert np.allclose(u * s[..., None, :] @ vh, exact, atol=near)
        for each in (np.swapaxes(u, -1, -2) @ u, vh @ np.swapaxes(vh, -1, -2)):
            assert np.allclose(each, np.eye(sizes[-1]), atol=close)
        assert np.allclose(of(infinicore.linalg.svdvals(a)), expected, atol=near)


@pytest.mark.parametrize("columns", [3, 40])
def test_singular_values_that_are_not_finite(columns: int) -> None:
    x = RANDOM.standard_normal((1000, columns)).astype(np.float32)
    x[700, 1] = np.nan
    assert np.isnan(of(infinicore.linalg.svdvals(plain(x)))).any()
    assert np.isnan(of(infinicore.linalg.svd(plain(x), full_matrices=False).S)).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value: float) -> None:
    for row in (0, 1, 39):
        x = RANDOM.standard_normal((40, 3)).astype(np.float32)
        x[row, 1] = value
        _, r = infinicore.linalg.qr(plain(x))
        assert np.isnan(of(r)[1:, 1:]).any()
