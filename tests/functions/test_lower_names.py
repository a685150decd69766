"""Functions of torch's lower level, against the public functions that they implement."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional as F  # noqa: N812


def close(a: infinicore.Tensor, b: infinicore.Tensor) -> None:
    np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-5, atol=1e-6)


def test_other_names() -> None:
    x, theta = infinicore.randn(2, 4, 3, 3), infinicore.randn(2, 2, 3)
    close(infinicore.constant_pad_nd(x, (1, 2), 3.0), F.pad(x, (1, 2), value=3.0))
    grid = infinicore.affine_grid_generator(theta, (2, 4, 3, 3), False)
    close(grid, F.affine_grid(theta, (2, 4, 3, 3), False))
    made = infinicore.grid_sampler(x, grid, 1, 2, True)
    close(made, F.grid_sample(x, grid, "nearest", "reflection", True))
    with pytest.raises(
        ValueError, match="grid_sampler: interpolation_mode is 3: expected 0, 1 or 2"
    ):
        infinicore.grid_sampler(x, grid, 3, 0, True)
    close(infinicore.native_channel_shuffle(x, 2), F.channel_shuffle(x, 2))
    close(infinicore.frobenius_norm(x, (2, 3)), infinicore.linalg.matrix_norm(x))
    close(infinicore.nuclear_norm(x), infinicore.linalg.svdvals(x).sum(-1))


def test_dropout() -> None:
    x = infinicore.ones(50, 20, 3)
    channels = infinicore.feature_dropout(x, 0.5, True)
    assert set(channels.flatten().tolist()) == {0.0, 2.0}
    assert bool((channels == channels[:, :, :1]).all())
    assert infinicore.feature_dropout(x, 0.5, False) is x
    kept, mask = infinicore.native_dropout(x, 0.5, True)
    close(kept, 2.0 * mask)
    assert mask.dtype is infinicore.bool and 0 < mask.sum().item() < mask.numel()


def test_norms() -> None:
    x = infinicore.randn(3, 4, 5)
    made, mean, scale = infinicore.native_layer_norm(x, (4, 5), None, None, 1e-5)
    close(made, (x - mean) * scale)
    assert mean.shape == scale.shape == (3, 1, 1)
    made, mean, scale = infinicore.native_group_norm(x, None, None, 3, 4, 5, 2, 1e-5)
    assert mean.shape == (3, 2)
    close(made, (x.view(3, 2, 10) - mean[..., None]).mul(scale[..., None]).view(3, 4, 5))
    made, mean, scale = infinicore.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    close(made, (x - mean[:, None]) * scale[:, None])


def test_nonzero_static() -> None:
    x = infinicore.tensor([[0, 3], [4, 5]])
    assert infinicore.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    out = infinicore.zeros(4, 2, dtype=infinicore.int64)
    assert infinicore.nonzero_static(x, size=4, fill_value=7, out=out) is out
    assert out.tolist() == [[0, 1], [1, 0], [1, 1], [7, 7]]
