"""Calls of operators with one bad argument, derived from the declarations.

    python -m operators.bad_calls PART START     makes a part's calls from number START on

Every function of an operator is called with a case that its declaration allows, in which one
argument is replaced by each of the bad values that its type suggests. What a create function takes
is run. The process may die in a call; the number of that call is on the last line that it printed.

Left out: wild addresses of data, which the device would have to be asked about, and of lists that a
case has no items for, which are not read.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from kit import Maker, open_runtime
from kit.drawing import Draw
from kit.operator_runs import Trial
from kit.operators import C_TYPES, Handle, functions, list_of, tensor_descriptor
from spec.operators import OPERATORS, REGISTRY
from spec.operators.language.model import DTYPES, Operator, Param, Pointer, Tensor

from .test_operators import dtypes_of, rules_of

SUPPORTED = [operator for operator in OPERATORS if not operator.unsupported]
SIZE = 16  # operators of a part
PARTS = range((len(SUPPORTED) + SIZE - 1) // SIZE)
SUCCESS = "INFINI_STATUS_SUCCESS"
UNREAD = "not read"

WILD = {"wild": 0xDEAD0000, "ones": (1 << 64) - 1, "misaligned": 0xDEAD0001}
NUMBERS = {"NaN": float("nan"), "infinite": float("inf"), "huge": 1.7e308, "negative": -1.0}
MOST_WORKSPACE = 1 << 28  # more is not requested


class Case(NamedTuple):
    operator: str
    function: str  # create, workspace, run or destroy
    argument: str
    value: str


def integers(c_type: str) -> dict[str, int]:
    bits = 8 * ctypes.sizeof(C_TYPES.get(c_type.replace("const ", "").strip(), ctypes.c_int))
    return {"zero": 0, "negative": -1, "large": (1 << (bits - 1)) - 1, "smallest": -(1 << bits - 1)}


def param_values(param: Param) -> list[str]:
    if param.kind == "text":
        return ["null", "nonsense", "long", *WILD]
    if param.kind in ("list", "numbers"):
        return ["null", "negative items", "large items", *WILD]
    return list(NUMBERS) if param.kind == "number" else list(integers(param.type))


TENSORS = ["null", *WILD, "destroyed", "other kind", "dtypes", "ranks", "shape", "strides"]
LISTS = ["null", *WILD, "null item", "destroyed item", "other kind item"]
STREAMS = ["wild", "ones", "destroyed", "other kind", "other device"]


def cases(part: int) -> Iterator[Case]:
    for operator in SUPPORTED[part * SIZE : (part + 1) * SIZE]:
        case = partial(Case, operator.name)
        yield from (case("create", "handle", value) for value in ["null", *WILD, "destroyed"])
        yield from (case("create", "handle", value) for value in ("other kind", "other device"))
        yield from (case("create", "desc_ptr", value) for value in ["null", *WILD])
        for param in operator.create:
            if isinstance(param, Param):
                values = param_values(param)
            else:
                values = LISTS if param.array else TENSORS
            yield from (case("create", param.name, value) for value in values)
        descriptors = ["null", *WILD, "destroyed", "other kind"]
        if operator.workspace:
            yield from (case("workspace", "desc", value) for value in descriptors)
            yield from (case("workspace", "size", value) for value in ["null", *WILD])
            yield from (case("run", "workspace", value) for value in ("null", "short", "none"))
        yield from (case("run", "desc", value) for value in descriptors)
        for each in operator.runs[rules_of(operator).run].params:
            if isinstance(each, Pointer):
                values = ["null", "null item"] if each.array else ["null"]
            else:
                values = param_values(each)
            yield from (case("run", each.name, value) for value in values)
        yield from (case("run", "stream", value) for value in STREAMS)
        yield from (case("destroy", "desc", value) for value in [*descriptors, "twice"])


class UnreadError(Exception):
    """The list has no items in this case."""


class Scene:
    """A valid case, with everything that a bad argument may need."""

    def __init__(self, rt: Any, operator: Operator) -> None:
        self.rt, self.operator, self.make = rt, operator, Maker(rt)
        self.trial = Trial(self.make, Draw(operator, rules_of(operator), self._dtype(), "usual", 0))
        self.described = self.trial.described
        assert self.described.status == SUCCESS, rt.message()
        self.trial.load(self.trial.data(0))
        self.calls = functions(operator)
        self.keep: list[Any] = []

    def _dtype(self) -> str:
        kinds = dtypes_of(self.operator)
        return "F32" if "F32" in kinds else kinds[0]

    def kept(self, value: Any) -> Any:
        self.keep.append(value)
        return value

    # ---- Bad values -----------------------------------------------------------------------------

    def handle(self, value: str) -> Any:
        if value == "other device":
            self.rt.SetDevice(1)
            made = Handle(self.make).value
            self.rt.SetDevice(0)
            return made
        if value == "destroyed":
            maker = Maker(self.rt)
            gone = Handle(maker).value
            maker.end()
            return gone
        if value == "other kind":
            return tensor_descriptor(self.make, DTYPES.index("F32"), [2], None)
        return WILD.get(value)

    def tensor(self, value: str, tensor: Tensor | None = None, given: Any = None) -> Any:
        maker = self.make
        if value == "other kind":
            return Handle(maker).value
        if value == "destroyed":
            maker = Maker(self.rt)
            gone = tensor_descriptor(maker, DTYPES.index("F32"), [2], None)
            maker.end()
            return gone
        if value in ("dtypes", "ranks", "shape", "strides"):
            assert tensor
            layout = given.layout if given else None
            shape = list(layout.shape) if layout else [2, 3]
            dtype = given.dtype if given else "F32"
            strides = None
            if value == "dtypes":
                allowed = {*tensor.dtypes, dtype, DTYPES[0]}  # the first stands for none
                dtype = next((name for name in reversed(DTYPES) if name not in allowed), dtype)
            elif value == "ranks":
                shape = [*shape, *[1] * (9 - len(shape))]
            elif value == "shape":
                shape = [*shape, 3]
            else:
                strides = [-(1 << 40)] * len(shape)
            return tensor_descriptor(maker, DTYPES.index(dtype), shape, strides)
        return WILD.get(value)

    def listed(self, value: str, good: Any) -> Any:
        """An array of handles, one of which is bad."""
        if not value.endswith(" item"):
            return WILD.get(value)
        items = list(good)
        items[-1] = self.tensor(value.removesuffix(" item"))
        return self.kept((ctypes.c_void_p * len(items))(*items))

    def param(self, param: Param, value: str, good: Any) -> Any:
        if value in WILD and param.kind in ("list", "numbers") and not good:
            raise UnreadError
        if value in WILD:
            return WILD[value]
        if value == "null":
            return None
        if param.kind == "text":
            return self.kept(b"nonsense" if value == "nonsense" else b"x" * 5000)
        if param.kind in ("list", "numbers"):
            # As long as the good one, because a shorter one could not be detected.
            item = -7 if value == "negative items" else 1 << 30
            if param.element in ("uint8_t", "bool", "char"):
                item = 255 if item > 0 else 0
            return self.kept(list_of(param, [item] * (len(good) if good is not None else 1)))
        return NUMBERS[value] if param.kind == "number" else integers(param.type)[value]

    # ---- Calls ----------------------------------------------------------------------------------

    def create(self, argument: str, value: str) -> str:
        trial, made = self.trial, ctypes.c_void_p()
        given: dict[str, Any] = {"handle": Handle(self.make).value, "desc_ptr": ctypes.byref(made)}
        changed_tensor = False
        if argument == "handle":
            given["handle"] = self.handle(value)
        if argument == "desc_ptr":
            given["desc_ptr"] = WILD.get(value)
        for param in self.operator.create:
            good = self.described._argument(param, trial.tensors, trial.draw.attributes)
            if param.name == argument and isinstance(param, Param):
                good = self.param(param, value, trial.draw.attributes[param.name])
            elif param.name == argument and param.array:
                changed_tensor, good = True, self.listed(value, good)
            elif param.name == argument:
                changed_tensor = True
                good = self.tensor(value, param, trial.tensors[param.name])
            given[param.name] = good
        status = self.calls["create"](*given.values())
        if status != SUCCESS:
            return status
        self.make.later(self.calls["destroy"], made)
        if not changed_tensor and argument != "handle":
            self.run_made(made)
        return status

    def run_made(self, made: Any) -> None:
        """An accepted attribute must not crash the run either. The data still fit."""
        size = ctypes.c_size_t()
        if self.operator.workspace:
            self.calls["workspace"](made, ctypes.byref(size))
        if size.value > MOST_WORKSPACE:
            return
        memory = self.make.buffer(size.value).address if size.value else None
        arguments = self.run_arguments()
        arguments["desc"] = made
        if self.operator.workspace:
            arguments["workspace"], arguments["workspace_size"] = memory, size.value
        self.calls["runs"][self.described.run_number](*arguments.values())
        self.rt.code.DeviceSynchronize()

    def run_arguments(self) -> dict[str, Any]:
        trial, described = self.trial, self.described
        made: dict[str, Any] = {"desc": described.desc}
        if self.operator.workspace:
            address = described.workspace.address if described.workspace else None
            made |= {"workspace": address, "workspace_size": described.workspace_size}
        pointers = trial.pointers()
        for param in self.operator.runs[described.run_number].params:
            value = pointers[param.name] if isinstance(param, Pointer) else None
            if isinstance(param, Param):
                value = trial.draw.scalars[param.name]
                if param.kind in ("list", "numbers"):
                    value = list_of(param, value)
            elif isinstance(value, list):
                value = (ctypes.c_void_p * max(len(value), 1))(*value)
            made[param.name] = self.kept(value)
        return made | {"stream": None}

    def run(self, argument: str, value: str) -> str:
        given = self.run_arguments()
        if argument == "desc":
            given["desc"] = self.descriptor(value)
        elif argument == "workspace" and "workspace" in given:
            if value != "short":
                given["workspace"] = None
            if value != "null":
                given["workspace_size"] = max(given["workspace_size"] - 1, 0)
        elif argument == "stream":
            given["stream"] = self.stream(value)
        else:
            [param] = [
                p
                for p in self.operator.runs[self.described.run_number].params
                if p.name == argument
            ]
            if isinstance(param, Param):
                given[argument] = self.param(param, value, self.trial.draw.scalars[argument])
            elif value == "null" or not given[argument]:
                given[argument] = None
            else:
                items = list(given[argument])
                items[-1] = None
                given[argument] = self.kept((ctypes.c_void_p * len(items))(*items))
        status = self.calls["runs"][self.described.run_number](*given.values())
        if status == SUCCESS:
            self.rt.code.DeviceSynchronize()
        return str(status)

    def stream(self, value: str) -> Any:
        if value == "other kind":
            return self.make.event()
        if value == "destroyed":
            gone = self.rt.StreamCreate()
            self.rt.StreamDestroy(gone)
            return gone
        if value == "other device":
            self.rt.SetDevice(1)
            made = self.make.stream()
            self.rt.SetDevice(0)
            return made
        return WILD[value]

    def descriptor(self, value: str) -> Any:
        if value == "destroyed":
            other = Scene(self.rt, self.operator)
            gone = other.described.desc.value
            other.make.end()
            return gone
        return self.handle(value)

    def workspace(self, argument: str, value: str) -> str:
        size = ctypes.c_size_t()
        if argument == "desc":
            return self.calls["workspace"](self.descriptor(value), ctypes.byref(size))
        return self.calls["workspace"](self.described.desc, WILD.get(value))

    def destroy(self, _: str, value: str) -> str:
        if value != "twice":
            return self.calls["destroy"](self.descriptor(value))
        self.calls["destroy"](self.described.desc)
        return self.calls["destroy"](self.described.desc)


def main(part: int, start: int) -> None:
    rt = open_runtime()
    for number, case in enumerate(cases(part)):
        if number < start:
            continue
        scene = Scene(rt, REGISTRY[case.operator])
        rt.code.GetLastError()
        os.write(1, f"{number}\n".encode())  # unbuffered: it must be out before the call
        try:
            status = getattr(scene, case.function)(case.argument, case.value)
        except UnreadError:
            status = UNREAD
        message = rt.message() if status not in (SUCCESS, UNREAD) else ""
        answer = {"number": number, "status": status, "message": message}
        os.write(1, (json.dumps(answer) + "\n").encode())
        scene.make.end()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
