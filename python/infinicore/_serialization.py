"""Tensors and what holds them, in files: `save` and `load`.

A file is a pickle. `load` makes tensors, numbers, text and containers only: a file from a stranger
can neither call anything else nor change a class or a function of this process.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

from infinicore._device import device
from infinicore._tensor import Tensor

__all__ = ["load", "save"]

# What a file may name: modules, and the names in them.
_ALLOWED = {
    "infinicore._tensor": {"rebuild"},
    "infinicore._dtype": {"dtype_named"},
    "infinicore._device": {"Size", "device"},
    "infinicore.nn.parameter": {"Parameter"},
    "collections": {"OrderedDict", "defaultdict"},
    "builtins": {"complex", "set", "frozenset", "slice", "range", "bytearray"},
    "_codecs": {"encode"},
}


# Containers that a file fills from another one. Of a number or a range they would fill the memory.
_FILLED: tuple[Any, ...] = (set, frozenset, bytearray)


_STEPS: dict[int, Any] = dict(pickle._Unpickler.dispatch)


class _Unpickler(pickle._Unpickler):  # the one in Python: its steps can be checked
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
        """The state of an object: never of a class or a function."""
        changed = self.stack[-2]
        if callable(changed):
            raise pickle.UnpicklingError(f"load: the file changes {changed!r}: expected a value")
        _STEPS[pickle.BUILD[0]](self)

    def load_reduce(self) -> None:
        made, given = self.stack[-2:]
        if made in _FILLED and not all(isinstance(each, (list, tuple, bytes)) for each in given):
            raise pickle.UnpicklingError(
                f"load: the file fills a {made.__name__} from {given!r}: expected a list"
            )
        _STEPS[pickle.REDUCE[0]](self)

    def refuse(self) -> None:
        raise pickle.UnpicklingError("load: the file has a step of old pickles: expected save's")

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.OBJ[0]] = dispatch[pickle.INST[0]] = refuse


def _unpickled(handle: Any) -> Any:
    try:
        return _Unpickler(handle).load()
    except (pickle.UnpicklingError, OSError):
        raise
    except Exception as error:  # whatever bytes that are no pickle lead to
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
    """Write tensors, numbers, text and containers of them to a file, or to something with `write`.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> infinicore.save({"x": infinicore.ones(2)}, buffer)
    """
    with _opened(f, "wb") as handle:
        pickle.dump(obj, handle, protocol=4)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote, on the devices that the tensors were on, or on `map_location`. Without
    `weights_only` the file may hold objects of any class, and so run any code.

    >>> import io
    >>> buffer = io.BytesIO()
    >>> infinicore.save({"x": infinicore.ones(2)}, buffer)
    >>> infinicore.load(io.BytesIO(buffer.getvalue()))["x"]
    tensor([1., 1.])
    """
    with _opened(f, "rb") as handle:
        if map_location is not None:
            handle = io.BytesIO(handle.read())
        made = _unpickled(handle) if weights_only else pickle.Unpickler(handle).load()
    return made if map_location is None else _moved(made, device(map_location))


def _moved(value: Any, where: device) -> Any:
    if isinstance(value, Tensor):
        return value.to(where)
    if isinstance(value, dict):
        for key in value:
            value[key] = _moved(value[key], where)
        return value
    if isinstance(value, list):
        value[:] = [_moved(each, where) for each in value]
        return value
    return tuple(_moved(each, where) for each in value) if type(value) is tuple else value
