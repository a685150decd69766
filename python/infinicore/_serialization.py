"""Tensors and what holds them, in files: `save` and `load`.

A file is a pickle. `load` makes tensors, numbers, text and containers only: a file from a stranger
can't call anything else.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Iterator
from typing import Any

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


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _ALLOWED.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"load: the file names {module}.{name}: expected tensors, numbers, text and"
            " containers; weights_only=False takes anything, of files that you trust"
        )


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
        made = (_Unpickler(handle) if weights_only else pickle.Unpickler(handle)).load()
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
