"""Tensors of evenly spaced numbers, identity matrices and triangle indices."""

from __future__ import annotations

import array
import builtins
import math
from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._creation import _into
from infinicore._defaults import _kind_of, _place
from infinicore._device import device as device_class
from infinicore._dtype import dtype as dtype_class
from infinicore._emit import _step, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.op._operator import function as operator_named

_counted = builtins.range  # a function below has its name


def _number(function: str, name: str, value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Tensor) or hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{function}: {name} is {type(value).__name__}: expected a number")


@function
def _arange(count: int, start: float, step: float, kind: dtype_class, where: device_class) -> Any:
    made = kind if kind not in (types.bool_, types.byte) else types.uint8
    result = _core.empty((count,), made, where)
    emit("arange", out=result, start=float(start), step=float(step))
    return result


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """The numbers start, start + step, ... below end. A single argument is the end.

    >>> infinicore.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    start, step = _number("arange", "start", start), _number("arange", "step", step)
    if end is None:
        start, end = 0, start
    end = _number("arange", "end", end)
    if step == 0:
        raise ValueError("arange: step is 0: expected another number")
    if not all(math.isfinite(value) for value in (start, end, step)):
        raise ValueError("arange: start, end and step must be finite")
    if (end - start) / step < 0:
        raise ValueError(
            f"arange: step is {step}: expected one that leads from {start} towards {end}"
        )
    whole = all(isinstance(value, int) for value in (start, end, step))
    kind = _kind_of("arange", dtype, types.int64 if whole else None)
    if kind is types.int64 and not whole:  # counted in integers, as torch does
        start, end, step, whole = int(start), int(end), int(step), True
        if step == 0:
            raise ValueError("arange: step is less than 1: expected more for a dtype of integers")
    if whole:
        count = -(-(end - start) // step)
    else:
        count = math.ceil((end - start) / step)
    where = _place(device)
    exact = 1 << 53  # the operator takes start and step as floats
    if whole and max(abs(start), abs(step)) > exact and kind is types.int64:
        result = _arange(count, 0, 1, kind, where) * step + start
    else:
        result = _arange(count, start, step, kind, where)
    return _into("arange", out, result if result.dtype is kind else result.to(kind))


def range(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """The numbers start, start + step, ... up to and including end: floats unless `dtype` is given.
    A single argument is the end.

    >>> infinicore.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    start, step = _number("range", "start", start), _number("range", "step", step)
    if end is None:
        start, end = 0, start
    end = _number("range", "end", end)
    if step == 0 or (end - start) / step < 0:
        raise ValueError(
            f"range: step is {step}: expected one that leads from {start} towards {end}"
        )
    count = math.floor((end - start) / step) + 1
    return _arange(count, start, step, _kind_of("range", dtype, None), _place(device))  # type: ignore[no-any-return]


@function
def _linspace(start: float, end: float, steps: int, kind: dtype_class, where: device_class) -> Any:
    line = _core.empty((steps,), types.float64, where)
    emit("arange", out=line, start=0.0, step=1.0)
    if steps == 1:
        return (line + start).to(kind)
    # From both ends, so that the last number is exact too.
    step = (end - start) / (steps - 1)
    middle = tensor_for(steps // 2, types.float64, where)
    result = emit(
        "where",
        emit("less", line, middle),
        line * step + start,
        (line - (steps - 1)) * step + end,
    )
    return result.to(kind)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, out: Any = None
) -> Tensor:
    """`steps` evenly spaced numbers from start to end, both included.

    >>> infinicore.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(steps, bool) or not hasattr(steps, "__index__") or steps < 0:
        raise ValueError(f"linspace: steps is {steps!r}: expected 0 or more")
    kind = _kind_of("linspace", dtype)
    first, last = _ends("linspace", start, end, kind)
    return _into("linspace", out, _linspace(first, last, int(steps), kind, _place(device)))


def _ends(function: str, start: Any, end: Any, kind: dtype_class) -> tuple[float, float]:
    """Both ends, truncated for a dtype of integers."""
    first, last = (
        float(_number(function, name, value)) for name, value in (("start", start), ("end", end))
    )
    if not kind.is_floating_point and not kind.is_complex:
        first, last = float(int(first)), float(int(last))
    return first, last


@function
def _powers(input: Tensor, base: float, kind: dtype_class) -> Any:
    return emit("pow", tensor_for(base, types.float64, input.device), input).to(kind)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Tensor:
    """The base to the power of `steps` evenly spaced numbers from start to end.

    >>> infinicore.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    kind = _kind_of("logspace", dtype)
    first, last = _ends("logspace", start, end, kind)
    exponents = linspace(first, last, steps, dtype=types.float64, device=device)
    return _into("logspace", out, _powers(exponents, float(base), kind))


@function
def _eye(rows: int, columns: int, kind: dtype_class, where: device_class) -> Any:
    down = emit("arange", out=_core.empty((rows,), types.int64, where), start=0.0, step=1.0)
    across = emit("arange", out=_core.empty((columns,), types.int64, where), start=0.0, step=1.0)
    diagonal = emit("equal", down.unsqueeze(1), across)
    if diagonal.dtype is kind:
        return diagonal
    result = _core.empty((rows, columns), kind, where)
    _step(operator_named("cast"), [result, diagonal], {})
    return result


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, out: Any = None
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    >>> infinicore.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise ValueError(f"eye: sizes are {n} and {columns}: expected 0 or more")
    kind = _kind_of("eye", dtype)
    if kind.is_complex:
        return _into("eye", out, _eye(n, columns, types.float32, _place(device)).to(kind))
    return _into("eye", out, _eye(n, columns, kind, _place(device)))


def _indices(rows: list[builtins.range], kind: dtype_class, where: device_class) -> Tensor:
    """Row and column indices, from the range of columns in each row."""
    down, across = array.array("q"), array.array("q")
    for i, columns in enumerate(rows):
        down.extend([i] * len(columns))
        across.extend(columns)
    both = _core.from_bytes(memoryview(down + across).cast("B"), (2, len(down)), types.int64, where)
    return both.to(kind)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Row and column indices of the elements on and below a diagonal, as a tensor of two rows.

    >>> infinicore.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    rows = [_counted(0, max(0, min(col, i + offset + 1))) for i in _counted(row)]
    return _indices(rows, _kind_of("tril_indices", dtype, types.int64), _place(device))


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Row and column indices of the elements on and above a diagonal, as a tensor of two rows.

    >>> infinicore.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    rows = [_counted(max(0, min(col, i + offset)), col) for i in _counted(row)]
    return _indices(rows, _kind_of("triu_indices", dtype, types.int64), _place(device))
