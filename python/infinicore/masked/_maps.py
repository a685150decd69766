"""Masked functions that keep the shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of
from infinicore.masked._folds import norm
from infinicore.masked._masks import filled, named

__all__ = ["cumprod", "cumsum", "log_softmax", "logaddexp", "normalize", "softmax", "softmin"]


def _along(name: str, neutral: str, work: Callable[..., Tensor], text: str, example: str) -> Any:
    """A masked function, from one along a dimension of input filled with a neutral element."""

    def body(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        x = filled(name, input, mask, neutral)
        kind = dtype or input.dtype
        return work(x, dim_of(name, x, dim), dtype=kind).to(kind)

    return named(
        body,
        name,
        __name__,
        f"""{text}

    >>> x, mask = infinicore.tensor([1., 2., 4.]), infinicore.tensor([True, False, True])
    >>> infinicore.masked.{name}(x, 0, mask=mask)
    tensor([{example}])
    """,
    )


_F = infinicore.nn.functional
cumsum = _along("cumsum", "0", infinicore.cumsum, "Running sums.", "1., 1., 5.")
cumprod = _along("cumprod", "1", infinicore.cumprod, "Running products.", "1., 1., 4.")
softmax = _along(
    "softmax",
    "least",
    _F.softmax,
    "exp(x) / sum(exp(x)): 0 outside the mask.",
    "0.0474, 0.0000, 0.9526",
)
log_softmax = _along(
    "log_softmax", "least", _F.log_softmax, "The logarithm of `softmax`.", "-3.0486, -inf, -0.0486"
)
softmin = _along(
    "softmin", "most", _F.softmin, "`softmax` of -x: 0 outside the mask.", "0.9526, 0.0000, 0.0474"
)


@function
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Vectors divided by the maximum of their `norm` and eps.

    >>> x, mask = infinicore.tensor([3., 4., 5.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.normalize(x, 2.0, 0, mask=mask)
    tensor([0.6000, 0.8000, 0.0000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled("normalize", input, mask, "0") / length.clamp_min(eps)


@function
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), each with its own mask.

    >>> x, mask = infinicore.tensor([1., 2.]), infinicore.tensor([True, False])
    >>> infinicore.masked.logaddexp(x, x, input_mask=mask)
    tensor([1.6931, 2.0000])
    """
    one = filled("logaddexp", input, input_mask, "least")
    two = filled("logaddexp", other, other_mask, "least")
    return infinicore.logaddexp(one, two).to(dtype or input.dtype)
