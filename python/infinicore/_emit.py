"""Calls operators on tensors: promotes and broadcasts operands, allocates results, and runs or
records the step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from infinicore import _core
from infinicore._complex_parts import PARTS, is_complex, parts
from infinicore._device import device
from infinicore._dtype import (
    ALL,
    bool_,
    category,
    complex64,
    complex128,
    dtype,
    float64,
    get_default_dtype,
    int64,
    promote_types,
)
from infinicore.op._operator import Function
from infinicore.op._operator import function as operator_named
from infinicore.op._shapes import broadcast
from infinicore.python_kernels import registry

Tensor = _core.Tensor

# ---- Types --------------------------------------------------------------------------------------


def result_type(*operands: Any) -> dtype:
    """The type that tensors and numbers are promoted to. Tensors with dimensions take precedence
    over zero-dimensional ones, and those over numbers; the latter matter only if their category is
    higher.

    >>> infinicore.result_type(infinicore.ones(2, dtype=infinicore.float16), 2.5)
    infinicore.float16
    """
    best: list[dtype | None] = [None, None, None]
    for operand in operands:
        rank, kind = _ranked(operand)
        known = best[rank]
        best[rank] = kind if known is None else promote_types(known, kind)
    made: dtype | None = None
    for chosen in best:
        if chosen is not None and (made is None or category(chosen) > category(made)):
            # A complex number has the precision of the floats that it is combined with.
            if made is not None and category(made) == 2:
                chosen = complex128 if made is float64 else complex64
            made = chosen
    if made is None:
        raise TypeError("result_type: expected at least one tensor or number")
    return made


def _ranked(operand: Any) -> tuple[int, dtype]:
    if isinstance(operand, Tensor):
        if operand._role == "number":
            kind = operand.dtype
            return 2, get_default_dtype() if kind is float64 else kind
        return (0 if operand.ndim else 1), operand.dtype
    if isinstance(operand, bool):
        return 2, bool_
    if isinstance(operand, int):
        return 2, int64
    if isinstance(operand, float):
        return 2, get_default_dtype()
    if isinstance(operand, complex):
        return 2, complex128 if get_default_dtype() is float64 else complex64
    if isinstance(operand, dtype):
        return 0, operand
    raise TypeError(f"expected a tensor or a number, got {type(operand).__name__}")


@functools.lru_cache(1024)
def _constant(value: Any, text: str, code: dtype, where: device) -> Tensor:
    return _core.constant(value, code, where)


def tensor_for(operand: Any, kind: dtype, where: device) -> Tensor:
    """An operand as a tensor of this type: numbers become zero-dimensional tensors."""
    if isinstance(operand, Tensor):
        if operand.dtype is kind:
            return operand
        if operand._role != "number":
            return cast_to(operand, kind)
        if not kind.is_complex:
            return _core.number_as(operand, kind)
        return cast_to(_core.number_as(operand, PARTS[kind._code]), kind)
    if kind.is_complex:
        return _complex_constant(operand, kind, where)
    if kind.is_floating_point:
        operand = float(operand)
    # The text distinguishes equal values: 1 and True, 0.0 and -0.0.
    return _constant(operand, repr(operand), kind, where)


def _complex_constant(value: complex, kind: dtype, where: device) -> Tensor:
    made = _core.empty((), kind, where)
    part = PARTS[kind._code]
    write_parts(made, tensor_for(value.real, part, where), tensor_for(value.imag, part, where))
    return made


def write_parts(target: Tensor, real: Tensor, imag: Tensor) -> None:
    """Writes complex numbers, converted from parts of any one type."""
    _step(operator_named("complex_from_parts"), [*parts(target), real, imag], {})


def cast_to(tensor: Tensor, kind: dtype) -> Tensor:
    if tensor.dtype is kind:
        return tensor
    if not isinstance(kind, dtype):
        raise TypeError(f"dtype is {kind!r}: expected an element type such as infinicore.float32")
    order = ordered_strides(tensor.shape, [tensor])
    result = _core.empty(tensor.shape, kind, tensor.device, order)
    _convert(result, tensor)
    return result


def _convert(target: Tensor, source: Tensor) -> None:
    """Converts elements to another type. Complex numbers lose their imaginary part when converted
    to real ones; real numbers get the imaginary part 0."""
    cast = operator_named("cast")
    if not target.dtype.is_complex and not source.dtype.is_complex:
        return _step(cast, [target, source], {})
    real = parts(source)[0] if source.dtype.is_complex else source
    if not target.dtype.is_complex:
        return _step(cast, [target, real], {})
    if source.dtype.is_complex:
        imag = parts(source)[1]
    else:
        imag = tensor_for(0, real.dtype, target.device).expand(*target.shape)
    return write_parts(target, real, imag)


def device_of(operands: Sequence[Any]) -> device:
    for operand in operands:
        if isinstance(operand, Tensor):
            return operand.device
        if isinstance(operand, (tuple, list)) and operand:
            return device_of(operand)
    return _core.get_device()


# ---- Results over operands ----------------------------------------------------------------------

_SAME, _PART = 1, 2


def _meets(out: Tensor, operand: Tensor) -> int:
    """How the memory of `out` overlaps that of another argument of the traced call."""
    code = _core.out_meets(out, operand)
    if code == _SAME and (
        out.shape != operand.shape
        or out.stride() != operand.stride()
        or out._offset != operand._offset
    ):
        return _PART
    return code


def _is_covered(this: Function, name: str, out: Tensor, given: Sequence[Any]) -> bool:
    """Whether writing output `name` to `out` would overwrite input that the operator has not read
    yet."""
    over = this.in_place.get(name)
    for (input_name, *_), operand in zip(this.inputs, given, strict=True):
        for each in operand if isinstance(operand, list) else (operand,):
            code = _meets(out, each) if isinstance(each, Tensor) else 0
            if code == _PART:
                return True
            if code == _SAME and not (this.is_map or input_name == over):
                return True
    return False


# ---- The order of results -----------------------------------------------------------------------


def _memory_order(tensor: Tensor) -> list[int]:
    """The dimensions with more than one element, outermost first; empty if elements share
    memory."""
    steps = list(zip(tensor.shape, tensor.stride(), strict=True))
    order = [i for i, (size, _) in enumerate(steps) if size != 1]
    if any(steps[i][1] <= 0 for i in order):
        return []
    return sorted(order, key=lambda i: -steps[i][1])


def ordered_strides(shape: Sequence[int], inputs: Sequence[Any]) -> tuple[int, ...] | None:
    """The strides of an elementwise result: those of the inputs of this shape, if they agree; None:
    contiguous."""
    order: list[int] = []
    for each in inputs:
        if not isinstance(each, Tensor) or tuple(each.shape) != tuple(shape):
            continue
        found = _memory_order(each)
        if found and order and found != order:
            return None
        order = order or found
    if order == sorted(order):
        return None
    strides, step = [1] * len(shape), 1
    for i in reversed(order):
        strides[i] = step
        step *= shape[i]
    return tuple(strides)


# ---- One operator -------------------------------------------------------------------------------

_complex_way: list[Callable[..., Any]] = []


def take_complex(way: Callable[..., Any]) -> None:
    """The function that `emit` calls for complex operands, composed of other operators:
    _complex_emit."""
    _complex_way[:] = [way]


def emit(name: str, *inputs: Any, out: Any = None, **values: Any) -> Any:
    """Run an operator. Inputs are in the order of the function of that name in `infinicore.op`.

    Operands that share a type in the declaration, including numbers, are promoted to a common one;
    operands that share a shape are broadcast. Without `out`, results are allocated.
    """
    this = operator_named(name)
    if len(inputs) < len(this.inputs):
        inputs = (*inputs, *(values.pop(slot[0], None) for slot in this.inputs[len(inputs) :]))
    if (is_complex(inputs) or (not inputs and is_complex(out))) and not this.takes_complex:
        return _complex_way[0](this, inputs, out, {**this.defaults, **values})
    given, values = _promoted(this, inputs), {**this.defaults, **values}
    tensors: list[Any] = [None] * this.place_count
    for (_, place, *_), value in zip(this.inputs, given, strict=True):
        for each in value if isinstance(value, list) else (value,):
            if each is not None and not isinstance(each, Tensor):
                raise TypeError(f"expected a tensor, got {type(each).__name__}")
        tensors[place] = value
    asked = _outputs(this, out)
    wanted: list[Any] = [
        None if each is None else _target(this, slot, each, tensors, given)
        for slot, each in zip(this.outputs, asked, strict=True)
    ]
    for (_, place, _), each in zip(this.outputs, wanted, strict=True):
        if each is not None:
            tensors[place] = each
    this.settle(tensors, values)
    if this.added_to and wanted[0] is None and values[this.added_to[1]]:
        raise TypeError(f"{this.name}: out= is needed: {this.added_to[1]} is not 0")
    where = device_of(given) if given else wanted[0].device
    keeps_order = this.is_map and name != "rearrange"  # which is asked for a different order
    for each in this.infer(tensors, values):
        order = ordered_strides(each.shape, given) if keeps_order else None
        tensors[each.place] = _core.empty(each.shape, ALL[each.dtype], where, order)
    updated = _laid_out(this, tensors)
    # An updated operand may have been converted to another type.
    modified = [i for i, (_, place, *_) in enumerate(this.inputs) if place in this.modified]
    updated += [(inputs[i], given[i]) for i in modified]
    _step(this, tensors, values)
    for each, made in (*updated, *zip(asked, wanted, strict=True)):
        if each is not made:
            copy(this.name, each, made)
    results = [
        tensors[place] if each is None else each
        for (_, place, _), each in zip(this.outputs, asked, strict=True)
    ]
    if not results:
        results = [inputs[i] for i in modified]
    results = [result for result in results if result is not None]
    return results[0] if len(results) == 1 else tuple(results)


def _promoted(this: Function, inputs: Sequence[Any]) -> list[Any]:
    """Converts inputs whose types must agree to a common type."""
    given = list(inputs)
    groups: dict[str, list[int]] = {}
    allowed: dict[str, str] = {tensor.name: tensor.kinds for tensor in this.tensors}
    for i, (name, place, optional, array) in enumerate(this.inputs):
        value = given[i]
        if value is None:
            if not optional:
                raise TypeError(f"{this.name}: {name} is missing")
            continue
        if place >= len(this.tensors):
            continue
        if array:
            given[i] = list(value)
            continue
        tensor = this.tensors[place]
        groups.setdefault(_tie(tensor.name, allowed), []).append(i)
    alone = {tensor.name for tensor in this.tensors if tensor.role == "in"}
    alone -= {_tie(tensor.name, allowed) for tensor in this.tensors if tensor.role != "in"}
    for root, members in groups.items():
        operands = [given[i] for i in members]
        try:
            kind = operands[0].dtype if len(operands) == 1 else result_type(*operands)
            if len(operands) == 1 and operands[0]._role == "number":
                kind = result_type(operands[0])
        except (AttributeError, TypeError):
            found = (v for v in operands if not isinstance(v, (Tensor, int, float)))
            bad = next(found, operands[0])
            raise TypeError(
                f"{this.name}: expected tensors, got {type(bad).__name__}"
                if not isinstance(operands[0], (int, float))
                else f"{this.name}: expected a tensor, got a number"
            ) from None
        kind = _fitting(this, kind, allowed[root].split(), root in alone)
        where = device_of(given)
        for i in members:
            given[i] = tensor_for(given[i], kind, where)
    return given


def _tie(name: str, kinds: dict[str, str]) -> str:
    """The tensor that determines the type of this one."""
    while kinds[name].startswith("="):
        name = kinds[name][1:]
    return name


def _fitting(this: Function, kind: dtype, allowed: list[str], narrows: bool) -> dtype:
    """The type itself if the operator supports it, else one that its values are converted to. Types
    that no result depends on may be narrowed: int64 indices to int32."""
    if kind._code in allowed or not allowed or allowed[0][0] in "=+":
        return kind
    if category(kind) < 2 and get_default_dtype()._code in allowed:
        wider = [c for c in allowed if (kind is bool_ and c[0] in "IU") or c[0] == "I"]
        if wider and category(kind) == 0:
            return ALL["I64"] if "I64" in wider else ALL[wider[0]]
        if not wider or kind is bool_:
            return get_default_dtype()
    for wide in ("I16", "I32", "I64", "F32", "F64"):
        if wide in allowed and promote_types(kind, ALL[wide])._code == wide:
            return ALL[wide]
    if "F32" in allowed and (category(kind) < 2 or (narrows and kind is float64)):
        return ALL["F32"]
    if "I32" in allowed and narrows and kind is int64:
        return ALL["I32"]
    names = ", ".join(repr(ALL[code]) for code in allowed if code in ALL)
    raise TypeError(f"{this.name}: no tensors of type {kind!r}: expected one of {names}")


def _outputs(this: Function, out: Any) -> list[Any]:
    count = len(this.outputs)
    if out is None:
        return [None] * count
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) > count:
        raise TypeError(f"{this.name}: out has {len(given)} tensors: expected at most {count}")
    for each in given:
        if each is not None and not isinstance(each, Tensor):
            raise TypeError(f"{this.name}: out is {type(each).__name__}: expected a tensor")
    return given + [None] * (count - len(given))


def _target(
    this: Function, slot: Sequence[Any], out: Tensor, tensors: list[Any], given: list[Any]
) -> Tensor:
    """The tensor that an operator writes: `out`, or a temporary that is copied to `out`
    afterwards."""
    name, place, _ = slot
    kind = out.dtype
    if this.is_map:
        shapes = [tuple(tensor.shape) for tensor in given if tensor is not None]
        try:
            shape = broadcast(shapes) if shapes else tuple(out.shape)
        except ValueError as error:
            raise ValueError(f"{this.name}: {error}") from None
        if tuple(out.shape) != shape:
            raise ValueError(f"{this.name}: out has shape {tuple(out.shape)}: expected {shape}")
        tied = this.tied.get(this.tensors[place].name)
        if tied is not None and tensors[tied] is not None:
            kind = tensors[tied].dtype
        else:
            kind = ALL.get(this.tensors[place].kinds, kind)
    is_laid_out = fits_layout(out, this.layouts.get(place, "."))
    if is_laid_out and kind is out.dtype and not _is_covered(this, name, out, given):
        return out
    return _core.empty(out.shape, kind, out.device)


def fits_layout(tensor: Tensor, letter: str) -> bool:
    """Whether an operator accepts the strides: "d" requires a dense tensor, "1" unit stride in the
    last dimension."""
    if letter == "1":
        return tensor.ndim == 0 or tensor.shape[-1] <= 1 or tensor.stride(-1) == 1
    return letter == "." or bool(tensor.is_contiguous())


def _laid_out(this: Function, tensors: list[Any]) -> list[tuple[Tensor, Tensor]]:
    """Replaces tensors whose strides the operator does not support by dense copies. Returns the
    updated tensors with their copies."""
    updated = []
    for place, letter in this.layouts.items():
        given = tensors[place]
        if isinstance(given, Tensor) and not fits_layout(given, letter):
            tensors[place] = given.contiguous()
            if place in this.modified:
                updated.append((given, tensors[place]))
    return updated


def _step(this: Function, tensors: list[Any], values: dict[str, Any]) -> None:
    count = len(this.tensors)
    bare = [tensors[place] for place in this.data_places if place >= count]
    attributes = this.attribute_values(values) if this.attributes else ()
    scalars = [values.get(name, 0) for name in this.scalars] if this.scalars else ()
    if registry.kernels:
        kernel = registry.find(this, tensors[:count], values)
        if kernel is not None:
            kernel._emit(tensors[:count], values, attributes, scalars)
            return
    _core.step(this.index, this.number, tensors[:count], attributes, scalars, bare)


# ---- Copies -------------------------------------------------------------------------------------


def check_out_type(name: str, out: Any, kind: dtype) -> None:
    """Raises TypeError unless results of this type can be stored in `out`: floats cannot be stored
    as integers."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}: out is {type(out).__name__}: expected a tensor")
    if category(kind) > category(out.dtype):
        raise TypeError(
            f"{name}: out has type {out.dtype!r}: expected {kind!r}, or one that its values go into"
        )


def placed(name: str, made: Tensor, out: Any) -> Tensor:
    """The result, copied to `out` if that is given."""
    if out is None:
        return made
    check_out_type(name, out, made.dtype)
    if out.dtype is not made.dtype and out.dtype.is_complex:
        made = cast_to(made, out.dtype)
    return emit("cast" if out.dtype is not made.dtype else "rearrange", made, out=out)  # type: ignore[no-any-return]


def copy(name: str, target: Tensor, source: Tensor) -> None:
    """Copies the elements of a tensor into another, which may have a different type."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}: out is {type(target).__name__}: expected a tensor")
    if target is source:
        return
    check_out_type(name, target, source.dtype)
    if tuple(target.shape) != tuple(source.shape):
        try:
            source = source.expand(*target.shape)
        except RuntimeError:
            raise ValueError(
                f"{name}: a tensor of shape {tuple(target.shape)} can't take one of shape"
                f" {tuple(source.shape)}"
            ) from None
    if _meets(target, source) == _PART:
        apart = _core.empty(source.shape, source.dtype, source.device)
        _step(operator_named("rearrange"), [apart, source], {})
        source = apart
    if target.dtype is source.dtype:
        _step(operator_named("rearrange"), [target, source], {})
    else:
        _convert(target, source)
