"""Variances, norms and logsumexp."""

from __future__ import annotations

import math
from typing import Any

from infinicore._complex_parts import parts, real_type
from infinicore._dtype import category, dtype, get_default_dtype
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, dims_of
from infinicore.functions._operands import wide
from infinicore.functions.elementwise.comparison import where
from infinicore.functions.reduce.reduction import _folded, _into


def _variance_and_mean(
    name: str, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> tuple[Tensor, Tensor]:
    """Variance and mean, computed in float32 for half types."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if category(input.dtype) < 2:
        raise RuntimeError(f"{name}: the type is {input.dtype!r}: expected floats")
    taken = (1 if unbiased else 0) if correction is None else correction
    dims = dims_of(name, input, dim)
    count = math.prod(input.shape[d] for d in dims)
    x = wide(input)
    given = dims if input.ndim else None
    is_plain = taken in (0, 1)
    variance, mean = emit(
        "var_mean", x, dim=given, unbiased=is_plain and bool(taken), keepdim=keepdim
    )
    if not is_plain:
        left = count - taken if count > taken else 0
        variance = emit("mul", variance, count / left if left else math.inf)
    return variance, mean


@function
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    out: Any = None,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over dimensions; the sum of squares is divided by the number of elements minus
    `correction` (1, or 0 if not `unbiased`).

    >>> infinicore.var(infinicore.tensor([1., 2., 3.]))
    tensor(1.)
    """
    variance, _ = _variance_and_mean("var", input, dim, unbiased, keepdim, correction)
    return _into("var", variance, real_type(input.dtype), out)


@function
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    out: Any = None,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over dimensions; see `var`.

    >>> infinicore.std(infinicore.tensor([1., 2., 3.]))
    tensor(1.)
    """
    variance, _ = _variance_and_mean("std", input, dim, unbiased, keepdim, correction)
    return _into("std", emit("sqrt", variance), real_type(input.dtype), out)


@function
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    out: Any = None,
    *,
    correction: float | None = None,
) -> Any:
    """Variance and mean over dimensions.

    >>> infinicore.var_mean(infinicore.tensor([1., 2., 3.]))[1]
    tensor(2.)
    """
    variance, mean = _variance_and_mean("var_mean", input, dim, unbiased, keepdim, correction)
    result = cast_to(variance, real_type(input.dtype)), cast_to(mean, input.dtype)
    return result if out is None else write("var_mean", out, result)


@function
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    out: Any = None,
    *,
    correction: float | None = None,
) -> Any:
    """Standard deviation and mean over dimensions.

    >>> infinicore.std_mean(infinicore.tensor([1., 2., 3.]))[0]
    tensor(1.)
    """
    variance, mean = _variance_and_mean("std_mean", input, dim, unbiased, keepdim, correction)
    deviation = cast_to(emit("sqrt", variance), real_type(input.dtype))
    result = deviation, cast_to(mean, input.dtype)
    return result if out is None else write("std_mean", out, result)


# ---- Norms --------------------------------------------------------------------------------------


@function
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(input))) over dimensions, without overflow.

    >>> infinicore.logsumexp(infinicore.zeros(2, 1), 1)
    tensor([0., 0.])
    """
    kind = input.dtype if category(input.dtype) > 1 else get_default_dtype()
    x = wide(cast_to(input, kind))
    dims = dims_of("logsumexp", x, dim)
    if math.prod(x.shape[d] for d in dims) == 0:
        return _into(
            "logsumexp",
            emit("log", _folded("logsumexp", "sum", x, dims or None, keepdim)),
            kind,
            out,
        )
    real = parts(x)[0] if kind.is_complex else x
    high = _folded("logsumexp", "amax", real, dims, True)
    # Nothing is subtracted where the maximum is infinite: inf - inf would be NaN.
    high = emit("where", emit("isinf", high), tensor_for(0, real.dtype, x.device), high)
    total = _folded("logsumexp", "sum", emit("exp", emit("sub", x, high)), dims, True)
    made = emit("add", emit("log", total), high)
    if not keepdim:
        kept = [size for d, size in enumerate(made.shape) if d not in dims]
        made = made.view(*kept) if kept else made.view(())
    return _into("logsumexp", made, kind, out)


def _vector_norm(x: Tensor, p: float, dim: Any, keepdim: bool) -> Tensor:
    """(sum of |x| ** p) ** (1 / p); p = inf, -inf and 0 as limits."""
    if p == 2 and not x.dtype.is_complex:
        return emit("sqrt", _folded("norm", "sum", emit("mul", x, x), dim, keepdim))  # type: ignore[no-any-return]
    size = emit("abs", x)
    x = size if x.dtype.is_complex else x
    if p == math.inf:
        return _folded("norm", "amax", size, dim, keepdim)
    if p == -math.inf:
        return _folded("norm", "amin", size, dim, keepdim)
    if p == 0:
        return _folded("norm", "sum", cast_to(emit("not_equal", x, 0), x.dtype), dim, keepdim)
    if p == 1:
        return _folded("norm", "sum", size, dim, keepdim)
    if p == 2:
        return emit("sqrt", _folded("norm", "sum", emit("mul", x, x), dim, keepdim))
    total = _folded("norm", "sum", emit("pow", size, float(p)), dim, keepdim)
    return emit("pow", total, 1 / p)


@function
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: dtype | None = None,
) -> Tensor:
    """The norm of vectors, over dimensions: (sum of |x| ** p) ** (1 / p). "fro" is 2; "nuc" is the
    sum of the singular values of matrices.

    >>> infinicore.norm(infinicore.tensor([3., 4.]))
    tensor(5.)
    """
    kind = dtype or input.dtype
    if category(kind) < 2:
        raise RuntimeError(f"norm: the type is {kind!r}: expected floats, or a float dtype=")
    x = wide(cast_to(input, kind))
    if kind.is_complex:
        kind = real_type(kind)
        x = x if p == "nuc" else emit("abs", x)
    if p == "nuc":
        pair = dims_of("norm", x, dim)
        if len(pair) != 2:
            raise RuntimeError(
                f"norm: 'nuc' is of matrices: expected 2 dimensions, got {len(pair)}"
            )
        rest = [d for d in range(x.ndim) if d not in pair]
        singular = emit("svd", x.permute(*rest, *pair))[1]
        made = _folded("norm", "sum", singular, -1, False)
        if keepdim:
            for d in sorted(pair):
                made = made.unsqueeze(d)
    elif p is None or p == "fro":
        made = _vector_norm(x, 2, dim, keepdim)
    elif isinstance(p, str):
        raise ValueError(f"norm: p is {p!r}: expected a number, 'fro' or 'nuc'")
    else:
        made = _vector_norm(x, p, dim, keepdim)
    return _into("norm", made, kind, out)


@function
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The input with each subtensor along a dimension scaled down to a p-norm of at most `maxnorm`.

    >>> infinicore.renorm(infinicore.tensor([[3., 4.], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if category(input.dtype) < 2:
        raise TypeError(f"renorm: input has type {input.dtype!r}: expected floats")
    if input.ndim < 2 or p <= 0 or maxnorm < 0:
        raise ValueError("renorm: expected 2 or more dimensions, p above 0, maxnorm 0 or more")
    place = dim_of("renorm", input, dim)
    others = [d for d in range(input.ndim) if d != place]
    x = wide(input)
    norm = x.norm(p=p, dim=others, keepdim=True)
    factor = where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return cast_to(x * factor, input.dtype)
