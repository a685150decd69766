"""Indexing, pooling, folds, products and distances of short rows, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812

KINDS = {"float32": np.float32, "int8": np.int8, "int64": np.int64, "float16": np.float16}
WIDTHS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33, 70]


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(21)


def pair(values: np.ndarray) -> tuple[Any, np.ndarray]:
    return infinicore.tensor(values), values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index_kind", [np.int64, np.int32])
def test_rows_of_every_width(kind: str, index_kind: Any, rng: Any) -> None:
    for width in WIDTHS:
        x, a = pair(rng.integers(-100, 100, (50, width)).astype(KINDS[kind]))
        many, i = pair(rng.integers(0, 50, 300).astype(index_kind))
        along, j = pair(rng.integers(0, width, 40).astype(index_kind))
        assert np.array_equal(infinicore.index_select(x, 0, many).numpy(force=True), a[i])
        assert np.array_equal(infinicore.index_select(x, 1, along).numpy(force=True), a[:, j])
        assert np.array_equal(F.embedding(many, x).numpy(force=True), a[i])
        if index_kind is np.int64:
            assert np.array_equal(x[many].numpy(force=True), a[i])
            rows, r = pair(rng.integers(0, 50, (300, width)))
            columns, c = pair(rng.integers(0, width, (50, 9)))
            assert np.array_equal(
                infinicore.gather(x, 0, rows).numpy(force=True), np.take_along_axis(a, r, 0)
            )
            assert np.array_equal(
                infinicore.gather(x, 1, columns).numpy(force=True), np.take_along_axis(a, c, 1)
            )
            flat, f = pair(rng.integers(-a.size, a.size, 200))
            assert np.array_equal(infinicore.take(x, flat).numpy(force=True), a.reshape(-1)[f])
            assert np.array_equal(
                infinicore.take(x, flat.abs() % 7).numpy(force=True), a.reshape(-1)[abs(f) % 7]
            )


@pytest.mark.host  # indices on a device are not read
def test_indices_that_name_nothing() -> None:
    x = infinicore.ones(3, 2)
    for size, bad in ((1, 3), (1000, 3), (1000, -4), (1000, 2**32), (1000, 2**32 + 1)):
        index = np.zeros(size, np.int64)
        index[size // 2] = bad
        with pytest.raises(IndexError, match=str(bad)):
            x[infinicore.tensor(index)]
        with pytest.raises(IndexError):
            infinicore.take(x.view(6)[:3], infinicore.tensor(index))
    assert x[infinicore.tensor(np.full(70, -3, np.int64))].shape == (70, 2)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_windows_of_every_size(kind: str, rng: Any) -> None:
    x, a = pair(rng.standard_normal((2, 3, 83)).astype(kind))
    for kernel in (1, 2, 3, 4, 5, 17, 33):
        for step in (1, 2, 3, 4, 7, 8, 9, 20):
            for gap in (1, 2):
                reach = (kernel - 1) * gap + 1
                view = np.lib.stride_tricks.sliding_window_view(a, reach, 2)[:, :, ::step, ::gap]
                found = F.max_pool1d(x, kernel, step, 0, gap).numpy(force=True)
                assert np.array_equal(found, view.max(-1)), (kernel, step, gap)
            means = np.lib.stride_tricks.sliding_window_view(a, kernel, 2)[:, :, ::step].mean(-1)
            found = F.avg_pool1d(x, kernel, step).numpy(force=True)
            assert np.allclose(found, means, rtol=1e-5, atol=1e-6), (kernel, step)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_windows_of_many_short_rows(kind: str, rng: Any) -> None:
    for shape, kernel, step in (
        ((1, 1000, 3), 3, 2),
        ((4, 90, 17), 7, 3),
        ((3, 97, 9), 2, 1),
        ((2, 64, 5), 4, 2),
    ):
        a = rng.standard_normal(shape).astype(kind)
        x = infinicore.tensor(a)
        for given in (x, x.transpose(0, 1).contiguous().transpose(0, 1)):
            view = np.lib.stride_tricks.sliding_window_view(a, kernel, 2)[:, :, ::step]
            found = F.max_pool1d(given, kernel, step).numpy(force=True)
            assert np.array_equal(found, view.max(-1))
            means = F.avg_pool1d(given, kernel, step).numpy(force=True)
            wanted = view.astype(np.float64).mean(-1)
            assert np.allclose(means, wanted, rtol=2e-3 if kind == "float16" else 1e-5, atol=1e-3)
            padded = np.pad(a, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
            view = np.lib.stride_tricks.sliding_window_view(padded, kernel, 2)[:, :, ::step]
            found = F.max_pool1d(given, kernel, step, 1).numpy(force=True)
            assert np.array_equal(found, view.max(-1))


@pytest.mark.parametrize("kind", ["float32", "float16", "int32", "float64", "bool"])
def test_folds_of_middle_dimensions(kind: str, rng: Any) -> None:
    for shape, axis in (
        ((50, 3, 8), 1),
        ((7, 10, 1), 1),
        ((3, 5, 40), 1),
        ((4, 300, 20), 1),
        ((30, 6, 17), (0, 1)),
        ((9, 4, 6, 5), (1, 3)),
        ((20, 7, 3), 1),
    ):
        a = (rng.standard_normal(shape) * 3).astype(kind)
        x = infinicore.tensor(a)
        if kind == "bool":
            assert np.array_equal(infinicore.amax(x, axis).numpy(force=True), a.max(axis))
            continue
        assert np.array_equal(infinicore.amin(x, axis).numpy(force=True), a.min(axis))
        if isinstance(axis, int):
            assert np.array_equal(infinicore.argmax(x, axis).numpy(force=True), a.argmax(axis))
        if kind != "int32":
            wide, tolerance = a.astype(np.float64), 5e-3 if kind == "float16" else 1e-5
            made = infinicore.sum(x, axis).numpy(force=True)
            assert np.allclose(made, wide.sum(axis), rtol=tolerance, atol=tolerance * 10)
            made = infinicore.var(x, axis).numpy(force=True)
            assert np.allclose(made, wide.var(axis, ddof=1), rtol=tolerance, atol=tolerance * 10)
            if isinstance(axis, int):
                made = infinicore.softmax(x, axis).numpy(force=True)
                e = np.exp(wide - wide.max(axis, keepdims=True))
                wanted = e / e.sum(axis, keepdims=True)
                assert np.allclose(made, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["float32", "float16", "int64"])
def test_reductions_without_the_element_itself(kind: str, rng: Any) -> None:
    for rows, columns, entries in ((40, 15, 2), (60, 33, 50), (5, 2000, 700)):
        a = (rng.standard_normal((rows, columns)) * 9).astype(kind)
        index = rng.integers(0, columns, (rows, entries))
        update = (rng.standard_normal((rows, entries)) * 9).astype(kind)
        for name, fold in (("amax", np.maximum), ("amin", np.minimum), ("sum", np.add)):
            wanted = a.astype(np.float64)
            for r in range(rows):
                seen = set()
                for at, value in zip(index[r], update[r].astype(np.float64), strict=True):
                    wanted[r, at] = fold(wanted[r, at], value) if at in seen else value
                    seen.add(at)
            for given in (index, np.asfortranarray(index)):
                made = infinicore.scatter_reduce(
                    infinicore.tensor(a),
                    1,
                    infinicore.tensor(given),
                    infinicore.tensor(update),
                    name,
                    include_self=False,
                ).numpy(force=True)
                close = 1e-5 if kind == "float32" else 2e-3
                assert np.allclose(made, wanted, rtol=close, atol=close), name


@pytest.mark.host
def test_blocks_of_nonzero_elements(rng: Any) -> None:
    for share in (0.0, 0.001, 0.5, 1.0):
        a = (rng.random((70, 90)) < share).astype(np.float32)
        a[:20] = 1
        x = infinicore.tensor(a)
        for given, wanted in ((x, a), (x[:, ::2], a[:, ::2]), (x.T, a.T), (x[:, ::3], a[:, ::3])):
            assert np.array_equal(infinicore.nonzero(given).numpy(), np.argwhere(wanted))
            assert np.array_equal(
                infinicore.masked_select(given * 2, given != 0).numpy(), 2 * wanted[wanted != 0]
            )
            few = infinicore.nonzero_static(given, size=30, fill_value=-7).numpy()
            assert np.array_equal(few[:30], np.argwhere(wanted)[:30])
        tall = np.repeat(a, 300, 0)
        for size in (0, 5, 4000, tall.size + 3):  # the beginning has enough, or not
            few = infinicore.nonzero_static(infinicore.tensor(tall[6000:]), size=size).numpy()
            found = np.argwhere(tall[6000:])[:size]
            assert np.array_equal(few[: len(found)], found) and (few[len(found) :] == -1).all()
        flat = a.reshape(-1)
        assert np.array_equal(infinicore.nonzero(x.view(-1)).numpy(), np.argwhere(flat))


def test_distances_of_short_rows(rng: Any) -> None:
    for width in (1, 2, 5, 8, 9):
        a, b = rng.standard_normal((3, 21, width)), rng.standard_normal((300, width))
        x, y = (infinicore.tensor(each.astype(np.float32)) for each in (a, b))
        apart = np.abs(a[:, :, None] - b)
        for p, wanted in (
            (0.0, (apart != 0).sum(-1)),
            (1.0, apart.sum(-1)),
            (2.0, np.sqrt((apart**2).sum(-1))),
            (3.5, (apart**3.5).sum(-1) ** (1 / 3.5)),
            (np.inf, apart.max(-1)),
        ):
            made = infinicore.cdist(x, y, p).numpy(force=True)
            assert np.allclose(made, wanted, rtol=1e-4, atol=1e-5), (width, p)
        made = infinicore.pdist(y, 2.0).numpy(force=True)
        row, column = np.triu_indices(300, 1)
        wanted = np.sqrt(((b[row] - b[column]) ** 2).sum(-1))
        assert np.allclose(made, wanted, rtol=1e-4, atol=1e-4)


def test_small_products(rng: Any) -> None:
    for m, k, n in ((11, 62, 11), (1, 9, 64), (7, 33, 20), (13, 64, 16), (32, 32, 32), (6, 5, 63)):
        a, b = rng.standard_normal((5, m, k)), rng.standard_normal((5, k, n))
        for kind, close in (("float32", 1e-4), ("float16", 2e-2)):
            x, y = infinicore.tensor(a.astype(kind)), infinicore.tensor(b.astype(kind))
            for left in (x, x.transpose(1, 2).contiguous().transpose(1, 2)):
                for right in (y, y.transpose(1, 2).contiguous().transpose(1, 2)):
                    made = infinicore.bmm(left, right).numpy(force=True)
                    assert np.allclose(made, a @ b, rtol=close, atol=close * 4)


def test_windows_with_a_nan() -> None:
    x = infinicore.arange(60, dtype=infinicore.float32).view(1, 1, 60).clone()
    x[0, 0, 30] = float("nan")
    for kernel, step in ((2, 1), (3, 2), (4, 4), (40, 5)):
        found = F.max_pool1d(x, kernel, step).numpy(force=True)[0, 0]
        starts = np.arange(len(found)) * step
        assert np.array_equal(np.isnan(found), (starts <= 30) & (starts + kernel > 30))


def test_global_windows(rng: Any) -> None:
    x, a = pair(rng.standard_normal((2, 5, 7, 7)).astype(np.float32))
    assert np.array_equal(
        F.adaptive_max_pool2d(x, 1).numpy(force=True), a.max((2, 3), keepdims=True)
    )
    assert np.array_equal(F.max_pool2d(x, 7).numpy(force=True), a.max((2, 3), keepdims=True))
    assert np.allclose(
        F.adaptive_avg_pool2d(x, 1).numpy(force=True), a.mean((2, 3), keepdims=True), atol=1e-6
    )


SHAPES = [  # images, channels, features, size, kernel, step, pad, dilation, groups
    (2, 6, 6, (9, 11), (3, 3), 1, 1, 1, 6),
    (1, 5, 10, (17, 8), (5, 3), 2, 2, 1, 5),
    (2, 4, 4, (30, 5), (3, 3), 3, 0, 2, 2),
    (1, 8, 8, (64, 70), (3, 3), 2, 1, 1, 8),
    (1, 3, 6, (40, 700), (1, 9), 1, 4, 1, 3),
    (2, 5, 7, (13, 15), (5, 5), 1, 2, 1, 1),
    (1, 3, 16, (33, 37), (7, 7), 2, 3, 1, 1),
    (2, 6, 4, (10, 9), (3, 2), 3, 1, 2, 2),
    (16, 5, 33, (25, 27), (3, 3), 1, 1, 1, 1),  # images for all threads
    (1, 21, 40, (30, 37), (3, 3), 1, 2, 2, 1),
]


@pytest.mark.parametrize("case", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
def test_convolutions(case: Any, kind: str, rng: Any) -> None:
    images, channels, features, size, kernel, step, pad, gap, groups = case
    dtype = getattr(infinicore, kind)
    made = []
    for shape in ((images, channels, *size), (features, channels // groups, *kernel), (features,)):
        tensor = infinicore.tensor(rng.standard_normal(shape)).to(dtype)
        made.append((tensor, tensor.to(infinicore.float64).numpy(force=True)))
    (x, a), (w, u), (b, v) = made
    found = F.conv2d(x, w, b, step, pad, gap, groups).to(infinicore.float64).numpy(force=True)
    padded = np.pad(a, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    reach = [(k - 1) * gap + 1 for k in kernel]
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    view = view[:, :, ::step, ::step, ::gap, ::gap]
    parts = view.reshape(images, groups, channels // groups, *view.shape[2:])
    weights = u.reshape(groups, features // groups, channels // groups, *kernel)
    expected = np.einsum("ngchwij,gfcij->ngfhw", parts, weights)
    expected = expected.reshape(images, features, *view.shape[2:4]) + v[:, None, None]
    close = {"float32": 1e-5, "bfloat16": 1e-2, "float64": 1e-12}[kind]
    assert np.abs(found - expected).max() <= close * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["float32", "float16", "int64"])
def test_sums_of_broadcast_rows(kind: str, rng: Any) -> None:
    for width in WIDTHS:
        x, a = pair(rng.integers(-9, 9, (6, width)).astype(kind))
        y, b = pair(rng.integers(-9, 9, (6, 11)).astype(kind))
        found = (x.unsqueeze(1) * y.unsqueeze(2)).sum(2)
        expected = (a[:, None] * b[:, :, None]).sum(2)
        assert np.array_equal(found.numpy(force=True), expected), width
        found = (x.unsqueeze(1) * y.unsqueeze(2)).amax(2, keepdim=True)
        expected = (a[:, None] * b[:, :, None]).max(2, keepdims=True)
        assert np.array_equal(found.numpy(force=True), expected), width
        into = infinicore.zeros(11, 6, dtype=x.dtype)
        infinicore.sum(x.unsqueeze(1) + y.unsqueeze(2), 2, out=into.T)
        expected = (a[:, None] + b[:, :, None]).sum(2)
        assert np.array_equal(into.T.numpy(force=True), expected), width
