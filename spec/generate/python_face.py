"""The Python face of the API: derived from the parameters' roles, for bindings and stubs.

Out parameters are returned; lists accept any iterable, and their counts are omitted; arrays filled
by C are returned as lists; a text buffer is returned as `str`. Addresses and handles are ints. Two
queries return a bool.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import Api
from ..model import PREFIX, Enum, Function, Param, SpecError, Struct

# Optional trailing arguments in Python, even if required in C.
DEFAULTS = {
    "flags": "0",
    "stream": "0",
    "hStream": "0",
    "kind": "infinirtMemcpyDefault",
    "mode": "infinirtStreamCaptureModeGlobal",
}
OTHER_DEFAULTS = {
    ("IpcOpenMemHandle", "flags"): "infinirtIpcMemLazyEnablePeerAccess",
}

# "Not ready" is a result of these, not an error.
QUERIES = ("StreamQuery", "EventQuery")
# These return a code instead of raising it.
CODES = ("GetLastError", "PeekAtLastError")

# Written in csrc/python/runtime/callbacks.cc, because they take Python callables.
BY_HAND: dict[str, Any] = {
    name: ast.parse(f"def {name}{signature}: ...").body[0]
    for name, signature in {
        "LaunchHostFunc": "(stream: _Handle, fn: Callable[[], object] | int,"
        " userData: _Address = None) -> None",
        "StreamAddCallback": "(stream: _Handle, callback: Callable[[int, Error], object],"
        " flags: int = 0) -> None",
        "UserObjectCreate": "(ptr: object, destroy: Callable[[Any], object] | int | None = None,"
        " initialRefcount: int = 1, flags: int = 1) -> int",
        "GraphAddHostNode": "(graph: _Handle, pDependencies: Iterable[_Handle],"
        " pNodeParams: HostNodeParams | Callable[[], object]) -> int",
        "GraphHostNodeSetParams": "(node: _Handle,"
        " pNodeParams: HostNodeParams | Callable[[], object]) -> None",
        "GraphExecHostNodeSetParams": "(hGraphExec: _Handle, node: _Handle,"
        " pNodeParams: HostNodeParams | Callable[[], object]) -> None",
    }.items()
}

# Additions to the docstring where Python differs from what the roles imply.
NOTES = {
    "StreamQuery": "Returns True when it has nothing left to do, False when it has.",
    "EventQuery": "Returns True when it has been reached, False when it has not.",
    "LaunchHostFunc": "`fn` is called without arguments; it may also be the address of a C"
    " function, which gets `userData`.",
    "StreamAddCallback": "`callback` is called with the stream and its state.",
    "UserObjectCreate": "`ptr` may be any object: it is kept alive, and given to `destroy`, if"
    " there is one, when the last reference goes.",
    "GraphAddHostNode": "A callable stands for itself; the graph, its clones and instantiations"
    " keep it alive.",
    "GraphHostNodeSetParams": "A callable is kept alive by the graph, together with the one it"
    " replaces.",
    "GraphExecHostNodeSetParams": "A callable is kept alive by the instantiated graph.",
    "GraphExecUpdate": "Graphs that differ too much are no exception: look at `result`.",
    "MemRangeGetAttribute": "The answer is a list of 32-bit numbers.",
}

INTEGERS = {
    "int",
    "unsigned int",
    "unsigned short",
    "unsigned char",
    "char",
    "long long",
    "unsigned long long",
    "size_t",
    "uint32_t",
    "uint64_t",
}


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def short(name: str) -> str:
    """A C name in Python: without prefix and `_t`."""
    return name.removeprefix(PREFIX).removesuffix("_t").removesuffix("_st").removesuffix("_enum")


@dataclass(frozen=True)
class Argument:
    """One argument of a Python function."""

    name: str
    annotation: str
    cpp: str = ""  # the type of the C++ parameter
    default: str = ""  # in C++
    python_default: str = ""
    none: bool = False  # None is allowed


def _written(arguments: Any) -> Iterator[Argument]:
    presets = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    for each, preset in zip(arguments.args, presets, strict=True):
        annotation, default = ast.unparse(each.annotation), ast.unparse(preset) if preset else ""
        is_optional = annotation in ("_Handle", "_Address")
        yield Argument(each.arg, annotation, "", "", default, is_optional)


class Types:
    """The C types of the API."""

    def __init__(self, api: Api) -> None:
        self.typedefs = {typedef.name: typedef.type for typedef in api.typedefs}
        self.enums = {enum.name: enum for enum in api.enums}
        self.structs = {struct.name: struct for struct in api.structs}
        self.constants = {macro.name: macro.value for macro in api.macros}
        self.constants |= {v.name: v.value for enum in api.enums for v in enum.values}
        # A struct or enum with a typedef is known by it.
        self._plain = {
            type_.split(" ", 1)[1]: name
            for name, type_ in self.typedefs.items()
            if type_.startswith(("struct ", "union ", "enum ")) and not type_.endswith("*")
        }

    def resolve(self, type_: str) -> str:
        """Without const, struct and enum; through typedefs, but for handles."""
        type_ = type_.removeprefix("const ").strip()
        for word in ("struct ", "union ", "enum "):
            type_ = type_.removeprefix(word)
        target = self.typedefs.get(type_, "")
        named = type_ in self.enums or type_ in self.structs
        if target and not named and not self.is_handle(type_) and not self.is_function(type_):
            return self.resolve(target)
        return type_

    def is_handle(self, type_: str) -> bool:
        return self.typedefs.get(type_, "").endswith("*")

    def is_function(self, type_: str) -> bool:
        return "(*)" in self.typedefs.get(type_, "")

    def python(self, item: Struct | Enum) -> str:
        return short(self._plain.get(item.name, item.name))

    def annotation(self, type_: str) -> str:
        """The Python form of a value of this type."""
        type_ = self.resolve(type_)
        if type_ in self.enums:
            return self.python(self.enums[type_])
        if type_ in self.structs:
            return self.python(self.structs[type_])
        if type_ == "float":
            return "float"
        if type_ == "char *":
            return "str"
        if (
            type_ in INTEGERS
            or type_.endswith("*")
            or self.is_handle(type_)
            or self.is_function(type_)
        ):
            return "int"
        raise SpecError(f"no Python form for the type {type_!r}")

    def value(self, expression: str) -> int:
        """The value of a C expression of the spec."""
        if expression == "NULL":
            return 0
        number = self.constants.get(expression)
        return int(expression, 0) if number is None else number


@dataclass(frozen=True)
class Face:
    """One function of the API in Python."""

    function: Function
    types: Types

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def doc(self) -> str:
        return " ".join(
            filter(None, (self.function.doc, NOTES.get(self.name, ""), self._unsupported))
        )

    @property
    def _unsupported(self) -> str:
        reason = self.function.unsupported
        return f"Raises unless the device's own driver offers it: {reason}." if reason else ""

    @cached_property
    def counts(self) -> frozenset[str]:
        """Parameters that count another one, and so are not arguments."""
        params = {param.name: param for param in self.function.params}
        counted = {
            param.count
            for param in self.function.params
            if param.role in ("list", "list?", "text")
            or (param.role == "fill" and params[param.count].is_pointer)
        }
        if any(self.is_borrowed(param) for param in self.function.params):
            counted.add(next(p.name for p in self.function.params if p.name.startswith("numDep")))
        return frozenset(counted)

    def is_borrowed(self, param: Param) -> bool:
        """An array owned by the library: `const T **`, counted by another out parameter."""
        return (
            param.role.startswith("out")
            and param.type.startswith("const ")
            and (param.type.endswith("**") and param.type != "const char **")
        )

    def pointee(self, param: Param) -> str:
        return param.type.removesuffix("*").strip()

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        if self.name in BY_HAND:
            return tuple(_written(BY_HAND[self.name].args))
        arguments: list[Argument] = []
        may_default = True
        for param in reversed(self.function.params):
            argument = self._argument(param)
            if not argument:
                continue
            default = OTHER_DEFAULTS.get((self.name, param.name)) or (
                DEFAULTS.get(param.name) if may_default and not param.is_pointer else ""
            )
            default = param.default or default or ""
            may_default = bool(default)
            arguments.append(
                Argument(
                    argument.name,
                    argument.annotation,
                    argument.cpp,
                    default,
                    str(self.types.value(default)) if default else "",
                    argument.none,
                )
            )
        return tuple(reversed(arguments))

    def _argument(self, param: Param) -> Argument | None:
        """Name and types; None if Python does not pass this parameter."""
        name, role = python_name(param.name), param.role
        if param.name in self.counts or role in ("out", "out?", "fill", "text"):
            return None
        type_ = self.types.resolve(param.type)
        const = param.type.startswith("const ")
        if role in ("list", "list?"):
            item = self.types.resolve(self.pointee(param))
            plain = self.types.is_handle(item) or item.endswith("*")
            annotation = "_Handle" if plain else self.types.annotation(item)
            if item in self.types.enums:
                annotation = "int"
            if role == "list?":
                cpp = f"std::optional<List<{item}>> "
                return Argument(name, f"Iterable[{annotation}] | None", cpp, none=True)
            return Argument(name, f"Iterable[{annotation}]", f"List<{item}> ")
        if role == "ptr" or (role.startswith("in") and param.type in ("const void *", "void **")):
            return Argument(
                name, "_Address", f"const Address<{str(not const).lower()}> &", none=True
            )
        if param.type == "const char *":
            return Argument(name, "str", "const char *")
        if role == "in" and param.type == "void *":
            return Argument(name, "int", "Int<uint64_t> ")
        if param.is_pointer:
            target = self.types.resolve(self.pointee(param))
            if target in self.types.structs:
                return Argument(
                    name, self.types.annotation(target), f"{'const ' * const}{target} &"
                )
            if target in self.types.enums:  # inout
                return Argument(name, "int", f"Code<{target}> ")
            raise SpecError(f"{self.name}: no Python form for {param}")
        if type_ in self.types.enums:
            return Argument(name, "int", f"Code<{type_}> ")
        if type_ in self.types.structs:
            return Argument(name, self.types.annotation(type_), f"const {type_} &")
        if self.types.is_handle(type_):
            return Argument(name, "_Handle", f"Handle<{type_}> ", none=True)
        if self.types.is_function(type_):
            return Argument(name, "int", "Stored ", none=True)
        if type_ in INTEGERS:
            return Argument(name, "int", f"Int<{type_}> ")
        raise SpecError(f"{self.name}: no Python form for {param}")

    @cached_property
    def results(self) -> tuple[Param, ...]:
        """The parameters whose values are returned."""
        found = []
        for param in self.function.params:
            exchanged = (
                param.role == "inout"
                and self.types.resolve(self.pointee(param)) in self.types.enums
            )
            returned = exchanged or param.role in ("out", "out?", "fill", "text")
            if returned and param.name not in self.counts:
                found.append(param)
        return tuple(found)

    @cached_property
    def returns(self) -> str:
        """The annotation of the result."""
        if self.name in BY_HAND:
            return ast.unparse(BY_HAND[self.name].returns)
        if self.name in QUERIES:
            return "bool"
        if self.name in CODES:
            return "Error"
        if self.function.returns == "const char *":
            return "str"
        results = [self._result(param) for param in self.results]
        if len(results) > 1:
            return f"tuple[{', '.join(results)}]"
        return results[0] if results else "None"

    def _result(self, param: Param) -> str:
        if param.role == "text":
            return "str"
        if self.is_borrowed(param):
            return f"list[{self.types.annotation(self.pointee(param).removesuffix('*').strip())}]"
        if param.role == "fill":
            return f"list[{self.types.annotation(self.pointee(param))}]"
        if param.type == "void *":
            return "list[int]" if self.name == "MemRangeGetAttribute" else "int"
        if param.type == "const char **":
            return "str"
        return self.types.annotation(self.pointee(param))

    @property
    def signature(self) -> str:
        """The signature in a stub, without a colon."""
        arguments = [
            f"{a.name}: {a.annotation}" + (f" = {a.python_default}" if a.python_default else "")
            for a in self.arguments
        ]
        return f"def {self.name}({', '.join(arguments)}) -> {self.returns}"


def faces(api: Api) -> dict[str, list[Face]]:
    """All functions by group."""
    types = Types(api)
    return {group.name: [Face(f, types) for f in group.functions] for group in api.groups}
