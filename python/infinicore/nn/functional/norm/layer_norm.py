"""Normalisations over the last dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from infinicore._complex_parts import real_type
from infinicore._dtype import float64
from infinicore._emit import emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape
from infinicore.functions._operands import filled, has_rows, with_rows

# The machine epsilons of the types.
_EPSILONS = {"F16": 2.0**-10, "BF16": 2.0**-7, "F32": 2.0**-23, "F64": 2.0**-52}


def _last(name: str, input: Tensor, shape: Any) -> tuple[int, ...]:
    """The normalised shape, checked against the input's."""
    made = (shape,) if isinstance(shape, int) else tuple(shape)
    expect(len(made) > 0, name, "normalized_shape", made, "at least one size")
    fits = tuple(input.shape[-len(made) :]) == made
    expect_shape(fits, name, "input", input, f"[..., {', '.join(map(str, made))}]")
    return made


def _ones(count: int, like: Tensor) -> Tensor:
    return filled((count,), 1.0, like.dtype, like)


def _over_last(
    name: str,
    input: Tensor,
    shape: tuple[int, ...],
    out: Any,
    work: Callable[[Tensor, Any], Tensor],
) -> Tensor:
    """Apply a function of the last dimension to several, viewed as one."""
    if len(shape) == 1:
        x = with_rows(input)
        fits = has_rows(out) and out.shape == input.shape and out.dtype is input.dtype
        made = work(x, out if fits else None)
    else:
        folded = with_rows(input.reshape(*input.shape[: -len(shape)], _product(shape)))
        made = work(folded, None).view(*input.shape)
    return made if out is None or made is out else write(name, out, made)  # type: ignore[no-any-return]


def _product(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _rms(x: Tensor, weight: Tensor, eps: float, out: Any) -> Tensor:
    if x.dtype is not float64:
        return emit("rms_norm", x, weight, epsilon=float(eps), out=out)
    # The operator's epsilon is a float32.
    mean = emit("mean", emit("mul", x, x), dim=[x.ndim - 1], keepdim=True)
    return emit(
        "mul", emit("mul", x, emit("rsqrt", emit("add", mean, float(eps)))), weight, out=out
    )


def _standardised(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, out: Any) -> Tensor:
    if x.dtype is not float64:
        return emit("layer_norm", x, weight, bias, eps=float(eps), out=out)
    var, mean = emit("var_mean", x, dim=[x.ndim - 1], unbiased=False, keepdim=True)
    scale = emit("mul", emit("rsqrt", emit("add", var, float(eps))), weight)
    made = emit("mul", emit("sub", x, mean), scale, out=out if bias is None else None)
    return made if bias is None else emit("add", made, bias, out=out)


@function
def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int] | Tensor,
    weight: Tensor | None = None,
    eps: float | None = 1e-5,
    *,
    epsilon: float | None = None,
    out: Any = None,
) -> Tensor:
    """input / sqrt(mean(input ** 2) + eps) * weight, the mean over the last dimensions, which have
    the shape `normalized_shape`; weight has it too. `epsilon` is another name of `eps`.

    >>> F.rms_norm(infinicore.tensor([3.0, 3.0]), [2], infinicore.ones(2))
    tensor([1.0000, 1.0000])
    """
    if weight is None and isinstance(normalized_shape, Tensor):  # rms_norm(input, weight)
        weight = normalized_shape
        normalized_shape = tuple(weight.shape)
    shape = _last("rms_norm", input, normalized_shape)
    count = _product(shape)
    small = epsilon if epsilon is not None else eps
    if small is None:
        small = _EPSILONS[real_type(input.dtype)._code]
    if input.dtype.is_complex:
        made = _complex_rms(input, len(shape), weight, small)
        return made if out is None else write("rms_norm", out, made)
    scale = _ones(count, input) if weight is None else _flat("rms_norm", weight, shape)
    return _over_last(
        "rms_norm",
        input,
        shape,
        out,
        lambda x, to: _rms(x, scale, small, to),
    )


def _complex_rms(x: Tensor, rank: int, weight: Tensor | None, eps: float) -> Tensor:
    """Complex numbers, as in torch: the mean is of squares, not of absolute values squared."""
    dims = list(range(x.ndim - rank, x.ndim))
    square = emit("mean", emit("mul", x, x), dim=dims, keepdim=True)
    made = emit("mul", x, emit("rsqrt", emit("add", square, eps)))
    return made if weight is None else emit("mul", made, weight)  # type: ignore[no-any-return]


def _flat(name: str, weight: Tensor, shape: tuple[int, ...], argument: str = "weight") -> Tensor:
    expect(tuple(weight.shape) == shape, name, f"{argument}.shape", tuple(weight.shape), f"{shape}")
    return weight if len(shape) == 1 else weight.reshape(_product(shape))


@function
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int] | Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *,
    epsilon: float | None = None,
    out: Any = None,
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias, over the last dimensions, which have
    the shape `normalized_shape`; weight and bias have it too. `epsilon` is another name of `eps`.

    >>> F.layer_norm(infinicore.tensor([1.0, 3.0]), [2])
    tensor([-1.0000,  1.0000])
    """
    if isinstance(normalized_shape, Tensor):  # layer_norm(input, weight, bias)
        weight, bias = normalized_shape, weight if bias is None else bias
        normalized_shape = tuple(weight.shape)
    shape = _last("layer_norm", input, normalized_shape)
    count = _product(shape)
    small = eps if epsilon is None else epsilon
    scale = _ones(count, input) if weight is None else _flat("layer_norm", weight, shape)
    shift = None if bias is None else _flat("layer_norm", bias, shape, "bias")
    return _over_last(
        "layer_norm",
        input,
        shape,
        out,
        lambda x, to: _standardised(x, scale, shift, small, to),
    )
