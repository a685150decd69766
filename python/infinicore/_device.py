"""Devices by name."""

from __future__ import annotations

from enum import IntEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

from infinicore import _core
from infinicore._dtype import BY_NUMBER, DataType
from infinicore.op._table import DEVICES

# Types of infiniDevice_t by device name. The CUDA-like devices of several vendors share a name, and
# are numbered consecutively in the order of their types.
_WORDS_OF = {
    "cpu": ("CPU",),
    "cuda": ("NVIDIA", "METAX", "ILUVATAR", "HYGON", "QY", "ALI"),
    "mlu": ("CAMBRICON",),
    "npu": ("ASCEND",),
    "musa": ("MOORE",),
    "xpu": ("KUNLUN",),
}
_TYPES = {word: tuple(DEVICES[name] for name in names) for word, names in _WORDS_OF.items()}
_WORDS = {number: word for word, numbers in _TYPES.items() for number in numbers}
# Vendor names, each for that vendor's devices only.
_VENDORS = {name.lower(): number for name, number in DEVICES.items() if name != "CPU"}


_NUMBERS = 2**31  # types and numbers of devices are C ints


def _checked(index: object) -> int:
    """The index of a device among those of its type."""
    if not isinstance(index, SupportsIndex) or isinstance(index, bool):
        raise TypeError(f"device: index is {index!r}: expected an integer")
    number = index.__index__()
    if not 0 <= number < _NUMBERS:
        raise ValueError(f"device: index is {number}: expected 0 or more, below 2**31")
    return number


class DeviceType(IntEnum):
    """Types of infiniDevice_t. Back ends outside this list have larger numbers."""

    @classmethod
    def _missing_(cls, value: object) -> DeviceType | None:
        if not isinstance(value, int) or not 0 <= value < _NUMBERS:
            return None
        made = int.__new__(cls, value)
        made._name_, made._value_ = f"TYPE_{value}", value
        return cls._value2member_map_.setdefault(value, made)  # type: ignore[return-value]


if TYPE_CHECKING:
    _Type = DeviceType
else:
    _Type = DeviceType("Type", DEVICES, module="infinicore.lib._infinicore", qualname="Device.Type")


class Device(tuple[int, int]):
    """infinicore::Device: `Device(Device.Type.CPU, 0)`, the type and the index among devices of
    that type."""

    __slots__ = ()

    Type = _Type
    type = property(itemgetter(0))
    index = property(itemgetter(1))

    def __new__(cls, type: int = 0, index: int = 0) -> Device:
        return tuple.__new__(cls, (cls.Type(type), _checked(index)))

    def __repr__(self) -> str:
        return f"<Device {self}>"

    def __str__(self) -> str:
        return f"{self.type.name}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (int(self[0]), self[1])


Device.__module__ = "infinicore.lib._infinicore"


class device:  # noqa: N801
    """A device: `device("cpu")`, `device("cuda", 1)`, `device("cuda:1")`.

    There is one object for each device. Other device types that the runtime has found (`infini
    info` lists them) can be named too.
    """

    __slots__ = ("_underlying", "index", "type")

    type: str
    index: int
    _underlying: Device

    _known: ClassVar[dict[tuple[int, int], device]] = {}

    def __new__(cls, type: str | device | Device | None = None, index: int | None = None) -> device:
        if isinstance(type, (device, Device)):
            if index is not None:
                raise ValueError("device: index must be left out when a device is given")
            return _at(*type) if isinstance(type, Device) else type
        word = "cpu" if type is None else type
        if not isinstance(word, str):
            raise TypeError(f"device: expected a name such as 'cpu' or 'cuda:1', got {type!r}")
        if ":" in word:
            if index is not None:
                raise ValueError(f"device: index must be left out when it is part of {word!r}")
            word, _, number = word.partition(":")
            if not number.isdigit():
                raise ValueError(f"device: expected a number after the colon in {type!r}")
            index = int(number)
        return _at(*_place(word, 0 if index is None else _checked(index)))

    def __repr__(self) -> str:
        return f"device(type={self.type!r}, index={self.index})"

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self._underlying == other._underlying

    def __hash__(self) -> int:
        return hash(self._underlying)

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (str(self),)


def _place(word: str, index: int) -> tuple[int, int]:
    """The device type and index for a device name and number."""
    if word in _VENDORS:
        return _VENDORS[word], index
    if word in _TYPES:
        first, *others = _TYPES[word]
        left = index
        for number in (first, *others) if others else ():  # counting opens back ends
            count = _core.device_count(number)
            if left < count:
                return number, left
            left -= count
        # There is none: the error message names the first type.
        return first, index
    for name, number, _ in _core.kinds():
        if name == word:
            return number, index
    known = ", ".join([*_TYPES, *_VENDORS])
    raise ValueError(f"device: {word!r} is no device type: expected one of {known}")


def _at(number: int, index: int) -> device:
    """The device of a type and number; called by the extension module."""
    found = device._known.get((number, index))
    if found is None:
        found = object.__new__(device)
        found._underlying = Device(number, index)
        word = _WORDS.get(number)
        if word is None:
            word = next((name for name, kind, _ in _core.kinds() if kind == number), str(number))
            shown = index
        else:
            before = _TYPES[word][: _TYPES[word].index(number)]
            shown = index + sum(_core.device_count(each) for each in before)
        found.type, found.index = word, shown
        device._known[number, index] = found
    return found


class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions: a tuple that also equals the list of the same numbers."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"infinicore.Size({list(self)})"


# The types that the extension module returns, once it is loaded.
_core._set_types(BY_NUMBER, Size, _at)
_core._set_conversions(device, Device, Device.Type, DataType)
