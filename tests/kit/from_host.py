"""infinicore.op for torch tensors and NumPy arrays on the host: directly on the CPU; on other
devices with copies, and results are converted back."""

from __future__ import annotations

from typing import Any

import numpy as np

import infinicore
import infinicore.op

from . import ref
from .place import ON_HOST, here, put, there
from .requirements import need

torch = need("torch")


def _placed(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return put(x)
    return there(x) if isinstance(x, np.ndarray) else x


class _Operators:
    def __getattr__(self, name: str) -> Any:
        function = getattr(infinicore.op, name)
        if ON_HOST:
            return function

        def call(*given: Any, **options: Any) -> Any:
            are_torch = any(isinstance(x, torch.Tensor) for x in given)

            def bring(made: Any) -> Any:
                if isinstance(made, tuple):
                    return tuple(map(bring, made))
                return ref.to_torch(ref.of(made)) if are_torch else here(made)

            options = {key: _placed(x) for key, x in options.items()}
            return bring(function(*map(_placed, given), **options))

        return call


op: Any = _Operators()
