"""The device of the tensors of a test: that of `--device`.

Suites create tensors without a device argument (conftest.py sets the default), copy tensors of
kit.ref there with `put`, and read results with `ref.of` or `numpy(force=True)`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import infinicore

from .ref.tensor import Tensor

KIND = os.environ.get("INFINI_DEVICE") or "cpu"
ON_HOST = KIND == "cpu"
HAS_AMX = "amx_bf16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")


def put(tensor: Any) -> Any:
    """A tensor of kit.ref or torch as an infinicore tensor on the device, with the same strides. On
    the CPU a torch tensor's memory is shared."""
    if isinstance(tensor, Tensor):
        return _copy(tensor.array)
    shared = infinicore.from_torch(tensor)
    if ON_HOST:
        return shared
    return _strided(lambda size: shared.as_strided([size], [1]).to(KIND), tensor)


def _copy(array: Any) -> Any:
    def whole(size: int) -> Any:
        flat = np.lib.stride_tricks.as_strided(array, (size,), (array.itemsize,))
        return infinicore.tensor(flat, device=KIND)

    return _strided(whole, Tensor(array))


def _strided(whole: Any, tensor: Any) -> Any:
    """What `tensor` is in memory, from the elements between its first and its last."""
    reach = ((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    count = 1 + sum(reach) if tensor.numel() else 0
    return whole(count).as_strided(list(tensor.shape), list(tensor.stride()))


def there(array: Any) -> Any:
    """A NumPy array in memory that the device's operators accept: itself on the CPU."""
    return array if ON_HOST else infinicore.tensor(array, device=KIND)


def here(made: Any) -> Any:
    """The result of `there`, or of an operator on it, as a NumPy array."""
    return made.numpy(force=True) if isinstance(made, infinicore.Tensor) else made
