"""Saving and loading tensors and containers of them.

A file is a pickle. `load` creates only tensors, numbers, text and containers: an untrusted file can
neither call anything else nor change a class or a function of this process.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

from infinicore import _core
from infinicore._device import Size, device
from infinicore._dtype import uint8
from infinicore._storage import rebuild_view
from infinicore._tensor import LOADED_TO, Tensor

# The globals that a file may refer to: modules, and names in them.
_ALLOWED = {
    "infinicore._tensor": {"rebuild"},
    "infinicore._storage": {"rebuild_view"},
    "infinicore._dtype": {"dtype_named"},
    "infinicore._device": {"Size", "device"},
    "infinicore.nn.parameter": {"Parameter"},
    "collections": {"OrderedDict", "defaultdict"},
    "builtins": {"complex", "set", "frozenset", "slice", "range", "bytearray"},
    "_codecs": {"encode"},
}


# Containers that a file fills from another one. From a number or a range they could exhaust the
# memory.
_FILLED: tuple[Any, ...] = (set, frozenset, bytearray, Size)


_STEPS: dict[int, Any] = dict(pickle._Unpickler.dispatch)


class _Unpickler(pickle._Unpickler):  # the Python implementation: its steps can be checked
    dispatch: ClassVar[dict[int, Any]] = dict(_STEPS)
    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"load: the file names {module}.{name}: expected tensors, numbers, text and"
            " containers; weights_only=False takes anything, of files that you trust"
        )

    def load_build(self) -> None:
        """Sets the state of an object, but never of a class or a function."""
        changed = self.stack[-2]
        if callable(changed):
            raise pickle.UnpicklingError(f"load: the file changes {changed!r}: expected a value")
        _STEPS[pickle.BUILD[0]](self)

    def load_reduce(self) -> None:
        self.check_filled(*self.stack[-2:])
        _STEPS[pickle.REDUCE[0]](self)

    def load_newobj(self) -> None:
        self.check_filled(*self.stack[-2:])
        _STEPS[pickle.NEWOBJ[0]](self)

    def check_filled(self, made: Any, given: Any) -> None:
        if made in _FILLED and not all(isinstance(each, (list, tuple, bytes)) for each in given):
            raise pickle.UnpicklingError(
                f"load: the file fills a {made.__name__} from {given!r}: expected a list"
            )

    def refuse(self) -> None:
        raise pickle.UnpicklingError("load: the file has a step of old pickles: expected save's")

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = refuse
    dispatch[pickle.OBJ[0]] = dispatch[pickle.INST[0]] = refuse


def _unpickled(handle: Any) -> Any:
    try:
        return _Unpickler(handle).load()
    except (pickle.UnpicklingError, OSError):
        raise
    except Exception as error:  # any error that bytes other than a pickle lead to
        raise pickle.UnpicklingError(
            f"load: the file is not one that save wrote: {type(error).__name__}: {error}"
        ) from error


@contextlib.contextmanager
def _opened(file: Any, mode: str) -> Iterator[Any]:
    if isinstance(file, (str, os.PathLike)):
        with open(file, mode) as handle:
            yield handle
    else:
        yield file


def save(obj: Any, f: Any) -> None:
    """Write tensors, numbers, text and containers of them to a file, or to an object with `write`.
    Tensors that share memory share it again after loading.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> infinicore.save({"x": infinicore.ones(2)}, buffer)
    """
    ranges = _ranges_of(obj)
    with _opened(f, "wb") as handle:
        _Pickler(handle, ranges).dump(obj)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what `save` wrote. Tensors go to the devices that they were saved from, or to
    `map_location`. With `weights_only=False` the file may contain objects of any class, and so run
    arbitrary code.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> infinicore.save({"x": infinicore.ones(2)}, buffer)
    >>> infinicore.load(io.BytesIO(buffer.getvalue()))["x"]
    tensor([1., 1.])
    """
    token = LOADED_TO.set(None if map_location is None else device(map_location))
    try:
        with _opened(f, "rb") as handle:
            return _unpickled(handle) if weights_only else pickle.Unpickler(handle).load()
    finally:
        LOADED_TO.reset(token)


# ---- Tensors that share memory ------------------------------------------------------------

_Key = tuple[int, str]  # the address and device of a memory block


def _key(tensor: Tensor) -> _Key:
    return tensor.data_ptr() - tensor._offset, str(tensor.device)


def _bytes_of(tensor: Tensor) -> tuple[int, int]:
    """The first byte used of the memory block, and one past the last."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor._offset, tensor._offset + (last + 1) * tensor.itemsize


class _Collector(pickle.Pickler):
    """A dry run that finds the tensors."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), protocol=4)
        self.found: list[Tensor] = []

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not Tensor:
            return NotImplemented
        self.found.append(obj)
        return str, ()


class _Range:
    """A range of memory that several tensors share."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last, self.count = first, last, 1
        self.tensor: Tensor | None = None


def _ranges_of(obj: Any) -> dict[_Key, list[_Range]]:
    collector = _Collector()
    collector.dump(obj)
    spans: dict[_Key, set[tuple[int, int, Any]]] = {}
    for tensor in collector.found:
        if tensor.numel() and not any(step < 0 for step in tensor.stride()):
            layout = (tuple(tensor.shape), tensor.stride(), tensor.dtype)
            spans.setdefault(_key(tensor), set()).add((*_bytes_of(tensor), layout))
    ranges: dict[_Key, list[_Range]] = {}
    for key, found in spans.items():
        made: list[_Range] = []
        for first, last, _ in sorted(found, key=lambda span: span[:2]):
            if made and first < made[-1].last:
                made[-1].last = max(made[-1].last, last)
                made[-1].count += 1
            else:
                made.append(_Range(first, last))
        ranges[key] = made
    return ranges


class _Pickler(pickle.Pickler):
    """Writes shared bytes once, and tensors as views of them."""

    def __init__(self, handle: Any, ranges: dict[_Key, list[_Range]]) -> None:
        super().__init__(handle, protocol=4)
        self._ranges, self._own = ranges, set[int]()

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not Tensor or id(obj) in self._own or not obj.numel():
            return NotImplemented
        first, last = _bytes_of(obj)
        for each in self._ranges.get(_key(obj), ()):
            if each.count > 1 and each.first <= first and last <= each.last:
                if each.tensor is None:
                    size, start = each.last - each.first, each.first - first
                    each.tensor = _core.view_as(obj, (size,), (1,), start, uint8)
                    self._own.add(id(each.tensor))
                layout = (tuple(obj.shape), tuple(obj.stride()))
                return rebuild_view, (each.tensor, *layout, first - each.first, obj.dtype)
        return NotImplemented
