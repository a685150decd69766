"""Covariances and correlations."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._complex_emit import emit_conj, joined
from infinicore._complex_parts import parts, real_type
from infinicore._device import device
from infinicore._dtype import category, get_default_dtype
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._operands import wide
from infinicore.functions.copy.views import diagonal
from infinicore.functions.matmul.matmul import _product

_CPU = device("cpu")


def _check_weights(name: str, weights: Any, count: int, is_integer: bool) -> None:
    need_tensor("cov", name, weights)
    expect(weights.ndim == 1, "cov", f"{name}.ndim", weights.ndim, "1")
    expect(weights.numel() == count, "cov", f"the size of {name}", weights.numel(), f"{count}")
    fits = category(weights.dtype) == (1 if is_integer else 2)
    expect(fits, "cov", f"{name}.dtype", weights.dtype, "integers" if is_integer else "floats")
    # Not checked on a device, since the host would have to wait.
    if not count or weights.device is not _CPU or _core.is_recording():
        return
    if weights.min().item() < 0:
        raise ValueError(f"cov: {name} has a negative number: expected 0 or more")


def _covariance(input: Tensor, correction: float, fweights: Any, aweights: Any) -> Tensor:
    if input.ndim > 2:
        raise RuntimeError(f"cov: input has {input.ndim} dimensions: expected 2 at most")
    kind = input.dtype if category(input.dtype) > 1 else get_default_dtype()
    x = wide(cast_to(input, kind))
    x = x.reshape(1, x.numel()) if x.ndim < 2 else x
    if aweights is not None:
        kind = result_type(tensor_for(0, kind, x.device).view(1), aweights)
    weights, real = None, real_type(x.dtype)
    for each in (fweights, aweights):
        if each is not None:
            each = cast_to(each, real)
            weights = each if weights is None else emit("mul", weights, each)
    if weights is None:
        count = x.shape[1]
        mean = emit("mean", x, dim=[1], keepdim=True)
        total: Any = tensor_for(max(count - correction, 0), real, x.device)
        centred = scaled = emit("sub", x, mean)
    else:
        whole = emit("sum", weights, dim=[0])
        mean = emit("div", emit("sum", emit("mul", x, weights), dim=[1], keepdim=True), whole)
        if aweights is None or correction == 0:
            total = emit("sub", whole, float(correction))
        else:
            again = emit("mul", weights, cast_to(aweights, real))
            share = emit("div", emit("sum", again, dim=[0]), whole)
            total = emit("sub", whole, emit("mul", share, float(correction)))
        total = emit("maximum", total, 0.0)
        centred = emit("sub", x, mean)
        scaled = emit("mul", centred, weights)
    made = emit("div", _product(scaled, emit_conj(centred.transpose(0, 1))), total)
    made = cast_to(made, kind)
    return made if made.numel() != 1 else made.view(())


@function
def _cov(input: Tensor, correction: float, fweights: Any, aweights: Any) -> Tensor:
    return _covariance(input, correction, fweights, aweights)


def cov(
    input: Tensor,
    *,
    correction: float = 1,
    fweights: Any = None,
    aweights: Any = None,
    out: Any = None,
) -> Tensor:
    """Covariances of variables (rows) over observations (columns), which may have frequencies
    (`fweights`) and weights (`aweights`).

    >>> infinicore.cov(infinicore.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    need_tensor("cov", "input", input)
    count = input.shape[-1] if input.ndim else 1
    if fweights is not None:
        _check_weights("fweights", fweights, count, True)
    if aweights is not None:
        _check_weights("aweights", aweights, count, False)
    return _cov(input, correction, fweights, aweights, out=out)


@function
def corrcoef(input: Tensor) -> Tensor:
    """Correlations of variables (rows) over observations (columns).

    >>> infinicore.corrcoef(infinicore.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    made = _covariance(input, 1, None, None)
    if not made.ndim:
        return emit("div", made, made)
    spread = diagonal(made)
    spread = emit("sqrt", parts(spread)[0] if made.dtype.is_complex else spread)
    made = emit("div", emit("div", made, spread.unsqueeze(1)), spread)
    if not made.dtype.is_complex:
        return _between(made)
    return joined(*map(_between, parts(made)))


def _between(x: Tensor) -> Tensor:
    """Clips to [-1, 1], which rounding may exceed."""
    return emit("minimum", emit("maximum", x, -1.0), 1.0)  # type: ignore[no-any-return]
