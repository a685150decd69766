"""Where the tensors of a test lie: on the device of `--device`.

Suites make tensors without naming a device (conftest.py makes the chosen one the default), bring
torch tensors there with `put`, and look at results with `to_torch` or `numpy(force=True)`.
"""

from __future__ import annotations

import os
from typing import Any

import infinicore

KIND = os.environ.get("INFINI_DEVICE") or "cpu"
ON_HOST = KIND == "cpu"


def put(tensor: Any) -> Any:
    """A torch tensor as one of infinicore's on the device: on the CPU its very memory, elsewhere a
    copy with the same strides."""
    shared = infinicore.from_torch(tensor)
    if ON_HOST:
        return shared
    reach = ((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    count = 1 + sum(reach) if tensor.numel() else 0
    whole = shared.as_strided([count], [1]).to(KIND)
    return whole.as_strided(list(tensor.shape), list(tensor.stride()))


def there(array: Any) -> Any:
    """A NumPy array where the device's operators take it: itself on the CPU."""
    return array if ON_HOST else infinicore.tensor(array, device=KIND)


def here(made: Any) -> Any:
    """What `there` gave, or an operator made of it, as a NumPy array."""
    return made.numpy(force=True) if isinstance(made, infinicore.Tensor) else made
