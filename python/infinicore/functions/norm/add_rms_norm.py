"""Fused residual addition and RMS norm, as between the layers of a transformer."""

from __future__ import annotations

from typing import Any, NamedTuple

from infinicore._emit import emit, placed
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, need_tensor


class Normalised(NamedTuple):
    """The normalised input of the next layer, and the residual stream."""

    out: Tensor
    residual: Tensor


@function
def _add_rms_norm(
    a: Tensor, b: Tensor, weight: Tensor, epsilon: float, out: Any, residual: Any
) -> Normalised:
    name = "add_rms_norm"
    for argument, value in (("a", a), ("b", b), ("weight", weight)):
        need_tensor(name, argument, value)
    expect(tuple(a.shape) == tuple(b.shape), name, "b.shape", tuple(b.shape), f"{tuple(a.shape)}")
    fits = a.ndim > 0 and tuple(weight.shape) == (a.shape[-1],)
    expect_shape(
        fits, name, "weight", weight, f"the size of a's last dimension, {tuple(a.shape[-1:])}"
    )
    direct = all(t is None or t.dtype is a.dtype for t in (out, residual))
    targets = (out, residual) if direct else (None, None)
    made = emit("add_rms_norm", a, b, weight, epsilon=epsilon, out=targets)
    if not direct:
        for target, result in zip((out, residual), made, strict=True):
            if target is not None:
                placed("add_rms_norm", result, target)
    return Normalised(made[0] if out is None else out, made[1] if residual is None else residual)


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    weight: Tensor,
    epsilon: float = 1e-5,
    *,
    out: Any = None,
    residual: Tensor | None = None,
) -> Normalised:
    """The root mean square norm of a + b over the last dimension times the weight, and a + b:
    (out, residual). a, b [..., D], weight [D]. `out` may be both tensors, or `residual` the second.

    >>> infinicore.add_rms_norm(infinicore.ones(2), infinicore.ones(2), infinicore.ones(2)).residual
    tensor([2., 2.])
    """
    if isinstance(out, (tuple, list)):
        if len(out) != 2 or residual is not None:
            raise TypeError("add_rms_norm: out is a sequence: expected two tensors, no residual")
        out, residual = out
    made: Normalised = _add_rms_norm(a, b, weight, epsilon, out, residual)
    return made


def add_rms_norm_inplace(
    input: Tensor, residual: Tensor, weight: Tensor, epsilon: float = 1e-5
) -> Normalised:
    """`residual` becomes input + residual, `input` its root mean square norm times the weight; both
    are returned. input, residual [..., D], weight [D].

    >>> x, residual = infinicore.ones(2), infinicore.ones(2)
    >>> infinicore.add_rms_norm_inplace(x, residual, infinicore.ones(2))
    Normalised(out=tensor([1.0000, 1.0000]), residual=tensor([2., 2.]))
    """
    made: Normalised = _add_rms_norm(input, residual, weight, epsilon, input, residual)
    return made
