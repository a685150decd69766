"""infinicore.op on tensors of a device: infinicore's, the runtime's memory, torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore as ic
from infinicore import op, rt
from kit.place import KIND, ON_HOST
from kit.requirements import need

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x.astype(np.float64)))


def test_tensors_of_infinicore() -> None:
    x = ic.tensor(X)
    y = op.silu(x)
    assert isinstance(y, ic.Tensor) and y.device == x.device
    np.testing.assert_allclose(y.numpy(force=True), silu(X), rtol=1e-6)
    np.testing.assert_allclose(op.silu(x.T).numpy(force=True), silu(X.T), rtol=1e-6)
    row = op.sum(x, dim=(0,))
    np.testing.assert_allclose(row.numpy(force=True), X.sum(0), atol=1e-5)
    assert op.add(x, x, out=x) is x
    np.testing.assert_array_equal(x.numpy(force=True), X + X)
    values, indices = op.topk(ic.tensor(X), k=2)
    np.testing.assert_array_equal(values.numpy(force=True), -np.sort(-X)[:, :2])
    assert indices.dtype is ic.int64


def test_behind_work_that_is_queued() -> None:
    x = ic.ones(1 << 16)
    for _ in range(20):
        x = x + 1
    assert bool((op.mul(x, x) == 21 * 21).all())


def test_what_is_found() -> None:
    x = ic.tensor(X)
    found = op.argwhere(x)
    np.testing.assert_array_equal(found.numpy(force=True), np.argwhere(X != 0))
    chosen = op.masked_select(x, x > 1)
    np.testing.assert_array_equal(chosen.numpy(force=True), X[X > 1])


def test_memory_of_the_runtime() -> None:
    memory, result = rt.Memory(X.nbytes), rt.Memory(X.nbytes)
    memory.copy_from(X)
    op.silu(op.view(memory, X.shape, "F32"), out=op.view(result, X.shape, "F32"))
    back = np.empty_like(X)
    result.copy_to(back)
    np.testing.assert_allclose(back, silu(X), rtol=1e-6)


@pytest.mark.requires("accelerator")
def test_tensors_that_lie_elsewhere() -> None:
    with pytest.raises(ValueError, match="memory of the host"):
        op.silu(X)
    x = ic.tensor(X)
    plan = op.describe("silu", x)
    with pytest.raises(ValueError, match="memory of the host"):
        plan(np.empty_like(X), X)
    ic.set_device("cpu")
    try:
        with pytest.raises(ValueError, match="the current device is cpu"):
            op.silu(x)
    finally:
        ic.set_device(KIND)


def test_torch() -> None:
    torch = need("torch")
    if not ON_HOST and (ic.device(KIND).type != "cuda" or not torch.cuda.is_available()):
        pytest.skip("no torch for this device")
    where = "cpu" if ON_HOST else "cuda"
    x = torch.from_numpy(X.copy()).to(where)
    made = op.silu(x)
    assert isinstance(made, torch.Tensor) and made.device == x.device
    np.testing.assert_allclose(made.cpu().numpy(), silu(X), rtol=1e-6)
    if not ON_HOST:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                x = torch.randn(1 << 20, device=where)
                assert torch.equal(op.add(x, x), x + x)
