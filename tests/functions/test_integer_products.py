"""Products of integers: overflow wraps around, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from kit import place

KINDS = (np.int8, np.uint8, np.int16, np.int32, np.int64)
SIZES = [  # m, k, n
    (1, 1, 1),
    (3, 0, 4),
    (0, 5, 2),
    (1, 3000, 1),
    (200, 70, 1),
    (1, 70, 900),
    (5, 33, 70),
    (8, 17, 24),
    (9, 600, 13),
    (40, 130, 100),
]


def put(array: Any) -> Any:
    return infinicore.tensor(array, device=place.KIND)


def same(made: Any, expected: Any, what: str = "") -> None:
    made = made.numpy(force=True)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected, what)


def full(seed: int, shape: tuple[int, ...], kind: Any) -> Any:
    info = np.iinfo(kind)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, kind, endpoint=True)


def strided(values: Any, layout: str) -> Any:
    """A tensor of these values: contiguous, transposed in memory, or every third of others."""
    if layout == "transposed":
        return put(np.ascontiguousarray(values.swapaxes(-1, -2))).transpose(-1, -2)
    if layout == "apart":
        wide = np.zeros((*values.shape[:-1], values.shape[-1] * 3), values.dtype)
        wide[..., ::3] = values
        return put(wide)[..., ::3]
    return put(values)


@pytest.mark.parametrize("layout", ["plain", "transposed", "apart"])
@pytest.mark.parametrize("kind", KINDS)
def test_matrices(kind: Any, layout: str) -> None:
    for m, k, n in SIZES:
        a, b = full(1, (m, k), kind), full(2, (k, n), kind)
        expected = np.matmul(a, b)
        for one, other in ((layout, "plain"), ("plain", layout), (layout, layout)):
            x, y = strided(a, one), strided(b, other)
            made = infinicore.mm(x, y)
            same(made, expected, f"{m} {k} {n}")
            out = strided(np.ones((m, n), kind), layout)
            assert infinicore.mm(x, y, out=out) is out
            same(out, expected, f"{m} {k} {n} into {layout}")


@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind: Any) -> None:
    for left, right in (((3, 4, 70), (3, 70, 9)), ((2, 1, 9, 5), (3, 5, 40)), ((40, 6, 7), (7,))):
        a, b = full(3, left, kind), full(4, right, kind)
        same(infinicore.matmul(put(a), put(b)), np.matmul(a, b))


@pytest.mark.parametrize("kind", KINDS)
def test_added(kind: Any) -> None:
    a, b, c = full(5, (4, 9, 7), kind), full(6, (4, 7, 5), kind), full(7, (9, 5), kind)
    two, three = kind(2), kind(3)
    x, y, z = put(a), put(b), put(c)
    products = np.matmul(a, b)
    total = products.sum(0, dtype=kind)
    for made, expected in (
        (infinicore.addmm(z, x[0], y[0], beta=2, alpha=3), c * two + products[0] * three),
        (infinicore.addmv(z[:, 0], x[0], y[0, :, 0]), c[:, 0] + products[0, :, 0]),
        (infinicore.baddbmm(z, x, y, beta=2, alpha=3), c * two + products * three),
        (infinicore.addbmm(z, x, y, beta=2, alpha=3), c * two + total * three),
        (infinicore.einsum("bij,bjk->ik", x, y), total),
        (infinicore.tensordot(x, y, ([0, 2], [0, 1])), total),
        (infinicore.inner(z, z), np.inner(c, c)),
    ):
        same(made, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors(kind: Any) -> None:
    for size in (0, 1, 7, 1000, 300_000):
        a, b = full(8, (size,), kind), full(9, (size,), kind)
        for name in ("dot", "vdot", "inner", "matmul"):
            made = getattr(infinicore, name)(put(a), put(b))
            assert made.numpy(force=True) == np.dot(a, b), (name, size)
        assert infinicore.dot(put(a)[::2], put(b)[::2]).numpy(force=True) == np.dot(a[::2], b[::2])


def test_a_result_over_an_operand() -> None:
    a = full(10, (9, 9), np.int32)
    x = put(a)
    infinicore.mm(x, x, out=x)
    same(x, a @ a)


def test_truth_values() -> None:
    a, b = full(11, (5, 300), np.int8) > 100, full(12, (300, 7), np.int8) > 100
    same(infinicore.mm(put(a), put(b)), a @ b)


def test_a_product_and_a_map_in_a_graph() -> None:
    a, b = full(13, (5, 30), np.int32), full(14, (30, 7), np.int32)
    x, y = put(a), put(b)
    with infinicore.record() as graph:
        made = infinicore.abs(infinicore.mm(x, y))
    graph.run()
    same(made, np.abs(a @ b))


def test_alpha_is_an_integer() -> None:
    x = put(np.ones((2, 2), np.int64))
    with pytest.raises(RuntimeError, match=r"alpha is 0\.5: expected an integer"):
        infinicore.matmul(x, x, alpha=0.5)
