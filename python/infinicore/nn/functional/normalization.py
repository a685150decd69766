"""Normalisations over the last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infinicore._emit import emit
from infinicore._function import function, write
from infinicore._tensor import Tensor
from infinicore.nn.functional._common import expect, filled, need_tensor

__all__ = ["layer_norm", "rms_norm"]


def _last(name: str, input: Tensor, shape: int | Sequence[int]) -> tuple[int, ...]:
    """The normalised shape, checked against the input's."""
    made = (shape,) if isinstance(shape, int) else tuple(shape)
    expect(len(made) > 0, name, "normalized_shape", made, "at least one size")
    expect(
        tuple(input.shape[-len(made) :]) == made,
        name,
        "input.shape",
        tuple(input.shape),
        f"[..., {', '.join(map(str, made))}]",
    )
    return made


def _ones(count: int, like: Tensor) -> Tensor:
    return filled((count,), 1.0, like.dtype, like)


def _over_last(name: str, input: Tensor, shape: tuple[int, ...], out: Any, run: Any) -> Tensor:
    """Run something that works on the last dimension over several, seen as one."""
    if len(shape) == 1:
        return run(input, out)  # type: ignore[no-any-return]
    rows = input.shape[: -len(shape)]
    result = run(input.reshape(*rows, _product(shape)), None).view(*input.shape)
    return result if out is None else write(name, out, result)  # type: ignore[no-any-return]


def _product(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@function
def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
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
    need_tensor("rms_norm", "input", input)
    shape = _last("rms_norm", input, normalized_shape)
    count = _product(shape)
    small = epsilon if epsilon is not None else eps
    if small is None:
        small = input.dtype.eps
    scale = _ones(count, input) if weight is None else _flat("rms_norm", weight, shape)
    return _over_last(
        "rms_norm",
        input,
        shape,
        out,
        lambda x, to: emit("rms_norm", x, scale, epsilon=small, out=to),
    )


def _flat(name: str, weight: Tensor, shape: tuple[int, ...], argument: str = "weight") -> Tensor:
    expect(tuple(weight.shape) == shape, name, f"{argument}.shape", tuple(weight.shape), f"{shape}")
    return weight if len(shape) == 1 else weight.reshape(_product(shape))


@function
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
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
    need_tensor("layer_norm", "input", input)
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
        lambda x, to: emit("layer_norm", x, scale, shift, eps=small, out=to)[0],
    )
