"""Contiguous copies."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor


@function
def _rearrange(input: Tensor, *, out: Any = None) -> Tensor:
    return emit("rearrange", input, out=out)


def rearrange(input: Tensor, other: Any = None, *, out: Any = None) -> Tensor:
    """A contiguous copy, or a copy to `out`. A second argument is ignored.

    >>> infinicore.rearrange(infinicore.ones(2, 3).T).is_contiguous()
    True
    """
    return _rearrange(need_tensor("rearrange", "input", input), out=out)
