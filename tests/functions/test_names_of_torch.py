"""Functions with torch's names that are composed of others here, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import tensor
from infinicore.nn import functional as F  # noqa: N812
from kit.place import ON_HOST

RANDOM = np.random.default_rng(4)


def close(got: Any, wanted: Any) -> None:
    assert np.allclose(got.numpy(force=True), wanted, atol=1e-6)


def same(got: Any, wanted: Any) -> None:
    for one, two in zip(got, wanted, strict=True):
        assert np.array_equal(one.numpy(force=True), two.numpy(force=True))


# ---- Linear algebra -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 4)])
@pytest.mark.parametrize("is_complex", [False, True])
def test_reflectors(shape: tuple[int, ...], is_complex: bool) -> None:
    x = RANDOM.standard_normal(shape)
    x = x + 1j * RANDOM.standard_normal(shape) if is_complex else x
    a, tau = infinicore.geqrf(tensor(x))
    rows = shape[-2]
    eye = infinicore.eye(rows, dtype=a.dtype).expand(*shape[:-2], rows, rows)
    q = infinicore.ormqr(a, tau, eye)
    unit = q.numpy(force=True)
    close(q, unit)
    assert np.allclose(unit.conj().swapaxes(-1, -2) @ unit, np.eye(rows))
    close(q @ a.triu(), x)
    other = tensor(RANDOM.standard_normal((*shape[:-2], rows, 2))).to(a.dtype)
    close(
        infinicore.ormqr(a, tau, other, transpose=True),
        unit.conj().swapaxes(-1, -2) @ other.numpy(force=True),
    )
    flat = other.transpose(-2, -1).contiguous()
    close(infinicore.ormqr(a, tau, flat, left=False), flat.numpy(force=True) @ unit)
    wanted = flat.numpy(force=True) @ unit.conj().swapaxes(-1, -2)
    close(infinicore.ormqr(a, tau, flat, False, True), wanted)
    if rows >= shape[-1]:
        first = infinicore.linalg.householder_product(a, tau)
        close(first, unit[..., : shape[-1]])
    with pytest.raises(ValueError, match="ormqr: size -2 of other"):
        infinicore.ormqr(a, tau, infinicore.ones(*shape[:-2], rows + 1, 1, dtype=a.dtype))


@pytest.mark.parametrize("shape", [(6, 6), (7, 4), (4, 7)])
def test_reflectors_of_triangles(shape: tuple[int, int]) -> None:
    """A column that is 0 below the diagonal needs no reflection."""
    x = np.triu(RANDOM.standard_normal(shape))
    x[1, 0] = 1
    a, tau = infinicore.geqrf(tensor(x))
    assert tau[0].item() > 0.5
    assert not tau[1:].any()
    close(infinicore.ormqr(a, tau, tensor(np.eye(shape[0]))) @ a.triu(), x)
    a, tau = infinicore.geqrf(tensor(np.triu(x)))
    assert not tau.any()
    assert np.array_equal(a.numpy(force=True), np.triu(x))


def test_low_rank() -> None:
    x = RANDOM.standard_normal((8, 3)) @ RANDOM.standard_normal((3, 6))
    for each in (x, x.T.copy()):
        u, s, v = infinicore.svd_lowrank(tensor(each), q=3)
        close((u * s) @ v.mT, each)
        u, s, v = infinicore.svd_lowrank(tensor(each), q=3, M=tensor(each / 2))
        close((u * s) @ v.mT, each / 2)
        u, s, v = infinicore.pca_lowrank(tensor(each), q=3)
        close((u * s) @ v.mT, each - each.mean(0))
    with pytest.raises(ValueError, match="pca_lowrank: q is 7"):
        infinicore.pca_lowrank(tensor(x), q=7)


def test_norms() -> None:
    x = RANDOM.standard_normal((3, 4, 5))
    close(infinicore.frobenius_norm(tensor(x)), np.linalg.norm(x))
    close(infinicore.frobenius_norm(tensor(x), (0, 2)), np.linalg.norm(x, axis=(0, 2)))
    close(infinicore.nuclear_norm(tensor(x[0])), np.linalg.norm(x[0], "nuc"))
    wanted = np.linalg.norm(x, "nuc", axis=(0, 2))
    close(infinicore.nuclear_norm(tensor(x), (0, 2)), wanted)
    wanted = np.sqrt((x * x).sum((0, 2), keepdims=True))
    close(infinicore.norm_except_dim(tensor(x), 2, 1), wanted)


def test_lu() -> None:
    x = RANDOM.standard_normal((4, 4))
    for made, wanted in (
        (infinicore.lu(tensor(x)), infinicore.linalg.lu_factor(tensor(x))),
        (infinicore.lu(tensor(x), get_infos=True), infinicore.linalg.lu_factor_ex(tensor(x))),
    ):
        same(made, wanted)


# ---- Counting -----------------------------------------------------------------------------------


def test_histograms_of_points() -> None:
    x, weight = RANDOM.random((20, 2)), RANDOM.random(20)
    edges = [np.array([0.0, 0.3, 1.0]), np.array([0.1, 0.5, 0.6, 0.9])]
    for bins in (3, [2, 4], edges):
        given = [tensor(each) for each in edges] if bins is edges else bins
        for density in (False, True):
            got = infinicore.histogramdd(tensor(x), given, weight=tensor(weight), density=density)
            wanted = np.histogramdd(x, bins, weights=weight, density=density)
            close(got.hist, wanted[0])
            for one, two in zip(got.bin_edges, wanted[1], strict=True):
                close(one, two)
    got = infinicore.histogramdd(tensor(x), 3, range=[0.0, 1.0, 0.0, 0.5])
    close(got.hist, np.histogramdd(x, 3, range=[(0, 1), (0, 0.5)])[0])
    with pytest.raises(ValueError, match="histogramdd: the number of bins is 3"):
        infinicore.histogramdd(tensor(x), [2, 2, 2])


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_segments(reduce: str) -> None:
    x, lengths = RANDOM.standard_normal((6, 3)), [2, 1, 0, 3]
    parts = np.split(x, np.cumsum(lengths)[:-1])
    neutral = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}[reduce]
    rows = [getattr(each, reduce)(0) if len(each) else np.full(3, neutral) for each in parts]
    got = infinicore.segment_reduce(tensor(x), reduce, lengths=tensor(lengths))
    assert np.allclose(got.numpy(force=True), np.stack(rows), equal_nan=True)
    offsets = tensor([0, *np.cumsum(lengths)])
    again = infinicore.segment_reduce(tensor(x), reduce, offsets=offsets)
    assert np.array_equal(again.numpy(force=True), got.numpy(force=True), equal_nan=True)
    batch = np.stack([x.T, x.T])
    sizes = tensor(np.broadcast_to(np.array(lengths), (2, 3, 4)).copy())
    got = infinicore.segment_reduce(tensor(batch), reduce, lengths=sizes, axis=2)
    assert np.allclose(got[0].T.numpy(force=True), np.stack(rows), equal_nan=True)
    with pytest.raises(RuntimeError, match="expected one of lengths and offsets"):
        infinicore.segment_reduce(tensor(x), reduce)


def test_static_nonzero() -> None:
    x = tensor([[0, 5, 7], [0, 0, 2]])
    assert infinicore.nonzero_static(x, size=2).tolist() == [[0, 1], [0, 2]]
    filled = [[0, 1], [0, 2], [1, 2], [9, 9]]
    assert x.nonzero_static(size=4, fill_value=9).tolist() == filled
    assert infinicore.nonzero_static(tensor(1.0), size=2).shape == (2, 0)
    assert infinicore.nonzero_static(infinicore.zeros(0), size=1).tolist() == [[-1]]


# ---- Other names --------------------------------------------------------------------------------


def test_pools_with_indices() -> None:
    for rank in (1, 2, 3):
        x = tensor(RANDOM.standard_normal((2, 3, *[6] * rank)))
        for name, args in ((f"max_pool{rank}d", (2,)), (f"adaptive_max_pool{rank}d", (3,))):
            got = getattr(F, f"{name}_with_indices")(x, *args)
            same(got, getattr(F, name)(x, *args, return_indices=True))
        if rank > 1:
            samples = tensor(RANDOM.random((2, 3, rank)))
            given = {"kernel_size": 2, "output_size": 3, "_random_samples": samples}
            got = getattr(F, f"fractional_max_pool{rank}d_with_indices")(x, **given)
            name = f"fractional_max_pool{rank}d"
            same(got, getattr(F, name)(x, **given, return_indices=True))
    x = tensor(RANDOM.standard_normal((2, 3, 6, 6)))
    same(infinicore.max_pool2d_with_indices(x, 2), F.max_pool2d_with_indices(x, 2))


def test_samplers() -> None:
    theta = tensor(RANDOM.standard_normal((2, 2, 3)))
    grid = infinicore.affine_grid_generator(theta, (2, 3, 4, 5), True)
    same([grid], [F.affine_grid(theta, (2, 3, 4, 5), True)])
    x = tensor(RANDOM.standard_normal((2, 3, 4, 5)))
    wanted = F.grid_sample(x, grid, "nearest", "border", True)
    same([infinicore.grid_sampler(x, grid, 1, 1, True)], [wanted])
    same([infinicore.grid_sampler_2d(x, grid, 1, 1, True)], [wanted])
    volume, places = infinicore.ones(1, 1, 2, 2, 2), infinicore.zeros(1, 1, 1, 1, 3)
    assert infinicore.grid_sampler_3d(volume, places, 0, 0, False).item() == 1
    with pytest.raises(ValueError, match="grid_sampler_3d"):
        infinicore.grid_sampler_3d(x, grid, 0, 0, False)
    with pytest.raises(ValueError, match="interpolation_mode is 3"):
        infinicore.grid_sampler(x, grid, 3, 0, False)


def test_native_norms() -> None:
    x = RANDOM.standard_normal((2, 4, 6))
    weight, bias = tensor(RANDOM.standard_normal(6)), tensor(RANDOM.standard_normal(6))
    made, mean, inverse = infinicore.native_layer_norm(tensor(x), [6], weight, bias, 0.1)
    same([made], [F.layer_norm(tensor(x), [6], weight, bias, 0.1)])
    close(mean, x.mean(2, keepdims=True))
    close(inverse, (x.var(2, keepdims=True) + 0.1) ** -0.5)
    made, mean, inverse = infinicore.native_group_norm(tensor(x), None, None, 2, 4, 6, 2, 0.1)
    same([made], [F.group_norm(tensor(x), 2, eps=0.1)])
    close(mean, x.reshape(2, 2, 12).mean(2))
    close(inverse, (x.reshape(2, 2, 12).var(2) + 0.1) ** -0.5)
    zero, one = tensor(np.zeros(4)), tensor(np.ones(4))
    made, mean, inverse = infinicore.native_batch_norm(
        tensor(x), None, None, zero, one, False, 0.1, 0.5
    )
    same([made], [F.batch_norm(tensor(x), zero, one, eps=0.5)])
    close(mean, np.zeros(0 if ON_HOST else 4))  # as in torch
    close(inverse, np.full(mean.shape, 1.5**-0.5))
    _, mean, inverse = infinicore.native_batch_norm(
        tensor(x), None, None, None, None, True, 0.1, 0.5
    )
    close(mean, x.mean((0, 2)))
    close(inverse, (x.var((0, 2)) + 0.5) ** -0.5)


def test_loss_of_features() -> None:
    x, weight = tensor(RANDOM.standard_normal((4, 3))), tensor(RANDOM.standard_normal((5, 3)))
    bias, target = tensor(RANDOM.standard_normal(5)), tensor([0, 4, 2, 1])
    got = F.linear_cross_entropy(x, weight, target, linear_bias=bias, label_smoothing=0.1)
    wanted = F.cross_entropy(F.linear(x, weight, bias), target, label_smoothing=0.1)
    assert got.item() == pytest.approx(wanted.item())
    deep = tensor(RANDOM.standard_normal((5, 2, 3)))
    rows = tensor(RANDOM.integers(0, 5, (4, 2)))
    got = F.linear_cross_entropy(x, deep, rows, reduction="none")
    assert got.shape == (4, 2)
    with pytest.raises(ValueError, match="the last size of input is 3"):
        F.linear_cross_entropy(x, tensor(np.ones((5, 4))), target)


def test_small_names() -> None:
    x = tensor(RANDOM.standard_normal((1, 4, 2, 2)))
    same([F.native_channel_shuffle(x, 2)], [F.channel_shuffle(x, 2)])
    same([infinicore.constant_pad_nd(x, [1, 2], 3)], [F.pad(x, (1, 2), value=3)])
    rows = tensor(RANDOM.standard_normal((4, 3)))
    same([F.pdist(rows)], [infinicore.pdist(rows)])
    assert infinicore.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    assert infinicore.range(3, dtype=infinicore.int64).tolist() == [0, 1, 2, 3]
    assert infinicore.range(2, 0, -1).tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match="range: step is -1"):
        infinicore.range(0, 2, -1)
    for periodic in (False, True):
        got = infinicore.kaiser_window(6, periodic, beta=3.0, dtype=infinicore.float64)
        close(got, np.kaiser(7, 3.0)[:6] if periodic else np.kaiser(6, 3.0))
    time, kernel = RANDOM.standard_normal((5, 2, 3)), RANDOM.standard_normal((2, 3, 4))
    wanted = [sum(time[t + k] @ kernel[k] for k in range(2)) + 1 for t in range(4)]
    close(F.conv_tbc(tensor(time), tensor(kernel), tensor(np.ones(4))), np.stack(wanted))
