"""The changes of a newer CUDA header to the declarations in ours, in the form of
spec/cuda13_differences.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from header_facts import Facts, Struct

Difference = dict[str, list[str]]  # heading -> lines below it


def between(old: Facts, new: Facts, ours: Facts) -> dict[str, Difference]:
    """All changes to names that `ours` declares, and all new functions."""
    return {
        "FUNCTIONS": _functions(old, new, ours),
        "ENUMS": _enums(old, new, ours),
        "STRUCTS": _structs(old, new, ours),
        "NAMES": _names(old, new, ours),
    }


def infinirt(text: str) -> str:
    return text.replace("cuda", "infinirt")


def _functions(old: Facts, new: Facts, ours: Facts) -> Difference:
    lines = []
    for name, (_, params) in new.functions.items():
        if name not in old.functions:
            lines.append(f"+ {name.removeprefix('cuda')}")
        elif name in ours.functions and new.functions[name] != old.functions[name]:
            arguments = ", ".join(_declare(type_, param) for type_, param in params)
            lines.append(f"~ {name.removeprefix('cuda')}({infinirt(arguments)})")
    lines += [f"- {n.removeprefix('cuda')}" for n in ours.functions if n not in new.functions]
    return {line: [] for line in lines}


def _enums(old: Facts, new: Facts, ours: Facts) -> Difference:
    found = {}
    for name in ours.enums:
        before, after = old.enums[name], new.enums.get(name, {})
        lines = [f"- {e}" for e in before if e not in after]
        lines += [f"+ {e} = {v}" for e, v in after.items() if e not in before]
        lines += [f"~ {e} = {v}" for e, v in after.items() if before.get(e, v) != v]
        if lines:
            found[infinirt(name)] = [infinirt(line) for line in lines]
    return found


def _structs(old: Facts, new: Facts, ours: Facts) -> Difference:
    found: Difference = {}
    for name in ours.structs:
        before, after = old.structs[name], new.structs.get(name)
        if after is None:
            found[f"- {infinirt(name)}"] = []
        elif before != after:
            head = f"{infinirt(name)}: {before.size} -> {after.size} bytes"
            found[head] = [infinirt(line) for line in _fields(before, after)]
    return found


def _fields(before: Struct, after: Struct) -> Iterable[str]:
    old = [_declare(type_, path) for path, type_, _ in before.fields]
    new = [_declare(type_, path) for path, type_, _ in after.fields]
    yield from (f"- {line}" for line in old if line not in new)
    yield from (f"+ {line}" for line in new if line not in old)


def _names(old: Facts, new: Facts, ours: Facts) -> Difference:
    lines = []
    tables: list[tuple[Any, Any, Any]] = [
        (old.typedefs, new.typedefs, ours.typedefs),
        (old.macros, new.macros, ours.macros),
    ]
    for before, after, declared in tables:
        for name in declared:
            if name not in before or before[name] == after.get(name):
                continue
            lines.append(f"~ {name} = {after[name]}" if name in after else f"- {name}")
    return {infinirt(line): [] for line in lines}


def _declare(type_: str, name: str) -> str:
    type_, _, dims = type_.partition("[")
    return (type_ + name if type_.endswith("*") else f"{type_} {name}") + (dims and f"[{dims}")
