"""Reads the text blocks of the spec into `Api` and `First`, and checks that they fit together."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from . import first_generation, model, runtime
from .model import Enum, Function, Group, Macro, SpecError, Struct, Typedef


@dataclass(frozen=True)
class Api:
    """The aligned face."""

    groups: tuple[Group, ...]
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]
    typedefs: tuple[Typedef, ...]
    macros: tuple[Macro, ...]

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions that the header declares."""
        return tuple(function for group in self.groups for function in group.functions)

    @cached_property
    def entries(self) -> tuple[Function, ...]:
        """Functions with their own symbol: all except aliases."""
        return tuple(function for function in self.functions if not function.same_as)

    @cached_property
    def by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    @cached_property
    def errors(self) -> Enum:
        return next(enum for enum in self.enums if enum.name == "infinirtError")

    @cached_property
    def renamed(self) -> tuple[Function, ...]:
        """Functions that the header maps to a symbol of another name."""
        return tuple(function for function in self.functions if function.symbol != function.name)


@dataclass(frozen=True)
class First:
    """The first-generation face."""

    functions: tuple[Function, ...]
    core_enums: tuple[Enum, ...]  # infinicore.h
    enums: tuple[Enum, ...]  # infinirt.h
    structs: tuple[Struct, ...]
    handles: tuple[Typedef, ...]
    dtype_bytes: dict[str, int]
    status_of_error: dict[str, str]  # enumerator of infinirtError -> enumerator of infiniStatus_t

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(function.name for function in self.functions)

    def enum(self, name: str) -> Enum:
        return next(enum for enum in self.core_enums + self.enums if enum.name == name)

    @cached_property
    def device_kinds(self) -> dict[str, int]:
        """Names of the device types ("cpu", ...) and their numbers."""
        values = self.enum("infiniDevice_t").values
        prefix = "INFINI_DEVICE_"
        return {v.name.removeprefix(prefix).lower(): v.value for v in values[:-1]}


def call_of(function: Function) -> tuple[str, list[str]] | None:
    """First generation: name and arguments of the aligned call behind it; None if by hand."""
    if "by hand" in function.tags:
        return None
    if call := function.tags.get("calls"):
        match = re.fullmatch(r"(\w+)\((.*)\)", call)
        if not match:
            raise SpecError(f"{function.name}: not a call: {call!r}")
        return match[1], match[2].split(", ") if match[2] else []
    return function.name, [param.name for param in function.params]


def load_first() -> First:
    source = first_generation
    functions = tuple(
        replace(function, symbol=function.name, returns="infiniStatus_t")
        for function in model.parse_functions(source.FUNCTIONS, "first_generation")
    )
    status = {}
    for line in source.STATUS_OF_ERROR.strip().splitlines():
        name, errors = line.split(" = ")
        status.update({f"infinirt{error}": f"INFINI_STATUS_{name}" for error in errors.split()})
    return First(
        functions=functions,
        core_enums=model.parse_enums(source.CORE_ENUMS),
        enums=model.parse_enums(source.ENUMS),
        structs=model.parse_structs(source.STRUCTS),
        handles=model.parse_typedefs(source.HANDLES),
        dtype_bytes=source.DTYPE_BYTES,
        status_of_error=status,
    )


def load_api(first: First) -> Api:
    groups = tuple(_load_group(name, first) for name in runtime.GROUPS)
    parts: dict[str, list[Any]] = {"ENUMS": [], "STRUCTS": [], "TYPEDEFS": [], "MACROS": []}
    parsers = {
        "ENUMS": model.parse_enums,
        "STRUCTS": model.parse_structs,
        "TYPEDEFS": model.parse_typedefs,
        "MACROS": model.parse_macros,
    }
    for name in runtime.TYPES:
        module = import_module(f"{runtime.__name__}.{name}")
        for part, parse in parsers.items():
            parts[part] += parse(getattr(module, part, ""))
    api = Api(groups, *(tuple(part) for part in parts.values()))
    _check(api, first)
    return api


def _load_group(name: str, first: First) -> Group:
    module = import_module(f"{runtime.__name__}.{name}")
    headline, _, doc = (module.__doc__ or "").strip().partition("\n")
    title, _, more = headline.rstrip(".").partition(": ")
    doc = f"{more[:1].upper()}{more[1:]}. {doc}" if more else doc
    reason = getattr(module, "UNSUPPORTED", "")  # of all functions in the file not tagged [served]
    functions = []
    for function in model.parse_functions(module.FUNCTIONS, name):
        if reason and "served" not in function.tags:
            function = replace(function, tags={"unsupported": reason, **function.tags})
        symbol = function.tags.get("symbol") or function.name
        if function.name in first.names:
            symbol = f"{function.name}_v2"  # the plain symbol is the first generation's
        functions.append(replace(function, symbol=symbol))
    return Group(name, title, " ".join(doc.split()), tuple(functions))


def _check(api: Api, first: First) -> None:
    if len(api.by_name) != len(api.functions):
        raise SpecError("a function is declared twice")
    symbols = [function.symbol for function in api.entries] + [f.symbol for f in first.functions]
    if twice := {symbol for symbol in symbols if symbols.count(symbol) > 1}:
        raise SpecError(f"symbols used twice: {sorted(twice)}")
    for function in api.functions:
        if function.same_as and api.by_name[function.same_as].symbol != function.symbol:
            raise SpecError(f"{function.name} and {function.same_as} have different symbols")
    errors = {value.name for value in api.errors.values}
    if unknown := set(first.status_of_error) - errors:
        raise SpecError(f"a status for unknown errors: {sorted(unknown)}")
    for function in first.functions:
        call = call_of(function)
        if call and len(api.by_name[call[0]].params) != len(call[1]):
            raise SpecError(f"{function.name}: {call[0]} takes another number of arguments")
