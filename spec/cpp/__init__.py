"""The functions of infinicore::op: names, types and defaults as C++ programs use them.

operators.json has a list of declarations for each header below infinicore/ops/. `Class::execute` is
a static member of a class; the rest are functions, enumerations and structures.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TENSORS = ("Tensor", "std::optional<Tensor>", "std::vector<Tensor>")


class DeclarationError(ValueError):
    """A declaration that cannot be parsed, or that matches no operator."""


@dataclass(frozen=True)
class Argument:
    type: str
    name: str
    default: str = ""

    @property
    def plain(self) -> str:
        """The type without const and reference."""
        return re.sub(r"^const |\s*&$", "", self.type).strip()

    @property
    def is_tensor(self) -> bool:
        return self.plain in TENSORS

    def declare(self, with_default: bool) -> str:
        space = "" if self.type.endswith(("&", "*")) else " "
        default = f" = {self.default}" if self.default and with_default else ""
        return f"{self.type}{space}{self.name}{default}"


@dataclass(frozen=True)
class Function:
    header: str  # "add", "distributed/allreduce"
    result: str
    owner: str  # the class that it is a member of, or ""
    name: str
    arguments: tuple[Argument, ...]

    @property
    def full_name(self) -> str:
        return f"{self.owner}::{self.name}" if self.owner else self.name

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(argument.plain for argument in self.arguments)

    @property
    def returned(self) -> int:
        """How many tensors it returns; 0: it writes into its arguments."""
        if self.result == "Tensor":
            return 1
        return self.result.count("Tensor") if "<Tensor, " in self.result else 0


@dataclass(frozen=True)
class Header:
    path: str
    types: tuple[str, ...]  # enumerations and structures, in C++
    functions: tuple[Function, ...]

    @property
    def namespace(self) -> str:
        return "infinicore::op::distributed" if "/" in self.path else "infinicore::op"

    @cached_property
    def owners(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            if function.owner:
                found.setdefault(function.owner, []).append(function)
        return found


def _split(text: str) -> list[str]:
    """Splits at commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<({") - (letter in ">)}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str) -> Argument:
    declared, _, default = text.partition(" = ")
    match = re.fullmatch(r"(.+?[\s&*])\s*(\w+)", declared)
    if not match:
        raise DeclarationError(f"not an argument: {text!r}")
    return Argument(match[1].strip(), match[2], default)


def _function(header: str, text: str) -> Function:
    match = re.fullmatch(r"(.+?) (?:(\w+)::)?(\w+)\((.*)\)", text)
    if not match:
        raise DeclarationError(f"{header}: not a function: {text!r}")
    arguments = tuple(map(_argument, _split(match[4])))
    return Function(header, match[1], match[2] or "", match[3], arguments)


def _header(path: str, items: list[str]) -> Header:
    types = tuple(item for item in items if item.startswith(("enum ", "struct ")))
    functions = tuple(_function(path, item) for item in items if item not in types)
    return Header(path, types, functions)


def _load() -> tuple[Header, ...]:
    text = (Path(__file__).parent / "operators.json").read_text(encoding="utf-8")
    return tuple(_header(path, items) for path, items in json.loads(text).items())


HEADERS = _load()
