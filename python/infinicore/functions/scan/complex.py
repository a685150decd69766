"""Cumulative logsumexp of complex numbers."""

from __future__ import annotations

import math

from infinicore._complex_emit import FORMS, emit_scan, joined
from infinicore._complex_parts import parts
from infinicore._dtype import int64
from infinicore._emit import cast_to, emit
from infinicore._tensor import Tensor
from infinicore.functions._operands import counting

__all__: list[str] = []


def logcumsumexp(z: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    if exclusive or reverse:
        raise TypeError("logcumsumexp: complex numbers are taken without exclusive and reverse")
    made = emit_scan("logaddexp", z, axis)
    if z.shape[axis] < 2:
        return made
    real, imag = parts(made)
    return joined(real, _continued(z, real, imag, axis))


def _continued(z: Tensor, real: Tensor, imag: Tensor, dim: int) -> Tensor:
    """Imaginary parts on the branch of the logarithm that sequential addition leads to: each
    continues from the previous sum, or restarts at an element with a greater real part."""
    count = z.shape[dim]
    z_real, z_imag = parts(z)
    before = real.narrow(dim, 0, count - 1)
    goes_on = emit("less", z_real.narrow(dim, 1, count - 1), before)
    start = emit("where", goes_on, imag.narrow(dim, 0, count - 1), z_imag.narrow(dim, 1, count - 1))
    step = emit("sub", imag.narrow(dim, 1, count - 1), start)
    turns = emit("round", emit("mul", step, 0.5 / math.pi))
    step = emit("sub", step, emit("mul", turns, 2 * math.pi))
    total = emit("cumsum", step, dim=dim)
    # The last restart up to each position, initially the first element.
    place = counting(count - 1, z).view(-1, *(1,) * (z.ndim - dim - 1))
    begun = emit("where", goes_on, 0, emit("add", place, 1))
    last = cast_to(emit("cummax", begun, dim=dim)[0], int64)
    offset = emit("sub", total, step)
    first = emit("gather", emit("rearrange", z_imag), last, dim=dim)
    base = emit("gather", offset, emit("maximum", emit("sub", last, 1), 0), dim=dim)
    along = emit("add", first, emit("sub", total, base))
    own = imag.narrow(dim, 1, count - 1)
    turns = emit("round", emit("mul", emit("sub", along, own), 0.5 / math.pi))
    is_finite = emit("equal", emit("sub", turns, turns), 0.0)
    turns = emit("where", is_finite, turns, 0.0)
    result = emit("rearrange", imag)
    emit("add", own, emit("mul", turns, 2 * math.pi), out=result.narrow(dim, 1, count - 1))
    return result  # type: ignore[no-any-return]


FORMS["logcumsumexp"] = logcumsumexp
