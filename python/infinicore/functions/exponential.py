"""Powers of e and 2, logarithms, roots, and the functions around them."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._dims import floats

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logit",
    "rsqrt",
    "sigmoid",
    "sqrt",
]


@function
def digamma(input: Tensor, *, out: Any = None) -> Tensor:
    """The derivative of the logarithm of the gamma function.

    >>> infinicore.digamma(infinicore.tensor([1., 2.]))
    tensor([-0.5772,  0.4228])
    """
    return emit("digamma", input, out=out)


@function
def erf(input: Tensor, *, out: Any = None) -> Tensor:
    """The error function.

    >>> infinicore.erf(infinicore.zeros(1))
    tensor([0.])
    """
    return emit("erf", input, out=out)


@function
def erfc(input: Tensor, *, out: Any = None) -> Tensor:
    """1 - erf(input), exact where that is small.

    >>> infinicore.erfc(infinicore.tensor([0., 0.5]))
    tensor([1.0000, 0.4795])
    """
    return emit("erfc", input, out=out)


@function
def erfinv(input: Tensor, *, out: Any = None) -> Tensor:
    """The number with this value of the error function.

    >>> infinicore.erfinv(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.4769])
    """
    return emit("erfinv", input, out=out)


@function
def exp(input: Tensor, *, out: Any = None) -> Tensor:
    """e to the power of the input.

    >>> infinicore.exp(infinicore.zeros(1))
    tensor([1.])
    """
    return emit("exp", input, out=out)


@function
def exp2(input: Tensor, *, out: Any = None) -> Tensor:
    """2 to the power of the input.

    >>> infinicore.exp2(infinicore.zeros(1))
    tensor([1.])
    """
    return emit("exp2", input, out=out)


@function
def expm1(input: Tensor, *, out: Any = None) -> Tensor:
    """exp(input) - 1, exact near 0.

    >>> infinicore.expm1(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.6487])
    """
    return emit("expm1", input, out=out)


@function
def lgamma(input: Tensor, *, out: Any = None) -> Tensor:
    """The logarithm of the size of the gamma function.

    >>> infinicore.lgamma(infinicore.tensor([1., 4.]))
    tensor([0.0000, 1.7918])
    """
    return emit("lgamma", input, out=out)


@function
def log(input: Tensor, *, out: Any = None) -> Tensor:
    """The natural logarithm.

    >>> infinicore.log(infinicore.ones(1))
    tensor([0.])
    """
    return emit("log", input, out=out)


@function
def log10(input: Tensor, *, out: Any = None) -> Tensor:
    """The logarithm to base 10.

    >>> infinicore.log10(infinicore.tensor([100.]))
    tensor([2.])
    """
    return emit("log10", input, out=out)


@function
def log1p(input: Tensor, *, out: Any = None) -> Tensor:
    """log(1 + input), exact near 0.

    >>> infinicore.log1p(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.4055])
    """
    return emit("log1p", input, out=out)


@function
def log2(input: Tensor, *, out: Any = None) -> Tensor:
    """The logarithm to base 2.

    >>> infinicore.log2(infinicore.tensor([8.]))
    tensor([3.])
    """
    return emit("log2", input, out=out)


@function
def rsqrt(input: Tensor, *, out: Any = None) -> Tensor:
    """1 / sqrt(input).

    >>> infinicore.rsqrt(infinicore.tensor([4.]))
    tensor([0.5000])
    """
    return emit("rsqrt", input, out=out)


@function
def sigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-input)).

    >>> infinicore.sigmoid(infinicore.zeros(1))
    tensor([0.5000])
    """
    return emit("sigmoid", input, out=out)


@function
def sqrt(input: Tensor, *, out: Any = None) -> Tensor:
    """The square root.

    >>> infinicore.sqrt(infinicore.tensor([4., 9.]))
    tensor([2., 3.])
    """
    return emit("sqrt", input, out=out)


@function
def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """log(input / (1 - input)); with `eps` the input is kept between eps and 1 - eps.

    >>> infinicore.logit(infinicore.tensor([0.5]))
    tensor([0.])
    """
    input = floats(input)
    if eps is not None:
        input = emit("minimum", emit("maximum", input, eps), 1 - eps)
    return emit("log", emit("div", input, emit("sub", 1.0, input)), out=out)
