"""Bad calls, derived from the declarations: the conventional status, and a message that names the
function and the argument."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import Draw
from kit.operator_runs import Trial
from kit.operators import Handle, functions, list_of, tensor_descriptor
from spec.operators import REGISTRY
from spec.operators.language.model import DTYPES, Operator, Param, Tensor

from .test_operators import SUPPORTED, dtypes_of, rules_of

NAMES = [operator.name for operator in SUPPORTED if rules_of(operator).kinds]
NULL = "INFINI_STATUS_NULL_POINTER"
DTYPE = "INFINI_STATUS_BAD_TENSOR_DTYPE"
SHAPE = "INFINI_STATUS_BAD_TENSOR_SHAPE"
STRIDES = "INFINI_STATUS_BAD_TENSOR_STRIDES"
WORKSPACE = "INFINI_STATUS_INSUFFICIENT_WORKSPACE"
SUCCESS = "INFINI_STATUS_SUCCESS"


class Creation:
    """The create call of a case, with one argument changed at a time."""

    def __init__(self, make: Maker, operator: Operator) -> None:
        self.make, self.operator = make, operator
        self.draw = Draw(operator, rules_of(operator), dtypes_of(operator)[0], "usual", 0)
        self.handle = Handle(make).value
        self.keep: list[Any] = []

    def describe(self, tensor: Tensor, shape: Any, dtype: str = "", strides: Any = None) -> int:
        code = DTYPES.index(dtype or self.draw.dtypes[tensor.name])
        return tensor_descriptor(self.make, code, shape, strides)

    def argument(self, param: Tensor | Param) -> Any:
        if isinstance(param, Param):
            value = self.draw.attributes[param.name]
            if param.kind in ("list", "numbers"):
                self.keep.append(list_of(param, value))
                return self.keep[-1]
            return value.encode() if isinstance(value, str) else value
        shape = self.draw.shapes[param.name]
        if shape is None:
            return None
        if isinstance(shape, list):
            each = [self.describe(param, one) for one in shape]
            self.keep.append((ctypes.c_void_p * len(each))(*each))
            return self.keep[-1]
        return self.describe(param, shape)

    def call(self, changed: dict[str, Any], handle: Any = "", result: bool = True) -> str:
        given = [
            changed[param.name] if param.name in changed else self.argument(param)
            for param in self.operator.create
        ]
        made = ctypes.c_void_p()
        place = ctypes.byref(made) if result else None
        calls = functions(self.operator)
        status = calls["create"](self.handle if handle == "" else handle, place, *given)
        if status == SUCCESS:
            calls["destroy"](made)
        return str(status)

    def refused(self, status: str, changed: dict[str, Any], **options: Any) -> None:
        what = ", ".join(changed) or str(options)
        assert self.call(changed, **options) == status, f"{what}: {self.make.rt.message()}"
        assert self.make.rt.message().startswith(f"{self.operator.create_names[0]}: ")

    def tensors(self) -> list[tuple[Tensor, tuple[int, ...]]]:
        """The present ones, one by one."""
        shapes = self.draw.shapes
        found = [t for t in self.operator.tensors if isinstance(shapes[t.name], tuple)]
        return [(tensor, shapes[tensor.name]) for tensor in found]


@pytest.mark.parametrize("name", NAMES)
def test_create(make: Maker, name: str) -> None:
    operator = REGISTRY[name]
    creation = Creation(make, operator)
    assert creation.call({}) == SUCCESS, make.rt.message()
    creation.refused(NULL, {}, handle=None)
    creation.refused(NULL, {}, result=False)
    for tensor, shape in creation.tensors():
        if not tensor.optional:
            creation.refused(NULL, {tensor.name: None})
        for dtype in wrong_dtypes(creation, tensor):
            bad = creation.describe(tensor, shape, dtype)
            creation.refused(DTYPE, {tensor.name: bad})
        lists = any(item[0] in "*~-/" for one in tensor.shapes for item in one)
        if not lists:
            longer = (*shape, 1)
            if len(longer) not in {len(one) for one in tensor.shapes}:
                bad = creation.describe(tensor, longer)
                creation.refused(SHAPE, {tensor.name: bad})


def wrong_dtypes(creation: Creation, tensor: Tensor) -> list[str]:
    """A dtype that no declaration allows there, unless the error would be attributed to another
    argument."""
    if tensor.same_as:
        fine = {creation.draw.dtypes[tensor.same_as]}
    else:
        fine = set(tensor.dtypes)
    return [dtype for dtype in ("C128", "I16", "F8") if dtype not in fine][:1]


@pytest.mark.parametrize("name", NAMES)
def test_strides(make: Maker, name: str) -> None:
    operator = REGISTRY[name]
    creation = Creation(make, operator)
    for tensor, shape in creation.tensors():
        long = [dim for dim, size in enumerate(shape) if size > 1]
        if not long:
            continue
        dense = np.cumprod([1, *shape[:0:-1]])[::-1].tolist()
        if tensor.written:
            repeated = [0 if dim == long[-1] else step for dim, step in enumerate(dense)]
            bad = creation.describe(tensor, shape, strides=repeated)
            creation.refused(STRIDES, {tensor.name: bad})
        if tensor.layout == "dense" or (tensor.layout == "inner1" and shape[-1] > 1):
            bad = creation.describe(tensor, shape, strides=[2 * step for step in dense])
            creation.refused(STRIDES, {tensor.name: bad})


@pytest.mark.parametrize("name", NAMES)
def test_run(make: Maker, name: str) -> None:
    operator = REGISTRY[name]
    draw = Draw(operator, rules_of(operator), dtypes_of(operator)[0], "usual", 0)
    trial = Trial(make, draw)
    described = trial.described
    assert described.status == SUCCESS, make.rt.message()
    trial.load(trial.data(0))
    pointers = {}
    for pointer in operator.run.pointers:
        placed = (
            trial.tensors.get(pointer.tensor) if pointer.tensor else trial.extra.get(pointer.name)
        )
        if isinstance(placed, list) or pointer.array:
            return  # arrays of pointers have a test of their own
        pointers[pointer.name] = placed.address if placed else None

    def refused(status: str, given: dict[str, Any]) -> None:
        assert described.run(given, draw.scalars, None) == status, make.rt.message()
        assert make.rt.message().startswith(f"{operator.run.name}: "), make.rt.message()

    for pointer in operator.run.pointers:
        placed = trial.tensors.get(pointer.tensor)
        if pointer.tensor and placed is not None and placed.layout.span:
            refused(NULL, {**pointers, pointer.name: None})
    if described.workspace_size:
        described.workspace_size -= 1
        refused(WORKSPACE, pointers)
        described.workspace_size += 1
    kept = described.desc
    described.desc = ctypes.c_void_p()
    refused(NULL, pointers)
    described.desc = kept
    assert described.run(pointers, draw.scalars, None) == SUCCESS, make.rt.message()
    make.rt.DeviceSynchronize()
