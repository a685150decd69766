"""Transforms: by the device's operators, or as products with small matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from infinicore import _core
from infinicore._complex_emit import emit_conj, joined
from infinicore._complex_parts import PARTS, WHOLES, parts
from infinicore._dtype import category, complex64, float32, float64, get_default_dtype
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor

_TOGETHER = 3  # dimensions that libraries support in one call
_WIDTH = 64  # largest matrix; without an operator, longer transforms are split into such


def as_complex(function: str, x: Any) -> Tensor:
    """Operands as complex64 or complex128."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{function}: input is {type(x).__name__}: expected a tensor")
    if x.dtype.is_complex:
        return x if x.dtype._code in ("C64", "C128") else x.to(complex64)
    return x.to(WHOLES[floats(x).dtype._code])


def as_operand(function: str, x: Any) -> Tensor:
    """The same, except that real operands stay real."""
    if isinstance(x, Tensor) and not x.dtype.is_complex:
        return floats(x)
    return as_complex(function, x)


def floats(x: Tensor) -> Tensor:
    if category(x.dtype) < 2:
        return x.to(get_default_dtype())
    return x if x.dtype in (float32, float64) else x.to(float32)


@function
def transform(input: Tensor, dims: Sequence[int], inverse: bool, scale: float) -> Tensor:
    """Transforms complex or real numbers along dimensions, whose order does not matter."""
    if not _has_operator(input):
        if not input.dtype.is_complex:
            input = cast_to(input, WHOLES[input.dtype._code])
        return _all_by_products(input, dims, inverse, scale)
    return _transform_each(input, sorted(dims), inverse, scale)


@function
def transform_real(input: Tensor, dims: Sequence[int], inverse: bool, scale: float) -> Tensor:
    """Transforms real input: half of the result in the last dimension, which determines the
    rest."""
    last, size = dims[-1], input.shape[dims[-1]]
    whole = WHOLES[input.dtype._code]
    if not _has_operator(input):
        made = _all_by_products(cast_to(input, whole), dims, inverse, scale)
        return _dense(made.narrow(last, 0, size // 2 + 1))
    made = _core.empty(_with_size(input, last, size // 2 + 1), whole, input.device)
    rest, now = _split(dims)
    emit(
        "rfft",
        _last(input, now),
        out=[_last(part, now) for part in parts(made)],
        inverse=inverse,
        scale=scale,
        ndim=len(now),
    )
    return _transform_each(made, rest, inverse, 1.0)


@function
def transform_half(
    input: Tensor, dims: Sequence[int], size: int, inverse: bool, scale: float
) -> Tensor:
    """Real output from the first half of its transform in the last dimension."""
    last = dims[-1]
    if not _has_operator(input):
        return _whole_by_products(input, dims, size, inverse, scale)
    rest, now = _split(dims)
    input = _transform_each(input, rest, inverse, 1.0)
    result = _core.empty(_with_size(input, last, size), PARTS[input.dtype._code], input.device)
    given = [_last(part, now) for part in parts(input)]
    to = _last(result, now)
    emit("irfft", *given, out=to, size=size, inverse=inverse, scale=scale, ndim=len(now))
    return result


def _transform_each(x: Tensor, dims: Sequence[int], inverse: bool, scale: float) -> Tensor:
    while dims:
        is_real = not x.dtype.is_complex
        made = _core.empty(x.shape, WHOLES[x.dtype._code] if is_real else x.dtype, x.device)
        dims, now = dims[:-_TOGETHER], dims[-_TOGETHER:]
        given = [_last(x, now), None] if is_real else [_last(part, now) for part in parts(x)]
        result = [_last(part, now) for part in parts(made)]
        emit("fft", *given, out=result, inverse=inverse, scale=scale, ndim=len(now))
        x, scale = made, 1.0
    return x


def _split(dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """The dimensions transformed together with the last one, which comes last among them, and the
    others."""
    others = sorted(dims[:-1])
    count = max(0, len(others) - (_TOGETHER - 1))
    return others[:count], [*others[count:], dims[-1]]


def _last(x: Tensor, dims: Sequence[int]) -> Tensor:
    """The view in which these dimensions are the last ones."""
    if tuple(dims) == tuple(range(x.ndim - len(dims), x.ndim)):
        return x
    return x.permute(*(at for at in range(x.ndim) if at not in dims), *dims)


def _with_size(x: Tensor, dim: int, size: int) -> list[int]:
    return [size if at == dim else each for at, each in enumerate(x.shape)]


def _has_operator(input: Tensor) -> bool:
    return input.device.type in ("cpu", "cuda", "musa")


def _dense(input: Tensor) -> Tensor:
    return emit("rearrange", input)  # type: ignore[no-any-return]


def _all_by_products(x: Tensor, dims: Sequence[int], inverse: bool, scale: float) -> Tensor:
    for dim in dims:
        made = _by_products(_dense(x.transpose(dim, -1)), inverse, scale)
        x, scale = _dense(made.transpose(dim, -1)), 1.0
    return x


def _whole_by_products(
    x: Tensor, dims: Sequence[int], size: int, inverse: bool, scale: float
) -> Tensor:
    x = _all_by_products(x, dims[:-1], inverse, 1.0)
    half = _dense(x.transpose(dims[-1], -1))
    made = _core.empty((*half.shape[:-1], size), half.dtype, half.device)
    last, rest = half.ndim - 1, size - half.shape[-1]
    if not inverse:
        half = emit_conj(half)
    emit("rearrange", half, out=made.narrow(last, 0, half.shape[-1]))
    if rest:
        other = emit("flip", emit_conj(half.narrow(last, 1, rest)), dims=[last])
        emit("rearrange", other, out=made.narrow(last, half.shape[-1], rest))
    zero = tensor_for(0.0, PARTS[half.dtype._code], half.device)
    for place in (0, size // 2) if size % 2 == 0 else (0,):  # the real side of the transform
        imag = parts(made.narrow(last, place, 1))[1]
        emit("rearrange", zero.expand(*imag.shape), out=imag)
    return _dense(parts(_by_products(made, True, scale))[0].transpose(dims[-1], -1))


def _by_products(x: Tensor, inverse: bool, scale: float) -> Tensor:
    made = _rows(x, inverse)
    return made if scale == 1 else emit("mul", made, scale)


def _rows(x: Tensor, inverse: bool) -> Tensor:
    """Length p q as q transforms of length p, multiplied by twiddle factors, and p of length q
    (Cooley-Tukey)."""
    n = x.shape[-1]
    p = next((p for p in range(min(_WIDTH, n), 1, -1) if n % p == 0), 1)
    if n <= _WIDTH:
        return emit("mul", x, 1.0) if n < 2 else _product(x, _matrix(n, n, n, inverse, x))
    if p == 1:
        return _chirp(x, inverse)
    q = n // p
    columns = x.view(*x.shape[:-1], p, q).transpose(-1, -2)  # [q, p]: index q1 + q p1
    first = _product(emit("rearrange", columns), _matrix(p, p, p, inverse, x))
    turned = emit("mul", first, _matrix(q, p, n, inverse, x))
    second = _rows(emit("rearrange", turned.transpose(-1, -2)), inverse)  # [p, q]
    return emit("rearrange", second.transpose(-1, -2)).view(*x.shape)  # type: ignore[no-any-return]


def _product(x: Tensor, matrix: Tensor) -> Tensor:
    from infinicore.functions.matmul.matmul import _product

    return _product(x, matrix)


def _angles(numbers: Tensor, n: int, inverse: bool, like: Tensor) -> Tensor:
    """e^(-2 pi i k / n) for integers k, computed in float64."""
    angle = emit("mul", cast_to(emit("remainder", numbers, n), float64), 2 * math.pi / n)
    sine = emit("sin", angle)
    whole = joined(emit("cos", angle), sine if inverse else emit("neg", sine))
    return cast_to(whole, like.dtype)


def _counting(n: int, like: Tensor) -> Tensor:
    from infinicore.functions._operands import counting

    return counting(n, like)


def _matrix(rows: int, columns: int, n: int, inverse: bool, like: Tensor) -> Tensor:
    grid = emit("mul", _counting(rows, like).unsqueeze(1), _counting(columns, like).unsqueeze(0))
    return _angles(grid, n, inverse, like)


def _chirp(x: Tensor, inverse: bool) -> Tensor:
    """Lengths with a large prime factor, as a convolution whose length is a power of 2
    (Bluestein)."""
    n = x.shape[-1]
    size = 1 << (2 * n - 2).bit_length()
    k = _counting(n, x)
    w = _angles(emit("mul", k, k), 2 * n, inverse, x)
    empty = _core.empty((*x.shape[:-1], size), x.dtype, x.device)
    zero = cast_to(tensor_for(0.0, float32, x.device), x.dtype)
    emit("rearrange", zero.expand(*empty.shape), out=empty)
    emit("rearrange", emit("mul", x, w), out=empty.narrow(empty.ndim - 1, 0, n))
    kernel = _core.empty((size,), x.dtype, x.device)
    emit("rearrange", zero.expand(size), out=kernel)
    back = _angles(emit("mul", k, k), 2 * n, not inverse, x)
    emit("rearrange", back, out=kernel.narrow(0, 0, n))
    other = emit("flip", back.narrow(0, 1, n - 1), dims=[0])
    emit("rearrange", other, out=kernel.narrow(0, size - n + 1, n - 1))
    both = emit("mul", _rows(empty, False), _rows(kernel, False))
    made = emit("mul", _rows(both, True), 1.0 / size)
    return emit("mul", made.narrow(made.ndim - 1, 0, n), w)  # type: ignore[no-any-return]
