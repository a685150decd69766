"""Arrays with torch's names and type promotion, so that a reference in NumPy looks like torch code.

A reference is written on plain arrays, whose floats are float64 and whose integers are int64; the
decorators below convert arguments to that, and results to the type that torch gives them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

float32, float64, float16 = (np.dtype(name) for name in ("float32", "float64", "float16"))
bfloat16 = np.dtype(ml_dtypes.bfloat16)
int8, int16, int32, int64 = (np.dtype(name) for name in ("int8", "int16", "int32", "int64"))
uint8, bool_ = np.dtype("uint8"), np.dtype("bool")
HALVES = (float16, bfloat16)
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def is_float(dtype: Any) -> bool:
    return dtype in (float32, float64, *HALVES)


# ---- Types of results ---------------------------------------------------------------------------


def _category(dtype: Any) -> int:
    return 2 if is_float(dtype) else int(dtype != bool_)


def promoted(one: Any, other: Any) -> Any:
    """The promoted type, by torch's rules."""
    if one == other:
        return one
    if _category(one) != _category(other):
        return max(one, other, key=_category)
    if _category(one) < 2:
        return np.promote_types(one, other)
    if {one, other} == set(HALVES):
        return float32
    return max(one, other, key=lambda dtype: dtype.itemsize)


def result_type(*operands: Any) -> Any:
    """Zero-dimensional tensors, and then numbers, matter only if their category is higher."""
    result: Any = None
    for level in range(3):
        kinds = [_kind(x) for x in operands if _level(x) == level]
        if kinds:
            kind = functools.reduce(promoted, kinds)
            if result is None or _category(kind) > _category(result):
                result = kind
    return float32 if result is None else result


def _level(operand: Any) -> int | None:
    if isinstance(operand, Tensor):
        return 0 if operand.ndim else 1
    return 2 if isinstance(operand, (bool, int, float)) else None


def _kind(operand: Any) -> Any:
    if isinstance(operand, Tensor):
        return operand.dtype
    return {bool: bool_, int: int64, float: float32}[type(operand)]


# ---- Tensors ------------------------------------------------------------------------------------


class Tensor:
    """An array. Functions of this package are its methods too."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def T(self) -> Tensor:
        return Tensor(self.array.T)

    @property
    def mT(self) -> Tensor:
        return Tensor(self.array.swapaxes(-1, -2))

    def numel(self) -> int:
        return self.array.size

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def to(self, dtype: Any) -> Tensor:
        return Tensor(cast(self.array, dtype))

    def view(self, *shape: Any) -> Tensor:
        if isinstance(shape[0], np.dtype):
            return Tensor(self.array.view(shape[0]))
        return Tensor(self.array.reshape(shape[0] if isinstance(shape[0], tuple) else shape))

    def clone(self) -> Tensor:
        return Tensor(self.array.copy())

    def contiguous(self) -> Tensor:
        return Tensor(np.ascontiguousarray(self.array))

    def tolist(self) -> Any:
        return self.array.tolist()

    def item(self) -> Any:
        return self.array.item()

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.array[_plain(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[_plain(key)] = value.array if isinstance(value, Tensor) else value

    def __iter__(self) -> Iterator[Tensor]:
        return (Tensor(each) for each in self.array)

    def __len__(self) -> int:
        return len(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __index__(self) -> int:
        return operator.index(self.array.item())

    def __repr__(self) -> str:
        return f"{self.array} {self.dtype}"

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(name)
        return functools.partial(FUNCTIONS[name], self)


for _name, _dtype in {
    "float": float32,
    "double": float64,
    "half": float16,
    "int": int32,
    "long": int64,
    "bool": bool_,
}.items():
    setattr(Tensor, _name, lambda self, dtype=_dtype: self.to(dtype))


def _binary(name: str, swapped: bool = False) -> Any:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float)):
            return NotImplemented
        return FUNCTIONS[name](other, self) if swapped else FUNCTIONS[name](self, other)

    return method


for _symbol, _name in {
    **{name: name for name in ("add", "sub", "mul", "matmul", "pow", "eq", "ne", "lt", "le")},
    **{"gt": "gt", "ge": "ge", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder"},
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
    **{"lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"},
}.items():
    setattr(Tensor, f"__{_symbol}__", _binary(_name))
    setattr(Tensor, f"__r{_symbol}__", _binary(_name, swapped=True))
for _symbol, _name in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Tensor, f"__{_symbol}__", lambda self, name=_name: FUNCTIONS[name](self))


def _plain(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_plain(each) for each in key)
    return key.array if isinstance(key, Tensor) else key


# ---- Functions ----------------------------------------------------------------------------------


def cast(array: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(dtype)


def widened(array: Any) -> Any:
    if array.dtype == bool_:
        return array
    return array.astype(float64 if is_float(array.dtype) else int64)


def mapped(value: Any, change: Callable[[Any], Any], kinds: Any = Tensor) -> Any:
    """Applies `change` to every tensor in nested arguments or results."""
    if isinstance(value, kinds):
        return change(value)
    if isinstance(value, (tuple, list)):
        made = [mapped(each, change, kinds) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {name: mapped(each, change, kinds) for name, each in value.items()}
    return value


def tensors_in(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    mapped(value, found.append)
    return found


def _registered(name: str, call: Any) -> Any:
    FUNCTIONS[name] = call
    return call


ARRAYS = (np.ndarray, np.generic)


def raw(function: Callable[..., Any]) -> Any:
    """A function that moves elements: arrays and results are not converted."""

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        given, named = mapped((args, keywords), lambda tensor: tensor.array)
        return mapped(function(*given, **named), Tensor, ARRAYS)

    return _registered(function.__name__.rstrip("_"), call)


def define(*, keep: bool = False, numbers: bool = False) -> Callable[[Any], Any]:
    """A function that computes: arrays come in float64 or int64, and floats that it returns get the
    type of the tensors that came (float32 if those were integers). With `keep` integers do too;
    with `numbers` Python numbers among the arguments matter for the type."""

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            operands = tensors_in((args, keywords))
            more = [x for x in args if numbers and not isinstance(x, (Tensor, list, tuple))]
            kind = result_type(*operands, *more)
            given, named = mapped((args, keywords), lambda tensor: widened(tensor.array))
            with np.errstate(all="ignore"):
                results = function(*given, **named)
            return mapped(results, lambda array: _narrowed(array, kind, keep), ARRAYS)

        return _registered(function.__name__.rstrip("_"), call)

    return decorate


def _narrowed(array: Any, kind: Any, keep: bool) -> Tensor:
    if is_float(array.dtype):
        return Tensor(cast(array, kind if is_float(kind) else float32))
    is_kept = keep and array.dtype != bool_ and not is_float(kind)
    return Tensor(cast(array, kind) if is_kept else array)


def alias(old: str, *names: str) -> None:
    for name in names:
        FUNCTIONS[name] = FUNCTIONS[old]
