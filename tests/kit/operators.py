"""Operators through their C functions: prototypes from the declarations, tensors in device memory.

A tensor has its own buffer between guard bytes, in any layout; after a run the bytes outside
written elements must be unchanged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from spec.operators.language.model import DTYPES, REGISTRY, Operator, Param, Pointer, Run, Tensor
from spec.operators.language.numeric import decode, encode, storage

from .binding import STATUS_NAMES, root
from .memory import Maker

GUARD = 64  # bytes before and after a tensor
CANARY = 0xA5

C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "char": ctypes.c_byte,
    "int": ctypes.c_int,
    "uint8_t": ctypes.c_uint8,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(root() / "lib" / "libinfiniop.so"))


def c_type(text: str) -> Any:
    name = text.replace("const ", "").strip()
    if "*" in name:
        return ctypes.c_void_p
    return C_TYPES.get(name, ctypes.c_int)  # else an enumeration


def function(name: str, arguments: Sequence[Any]) -> Any:
    entry = getattr(library(), name)
    entry.argtypes = list(arguments)
    entry.restype = ctypes.c_int
    return lambda *values: STATUS_NAMES[entry(*values)]


def functions(operator: Operator) -> dict[str, Any]:
    """create, workspace, destroy, and a list of runs."""
    return _functions(operator.name)


@cache
def _functions(name: str) -> dict[str, Any]:
    operator = REGISTRY[name]
    pointer = ctypes.c_void_p
    create = [pointer, pointer]
    create += [pointer if isinstance(p, Tensor) else c_type(p.type) for p in operator.create]
    made: dict[str, Any] = {
        "create": function(operator.create_names[0], create),
        "destroy": function(f"infiniopDestroy{operator.c_name}Descriptor", [pointer]),
        "runs": [],
    }
    if operator.workspace:
        query = f"infiniopGet{operator.c_name}WorkspaceSize"
        made["workspace"] = function(query, [pointer, pointer])
    for run in operator.runs:
        workspace = [pointer, ctypes.c_size_t] if operator.workspace else []
        types = [pointer, *workspace, *(c_type(p.type) for p in run.params), pointer]
        made["runs"].append(function(run.name, types))
    return made


# ---- Tensors ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """The layout of a tensor: strides and the offset of the first element, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def span(self) -> int:
        """The number of elements spanned, from the first to the last."""
        if 0 in self.shape:
            return 0
        steps = zip(self.shape, self.strides, strict=True)
        return 1 + sum((size - 1) * stride for size, stride in steps)


class Placed:
    """A tensor in device memory. `image` is the contents of its buffer when it was last written."""

    def __init__(self, make: Maker, dtype: str, layout: Layout) -> None:
        self.dtype, self.layout = dtype, layout
        self.element = storage(dtype)
        size = 2 * GUARD + (layout.offset + layout.span) * self.element.itemsize
        self.image = np.full(size, CANARY, np.uint8)
        self.buffer = make.buffer(size)

    @property
    def address(self) -> int:
        return self.buffer.address + self._start

    @property
    def _start(self) -> int:
        return GUARD + self.layout.offset * self.element.itemsize

    def _view(self, image: Any) -> Any:
        strides = [stride * self.element.itemsize for stride in self.layout.strides]
        return np.ndarray(self.layout.shape, self.element, image, self._start, strides)

    def write(self, values: Any) -> None:
        """None: the elements are filled with the canary too."""
        self.image[:] = CANARY
        if values is not None:
            self._view(self.image)[...] = encode(values, self.dtype)
        self.buffer.write(self.image.tobytes())

    def read(self) -> Any:
        """The current raw elements, after a check that nothing else has changed."""
        now = np.frombuffer(self.buffer.read(), np.uint8).copy()
        elements = self._view(now).copy()
        self._view(now)[...] = self._view(self.image)
        assert np.array_equal(now, self.image), "bytes outside the tensor have changed"
        return elements

    def values(self) -> Any:
        return decode(self.read(), self.dtype)

    def assert_unchanged(self) -> None:
        now = np.frombuffer(self.buffer.read(), np.uint8)
        assert np.array_equal(now, self.image), "an input has changed"


# ---- Descriptors --------------------------------------------------------------------------------


class Handle:
    def __init__(self, make: Maker) -> None:
        handle = ctypes.c_void_p()
        create = function("infiniopCreateHandle", [ctypes.c_void_p])
        assert create(ctypes.byref(handle)) == "INFINI_STATUS_SUCCESS", make.rt.message()
        make.later(function("infiniopDestroyHandle", [ctypes.c_void_p]), handle)
        self.value = handle.value


def tensor_descriptor(make: Maker, dtype: int, shape: Sequence[int], strides: Any) -> int:
    """Strides may be None."""
    made = ctypes.c_void_p()
    sizes = (ctypes.c_size_t * max(len(shape), 1))(*shape)
    steps = None if strides is None else (ctypes.c_ssize_t * max(len(shape), 1))(*strides)
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    types = [pointer, size, pointer, pointer, ctypes.c_int]
    create = function("infiniopCreateTensorDescriptor", types)
    status = create(ctypes.byref(made), len(shape), sizes, steps, dtype)
    assert status == "INFINI_STATUS_SUCCESS", make.rt.message()
    make.later(function("infiniopDestroyTensorDescriptor", [pointer]), made)
    return made.value or 0


def list_of(param: Param, values: Any) -> Any:
    """A C array for a list parameter; None stays null."""
    if values is None:
        return None
    return (C_TYPES[param.element] * max(len(values), 1))(*values)


class Described:
    """An operator descriptor with its workspace. `tensors` are placed tensors by name, lists of
    them for arrays, None for absent ones."""

    def __init__(
        self,
        make: Maker,
        operator: Operator,
        tensors: dict[str, Any],
        attributes: dict[str, Any],
        run: int = 0,
    ) -> None:
        self.make, self.operator = make, operator
        self.run_number = run
        self._keep: list[Any] = []
        self.desc = ctypes.c_void_p()
        calls = functions(operator)
        given = [self._argument(param, tensors, attributes) for param in operator.create]
        handle = Handle(make)
        self.status = calls["create"](handle.value, ctypes.byref(self.desc), *given)
        if self.status != "INFINI_STATUS_SUCCESS":
            return
        make.later(calls["destroy"], self.desc)
        self.workspace_size = 0
        if operator.workspace:
            size = ctypes.c_size_t()
            status = calls["workspace"](self.desc, ctypes.byref(size))
            assert status == "INFINI_STATUS_SUCCESS", make.rt.message()
            self.workspace_size = size.value
        self.workspace = make.buffer(self.workspace_size) if self.workspace_size else None

    def _argument(
        self, param: Tensor | Param, tensors: dict[str, Any], attributes: dict[str, Any]
    ) -> Any:
        if isinstance(param, Param):
            value = attributes[param.name]
            if param.kind in ("list", "numbers"):
                self._keep.append(list_of(param, value))
                return self._keep[-1]
            return value.encode() if isinstance(value, str) else value
        found = tensors[param.name]
        if isinstance(found, list):
            each = [self._describe(tensor) for tensor in found]
            self._keep.append((ctypes.c_void_p * max(len(each), 1))(*each))
            return self._keep[-1]
        return self._describe(found)

    def _describe(self, tensor: Placed | None) -> int | None:
        if tensor is None:
            return None
        code, layout = DTYPES.index(tensor.dtype), tensor.layout
        return tensor_descriptor(self.make, code, layout.shape, layout.strides)

    def run(self, pointers: dict[str, Any], scalars: dict[str, Any], stream: int | None) -> str:
        """`pointers` by the names of the run function's parameters: addresses, lists, None."""
        run: Run = self.operator.runs[self.run_number]
        given: list[Any] = []
        keep: list[Any] = []
        for param in run.params:
            value = pointers[param.name] if isinstance(param, Pointer) else scalars[param.name]
            if isinstance(param, Param) and param.kind in ("list", "numbers"):
                value = list_of(param, value)
            elif isinstance(value, list):
                value = (ctypes.c_void_p * max(len(value), 1))(*value)
            keep.append(value)
            given.append(value)
        workspace: list[Any] = []
        if self.operator.workspace:
            address = self.workspace.address if self.workspace else None
            workspace = [address, self.workspace_size]
        call = functions(self.operator)["runs"][self.run_number]
        return str(call(self.desc, *workspace, *given, stream))
