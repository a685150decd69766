"""Operators on complex tensors, composed of operators on their real and imaginary parts.

`emit` calls this for complex operands of an operator that does not support them. Elementwise
operators have complex forms (`complex_mul`), which are declared with them; sums and copies are
applied to each part; products are composed of four real products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from infinicore import _core
from infinicore._complex_parts import WHOLES, is_complex, part_type, parts
from infinicore._dtype import bool_, dtype
from infinicore._emit import (
    _step,
    cast_to,
    copy,
    emit,
    result_type,
    take_complex,
    tensor_for,
    write_parts,
)
from infinicore.op._operator import Function
from infinicore.op._operator import function as operator_named
from infinicore.op._shapes import broadcast

Tensor = _core.Tensor

# Operator -> its implementation for complex tensors: see functions/linalg/complex.py.
FORMS: dict[str, Callable[..., Any]] = {}


def emit_complex(this: Function, inputs: Sequence[Any], out: Any, values: dict[str, Any]) -> Any:
    """The result of an operator with at least one complex operand."""
    name, way = this.name, this.complex_as
    if not inputs:
        return _written(this, out, values)
    if name in _HANDLERS:
        made = _HANDLERS[name](list(inputs), values)
    elif name in FORMS:
        made = FORMS[name](*inputs, **values)
    elif way in _WAYS:
        made = _WAYS[way](this, list(inputs), values)
    else:
        raise TypeError(f"{name}: complex numbers are not supported: expected real ones")
    if out is None:
        return made
    target = out[0] if isinstance(out, (tuple, list)) else out
    copy(name, target, made)
    return target


# ---- Operands -----------------------------------------------------------------------------------


def joined(real: Tensor, imag: Tensor) -> Tensor:
    """A complex tensor from its two parts."""
    made = _core.empty(real.shape, WHOLES[real.dtype._code], real.device)
    write_parts(made, real, imag)
    return made


def emit_conj(z: Tensor) -> Tensor:
    """Conjugates; real numbers are unchanged."""
    if not z.dtype.is_complex:
        return z
    made = _core.empty(z.shape, z.dtype, z.device)
    _step(operator_named("complex_conj"), [*parts(made), *parts(z)], {})
    return made


def _kind(operands: Sequence[Any]) -> dtype:
    return result_type(*(each for each in operands if each is not None))


def _device(operands: Sequence[Any]) -> Any:
    return next(each.device for each in operands if isinstance(each, Tensor))


def _split(operand: Any, kind: dtype, where: Any) -> tuple[Tensor, Tensor]:
    """Both parts of an operand, in the element type of the parts of a complex one."""
    if isinstance(operand, complex):
        part = part_type(kind)
        return tensor_for(operand.real, part, where), tensor_for(operand.imag, part, where)
    if isinstance(operand, Tensor) and operand.dtype.is_complex:
        real, imag = parts(operand)
        return cast_to(real, part_type(kind)), cast_to(imag, part_type(kind))
    part = part_type(kind)
    real, zero = tensor_for(operand, part, where), tensor_for(0.0, part, where)
    return real, zero.expand(*real.shape)


# ---- Elementwise --------------------------------------------------------------------------------


def _is_whole(operand: Any, first: Any) -> bool:
    return (
        isinstance(operand, Tensor)
        and operand.dtype is first.dtype
        and operand.dtype.is_complex
        and operand.shape == first.shape
        and operand.is_contiguous()
    )


def _alternating(z: Tensor) -> Tensor:
    """A view of both parts of contiguous complex numbers."""
    shape, kind = (*z.shape, 2), part_type(z.dtype)
    if not z.numel():
        return _core.empty(shape, kind, z.device)
    return _core.view_as(z, shape, [*(2 * step for step in z.stride()), 1], 0, kind)


def _linear(this: Function, operands: list[Any], values: dict[str, Any]) -> Tensor:
    """Each part by itself: of contiguous tensors of one type both in one tensor."""
    if not all(_is_whole(each, operands[0]) for each in operands):
        return _map(this, operands, values)
    made = _core.empty(operands[0].shape, operands[0].dtype, operands[0].device)
    _step(this, list(map(_alternating, (made, *operands))), {})
    return made


def _map(this: Function, operands: list[Any], values: dict[str, Any]) -> Tensor:
    """By the operator's complex form."""
    kind, where = _kind(operands), _device(operands)
    split = [_split(each, kind, where) for each in operands]
    shape = broadcast([tuple(real.shape) for real, _ in split])
    given = [part.expand(*shape) for pair in split for part in pair]
    form = operator_named(f"complex_{this.name}")
    first = form.tensors[0].kinds
    if len(form.outputs) == 2:
        made = _core.empty(shape, kind, where)
        written = list(parts(made))
    else:
        made = _core.empty(shape, bool_ if first == "BOOL" else part_type(kind), where)
        written = [made]
    _step(form, [*written, *given], {})
    return made


def _truth(operand: Any) -> Any:
    return emit("not_equal", operand, 0) if isinstance(operand, Tensor) else bool(operand)


def _logical(this: Function, operands: list[Any], values: dict[str, Any]) -> Tensor:
    return emit(this.name, *map(_truth, operands), **values)  # type: ignore[no-any-return]


def _sign(operands: list[Any], values: dict[str, Any]) -> Tensor:
    """x / |x|; 0 for 0."""
    (z,) = operands
    size = emit("abs", z)
    divisor = emit("where", emit("equal", size, 0), 1.0, size)
    return emit("div", z, divisor)  # type: ignore[no-any-return]


def _addcmul(operands: list[Any], values: dict[str, Any]) -> Tensor:
    added, one, two = operands
    scaled = emit("mul", emit("mul", one, two), values.get("value", 1))
    return emit("add", added, scaled)  # type: ignore[no-any-return]


def _addcdiv(operands: list[Any], values: dict[str, Any]) -> Tensor:
    added, one, two = operands
    scaled = emit("mul", emit("div", one, two), values.get("value", 1))
    return emit("add", added, scaled)  # type: ignore[no-any-return]


def _lerp(operands: list[Any], values: dict[str, Any]) -> Tensor:
    start, end, weight = operands
    return emit("add", start, emit("mul", weight, emit("sub", end, start)))  # type: ignore[no-any-return]


def _ldexp(operands: list[Any], values: dict[str, Any]) -> Tensor:
    return emit("mul", operands[0], emit("pow", 2.0, operands[1]))  # type: ignore[no-any-return]


def _softsign(operands: list[Any], values: dict[str, Any]) -> Tensor:
    return emit("div", operands[0], emit("add", emit("abs", operands[0]), 1.0))  # type: ignore[no-any-return]


def _tanhshrink(operands: list[Any], values: dict[str, Any]) -> Tensor:
    return emit("sub", operands[0], emit("tanh", operands[0]))  # type: ignore[no-any-return]


def _logaddexp(operands: list[Any], values: dict[str, Any]) -> Tensor:
    """logaddexp: the operand with the greater real part, plus log1p of the exponential of the
    difference."""
    kind, where = _kind(operands), _device(operands)
    one, two = (tensor_for(each, kind, where) for each in operands)
    is_less = emit("less", parts(one)[0], parts(two)[0])
    high, low = emit("where", is_less, two, one), emit("where", is_less, one, two)
    rest = emit("log1p", emit("exp", emit("sub", low, high)))
    # Where both are the same infinity, inf - inf is NaN.
    bare = emit("logical_and", emit("isinf", parts(high)[0]), emit("equal", one, two))
    return emit("where", bare, high, emit("add", high, rest))  # type: ignore[no-any-return]


def _written(this: Function, out: Any, values: dict[str, Any]) -> Tensor:
    """Operators without operands: each part of the result is written separately."""
    real, imag = values, values
    if this.name == "fill":
        imag = {**values, "value": 0.0}
    elif this.name == "random_normal":
        # Both parts together have the requested variance.
        real = {**values, "std": values["std"] * math.sqrt(0.5)}
        imag = {**real, "mean": 0.0}
    elif this.name != "random_uniform":
        raise TypeError(f"{this.name}: complex numbers are not supported: expected real ones")
    target = out[0] if isinstance(out, (tuple, list)) else out
    for place, given in zip(parts(target), (real, imag), strict=True):
        emit(this.name, out=place, **given)
    return target  # type: ignore[no-any-return]


# ---- Folds and scans ----------------------------------------------------------------------------


def _partwise(this: Function, inputs: list[Any], values: dict[str, Any]) -> Tensor:
    flat = [each for each in inputs if is_complex(each)]
    members = [i for i, each in enumerate(inputs) if _is_value(this, i) and each is not None]
    kind = _kind([x for i in members for x in _listed(inputs[i])] or flat)
    where = _device([x for i in members for x in _listed(inputs[i])] or flat)
    results = []
    for which in (0, 1):
        given = list(inputs)
        for i in members:
            if isinstance(inputs[i], (list, tuple)):
                given[i] = [_split(each, kind, where)[which] for each in inputs[i]]
            else:
                # Dense, which some operators require.
                given[i] = emit("rearrange", _split(inputs[i], kind, where)[which])
        results.append(emit(this.name, *given, **values))
    return joined(*results)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_value(this: Function, place: int) -> bool:
    """Whether an input holds values, not indices or conditions."""
    tensor = this.tensors[this.inputs[place][1]]
    return tensor.kinds.startswith("=") or "F32" in tensor.kinds.split()


def _fold_first(z: Tensor, dim: Any, keepdim: bool) -> tuple[Tensor, list[int]]:
    """The input with the reduced dimensions merged into the first one, and the shape of the
    result."""
    dims = sorted({d % z.ndim for d in dim}) if dim is not None and z.ndim else range(z.ndim)
    rest = [d for d in range(z.ndim) if d not in dims]
    shape = [z.shape[d] for d in rest]
    count = 1
    for d in dims:
        count *= z.shape[d]
    kept = [1 if d in dims else z.shape[d] for d in range(z.ndim)] if keepdim else shape
    return z.permute(*dims, *rest).reshape(count, *shape), kept


def _prod(operands: list[Any], values: dict[str, Any]) -> Tensor:
    """Multiplies one half by the other until one row is left."""
    rows, shape = _fold_first(operands[0], values.get("dim"), values.get("keepdim", False))
    if not rows.shape[0]:
        one = joined(*(tensor_for(v, part_type(rows.dtype), rows.device) for v in (1.0, 0.0)))
        return one.expand(*shape).clone()
    if rows.shape[0] == 1:
        return rows.reshape(shape).clone()
    while rows.shape[0] > 1:
        half = rows.shape[0] // 2
        made = emit("mul", rows.narrow(0, 0, half), rows.narrow(0, half, half))
        if rows.shape[0] % 2:
            last = emit("mul", made.narrow(0, 0, 1), rows.narrow(0, 2 * half, 1))
            made = _cat([last, made.narrow(0, 1, half - 1)]) if half > 1 else last
        rows = made
    return rows.reshape(shape)


def _cat(tensors: list[Tensor]) -> Tensor:
    size = sum(each.shape[0] for each in tensors)
    made = _core.empty((size, *tensors[0].shape[1:]), tensors[0].dtype, tensors[0].device)
    start = 0
    for each in tensors:
        emit("rearrange", each, out=made.narrow(0, start, each.shape[0]))
        start += each.shape[0]
    return made


def _cumprod(operands: list[Any], values: dict[str, Any]) -> Tensor:
    return emit_scan("mul", operands[0], values["dim"])


def emit_scan(name: str, z: Tensor, dim: int) -> Tensor:
    """An inclusive scan: combines runs of 1, 2, 4, ... neighbours."""
    dim = dim % z.ndim if z.ndim else 0
    rows = z.movedim(dim, 0) if z.ndim else z.reshape(1)
    size, step = rows.shape[0], 1
    while step < size:
        rest = size - step
        later = emit(name, rows.narrow(0, step, rest), rows.narrow(0, 0, rest))
        rows = _cat([rows.narrow(0, 0, step), later])
        step *= 2
    return (rows.movedim(0, dim) if z.ndim else rows.reshape(())).clone()


def _var(operands: list[Any], values: dict[str, Any]) -> Tensor:
    return _var_mean(operands, values)[0]


def _var_mean(operands: list[Any], values: dict[str, Any]) -> tuple[Tensor, Tensor]:
    spreads, means = zip(
        *(emit("var_mean", part, **values) for part in parts(operands[0])), strict=True
    )
    return emit("add", *spreads), joined(*means)


# ---- Products -----------------------------------------------------------------------------------


def _product(this: Function, operands: list[Any], values: dict[str, Any]) -> Tensor:
    """As four products of the parts."""
    kind, where = _kind(operands), _device(operands)
    (ar, ai), (br, bi) = (
        tuple(emit("rearrange", part) for part in _split(each, kind, where)) for each in operands
    )

    def product(a: Tensor, b: Tensor) -> Tensor:
        return emit(this.name, a, b, **values)  # type: ignore[no-any-return]

    real = emit("sub", product(ar, br), product(ai, bi))
    return joined(real, emit("add", product(ar, bi), product(ai, br)))


def _conv(name: str) -> Callable[..., Tensor]:
    """Convolutions of the parts, and the bias added to the channels."""

    def made(operands: list[Any], values: dict[str, Any]) -> Tensor:
        x, weight, bias = (*operands, None)[:3]
        result = _product(operator_named(name), [x, weight], values)
        if bias is None:
            return result
        return emit("add", result, bias.view(-1, *(1,) * (result.ndim - 2)))  # type: ignore[no-any-return]

    return made


def _pad(operands: list[Any], values: dict[str, Any]) -> Tensor:
    """A real number is added to the real part only."""
    real, imag = (emit("rearrange", part) for part in parts(operands[0]))
    value = values.pop("value", 0.0)
    return joined(
        emit("pad", real, value=complex(value).real, **values),
        emit("pad", imag, value=complex(value).imag, **values),
    )


# Chosen by the operator's declaration.
_WAYS = {
    "form": _map,
    "linear": _linear,
    "parts": _partwise,
    "product": _product,
    "truths": _logical,
}
_HANDLERS: dict[str, Callable[..., Any]] = {
    "addcdiv": _addcdiv,
    "addcmul": _addcmul,
    "conv": _conv("conv"),
    "conv_transpose": _conv("conv_transpose"),
    "cumprod": _cumprod,
    "grouped_conv": _conv("grouped_conv"),
    "ldexp": _ldexp,
    "lerp": _lerp,
    "logaddexp": _logaddexp,
    "pad": _pad,
    "prod": _prod,
    "sign": _sign,
    "softsign": _softsign,
    "tanhshrink": _tanhshrink,
    "var": _var,
    "var_mean": _var_mean,
}


take_complex(emit_complex)
