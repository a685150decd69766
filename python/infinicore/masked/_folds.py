"""Masked reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import infinicore
from infinicore._dtype import category, int64
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dims_of, expect, need_tensor
from infinicore.functions._index_checks import is_known
from infinicore.masked._masks import filled, mask_for, named

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]


def _folding(name: str, neutral: str, work: Callable[..., Tensor], text: str, example: str) -> Any:
    """A masked function, from one that reduces input filled with a neutral element."""

    def body(
        input: Tensor,
        dim: Any = None,
        *,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        x = filled(name, input, mask, neutral)
        made = work(x, dim, bool(keepdim), dtype)
        return made if dtype is None else made.to(dtype)

    return named(
        body,
        name,
        __name__,
        f"""{text}

    >>> x, mask = infinicore.tensor([1., 2., 4.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.{name}(x, mask=mask)
    tensor({example})
    """,
    )


def _plain(work: Any) -> Callable[..., Tensor]:
    """Cast to the type of the input, which torch keeps for indices and for logarithms of integers
    too."""
    return lambda x, dim, keepdim, kind: work(x, dim, keepdim).to(kind or x.dtype)


def _over(work: Any) -> Callable[..., Tensor]:
    """Over several dimensions."""
    return _plain(lambda x, dim, keepdim: work(x, tuple(dims_of("dim", x, dim)), keepdim))


def _total(x: Tensor, dim: Any, keepdim: bool, kind: Any) -> Tensor:
    return infinicore.sum(x, tuple(dims_of("sum", x, dim)), keepdim, dtype=kind)


def _product(x: Tensor, dim: Any, keepdim: bool, kind: Any) -> Tensor:
    made = x.to(kind or (int64 if category(x.dtype) < 2 else x.dtype))
    dims = dims_of("prod", x, dim) if x.ndim or dim in (None, ()) else [0]
    for each in sorted(dims, reverse=True):
        made = made.prod(each, keepdim)
    return made


sum = _folding("sum", "0", _total, "The sum. Integers give int64.", "3.")
prod = _folding("prod", "1", _product, "The product. Integers give int64.", "2.")
amax = _folding("amax", "least", _over(infinicore.amax), "The largest element.", "2.")
amin = _folding("amin", "most", _over(infinicore.amin), "The smallest element.", "1.")
argmax = _folding(
    "argmax", "least", _plain(infinicore.argmax), "The place of the largest element.", "1."
)
argmin = _folding(
    "argmin", "most", _plain(infinicore.argmin), "The place of the smallest element.", "0."
)
logsumexp = _folding(
    "logsumexp",
    "-inf",
    _over(infinicore.logsumexp),
    "log(sum(exp(x))), without overflow.",
    "2.3133",
)


@function
def mean(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean; NaN where all elements are masked out.

    >>> x, mask = infinicore.tensor([1., 2., 4.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.mean(x, mask=mask)
    tensor(1.5000)
    """
    kind = input.dtype if dtype is None else dtype
    expect(category(kind) >= 2, "mean", "the type", repr(kind), "floats, or a float dtype=")
    total = sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask)
    return total / _count("mean", input, dim, keepdim, mask)  # type: ignore[no-any-return]


def _count(name: str, input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """The number of unmasked elements."""
    if mask is None:
        whole = infinicore.ones(input.shape, dtype=infinicore.bool, device=input.device)
    else:
        whole = mask_for(name, input, mask)
    dims = tuple(dims_of(name, input, dim))
    return whole.sum(dims, bool(keepdim))


def _spread(
    name: str,
    input: Tensor,
    dim: Any,
    correction: float,
    keepdim: bool,
    kind: Any,
    mask: Tensor | None,
) -> Tensor:
    kind = kind or (input.dtype if category(input.dtype) > 1 else infinicore.float32)
    inside = kind if category(kind) > 1 else infinicore.float32
    total = sum(input, dim, keepdim=True, dtype=kind, mask=mask)
    gap = input - total / _count(name, input, dim, True, mask)
    squares = gap * gap.conj()
    made = sum(squares, dim, keepdim=keepdim, dtype=inside, mask=mask)
    count = _count(name, input, dim, keepdim, mask)
    real = made.real.dtype if made.dtype.is_complex else made.dtype
    left = (count.to(real) - correction).clamp_min(0)
    return (made / left).to(kind)  # type: ignore[no-any-return]


def _spreading(name: str, text: str, example: str) -> Any:
    def body(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        *,
        correction: float | None = None,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        if unbiased is not None and correction is not None:
            raise ValueError(f"{name}: expected one of unbiased and correction")
        if correction is None:
            correction = 0 if unbiased is False else 1
        made = _spread(name, input, dim, float(correction), keepdim, dtype, mask)
        return made.sqrt() if name == "std" else made

    return named(
        body,
        name,
        __name__,
        f"""{text} of the elements: NaN where the mask leaves nothing.

    >>> x, mask = infinicore.tensor([1., 2., 4.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.{name}(x, mask=mask)
    tensor({example})
    """,
    )


var = _spreading("var", "The variance", "0.5000")
std = _spreading("std", "The standard deviation", "0.7071")


@function
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Vector norms, as in `infinicore.linalg.vector_norm`.

    >>> x, mask = infinicore.tensor([3., 4., 5.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.norm(x, mask=mask)
    tensor(5.)
    """
    ord = 2.0 if ord is None else float(ord)
    x = filled("norm", input, mask, "most" if ord == -infinicore.inf else "0")
    dims = tuple(dims_of("norm", input, dim))
    return infinicore.linalg.vector_norm(x, ord, dims, bool(keepdim), dtype=dtype)


@function
def _median(input: Tensor, dim: int, keepdim: bool, mask: Tensor | None) -> Tensor:
    x = input if input.dtype.is_floating_point else input.to(infinicore.float32)
    return infinicore.nanmedian(filled("median", x, mask, "nan"), dim, bool(keepdim)).values  # type: ignore[no-any-return]


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median, the lower one of two; NaN where all elements are masked out.

    >>> x, mask = infinicore.tensor([1., 2., 4.]), infinicore.tensor([True, True, False])
    >>> infinicore.masked.median(x, mask=mask)
    tensor(1.)
    """
    need_tensor("median", "input", input)
    made = _median(input, dim, keepdim, mask)
    if input.dtype.is_floating_point:
        return made
    if is_known(made) and made.isnan().any().item():
        raise ValueError(
            "median: the mask leaves nothing of a row: expected floats, which have NaN"
        )
    return made.to(dtype or input.dtype)
