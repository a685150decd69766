"""Element types and type promotion."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from infinicore.op._table import DTYPES

# The values of infiniDtype_t, under the names of infinicore::DataType.
if TYPE_CHECKING:

    class DataType(IntEnum): ...

else:
    DataType = IntEnum("DataType", DTYPES, module="infinicore.lib._infinicore")


class dtype:  # noqa: N801
    """The type of a tensor's elements. There is one object of each: `infinicore.float32`, ...

    `dtype(underlying)` converts a number of the C interface (`_underlying`).
    """

    __slots__ = ("_code", "_name", "_underlying", "itemsize")

    _by_name: ClassVar[dict[str, dtype]] = {}
    _name: str
    _code: str
    _underlying: DataType
    itemsize: int

    def __new__(cls, data_type: DataType | dtype) -> dtype:
        if isinstance(data_type, dtype):
            return data_type
        found = BY_NUMBER.get(data_type) if isinstance(data_type, DataType) else None
        if found is None:
            raise TypeError(f"dtype: data_type is {data_type!r}: expected one such as DataType.F32")
        return found

    @property
    def is_floating_point(self) -> bool:
        return self._code[0] in "FB" and self._code not in ("BOOL", "BYTE")

    @property
    def is_complex(self) -> bool:
        return self._code[0] == "C"

    @property
    def is_signed(self) -> bool:
        return self._code[0] not in "U" and self._code not in ("BOOL", "BYTE")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and self._underlying == other._underlying

    def __hash__(self) -> int:
        return hash(self._underlying)

    def __repr__(self) -> str:
        return f"infinicore.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_named, (self._name,)


def dtype_named(name: str) -> dtype:
    found = dtype._by_name.get(name)
    if found is None:
        raise ValueError(f"dtype: {name!r} is no element type: see infinicore.dtype")
    return found


def _make(name: str, code: str, itemsize: int) -> dtype:
    made = object.__new__(dtype)
    made._name, made._code, made._underlying = name, code, DataType[code]
    made.itemsize = itemsize
    dtype._by_name[name] = made
    return made


byte = _make("byte", "BYTE", 1)
bool_ = _make("bool", "BOOL", 1)
int8 = _make("int8", "I8", 1)
int16 = _make("int16", "I16", 2)
int32 = _make("int32", "I32", 4)
int64 = _make("int64", "I64", 8)
uint8 = _make("uint8", "U8", 1)
uint16 = _make("uint16", "U16", 2)
uint32 = _make("uint32", "U32", 4)
uint64 = _make("uint64", "U64", 8)
float8 = _make("float8", "F8", 1)
float16 = _make("float16", "F16", 2)
float32 = _make("float32", "F32", 4)
float64 = _make("float64", "F64", 8)
complex16 = _make("complex16", "C16", 2)
complex32 = _make("complex32", "C32", 4)
complex64 = _make("complex64", "C64", 8)
complex128 = _make("complex128", "C128", 16)
bfloat16 = _make("bfloat16", "BF16", 2)

ALL: dict[str, dtype] = {each._code: each for each in dtype._by_name.values()}
BY_NUMBER: dict[int, dtype] = {int(each._underlying): each for each in ALL.values()}

# Other names of the same types.
ALIASES: dict[str, dtype] = {
    "float": float32,
    "double": float64,
    "half": float16,
    "float8_e4m3fn": float8,
    "cfloat": complex64,
    "cdouble": complex128,
    "chalf": complex32,
    "short": int16,
    "int": int32,
    "long": int64,
    "bool": bool_,
}
NAMES: dict[str, dtype] = {**dtype._by_name, **ALIASES}

_default = float32


def set_default_dtype(value: dtype) -> None:
    """Set the default floating-point type: of `rand` and similar functions, and of functions of
    integers that return floats.

    >>> infinicore.set_default_dtype(infinicore.float64)
    """
    global _default
    if not isinstance(value, dtype) or not value.is_floating_point:
        raise TypeError(f"set_default_dtype: expected a floating-point type, got {value!r}")
    _default = value
    from infinicore import _core

    _core.forget_all_recipes()  # traced functions contain the former one


def get_default_dtype() -> dtype:
    """The default floating-point type, initially float32."""
    return _default


# ---- Promotion ----------------------------------------------------------------------------------

_UNSIGNED = {"U8": 8, "U16": 16, "U32": 32, "U64": 64, "BYTE": 8}
_SIGNED = {"I8": 8, "I16": 16, "I32": 32, "I64": 64}
_FLOATS = {"F8": 0, "F16": 1, "BF16": 1, "F32": 2, "F64": 3}


def category(kind: dtype) -> int:
    """0: booleans, 1: integers, 2: floats, 3: complex numbers."""
    if kind is bool_:
        return 0
    if kind.is_complex:
        return 3
    return 2 if kind.is_floating_point else 1


def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that holds the values of both.

    >>> infinicore.promote_types(infinicore.int32, infinicore.float16)
    infinicore.float16
    """
    if a is b:
        return a
    if category(a) != category(b):
        high, low = (a, b) if category(a) > category(b) else (b, a)
        return complex128 if high is complex64 and low is float64 else high
    one, two = a._code, b._code
    if category(a) == 2:
        if _FLOATS[one] == _FLOATS[two]:
            return float32
        return a if _FLOATS[one] > _FLOATS[two] else b
    if category(a) == 3:
        return a if a.itemsize > b.itemsize else b
    if (one in _SIGNED) == (two in _SIGNED):
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (one, two) if one in _SIGNED else (two, one)
    bits = max(_SIGNED[signed], 2 * _UNSIGNED[unsigned])
    return ALL[f"I{min(bits, 64)}"]
