"""Padding under the name of torch's own operator."""

from __future__ import annotations

from collections.abc import Sequence

import infinicore
from infinicore._tensor import Tensor

__all__ = ["constant_pad_nd"]


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` with a value.

    >>> infinicore.constant_pad_nd(infinicore.ones(1), [1, 0])
    tensor([0., 1.])
    """
    return infinicore.nn.functional.pad(input, tuple(pad), "constant", value)
