"""Padding under the name of torch's own operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`nn.functional.pad` with a constant value.

    >>> infinicore.constant_pad_nd(infinicore.ones(1), [1, 0])
    tensor([0., 1.])
    """
    padded = infinicore.nn.functional.pad
    if not isinstance(value, complex):
        return padded(input, tuple(pad), "constant", value)
    expect(input.is_complex(), "constant_pad_nd", "value", value, f"a number of {input.dtype}")
    parts = ((input.real, value.real), (input.imag, value.imag))
    return infinicore.complex(*(padded(part, tuple(pad), "constant", n) for part, n in parts))
