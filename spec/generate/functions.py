"""Python functions with torch's arguments that run one operator: the `public` of declarations.

Each family has a module in `infinicore/functions/declared` and in the folder of that name of
`infinicore/nn/functional`. It looks like hand-written code: stubs, methods and reference pages are
derived from it as for all other functions.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .. import Api, First
from ..operators import FAMILIES, OPERATORS
from ..operators.language.model import Operator
from ..operators.language.public import Parameter, Public
from . import text
from .function_examples import example
from .operator_face import Face, Keyword

PART = "python"

FOLDERS = {False: "functions", True: "nn/functional"}
RESULTS = "infinicore.functions._results"
CHECKS = "infinicore.functions._checks"
WIDTH = 92  # of help


def files(api: Api, first: First) -> dict[str, str]:
    return {f"python/infinicore/{path}": source for path, source in sources().items()}


def sources() -> dict[str, str]:
    """The modules by their paths in the package."""
    found: dict[str, str] = {}
    for functional, folder in FOLDERS.items():
        for family in FAMILIES:
            functions = [each for each in declared(functional) if each.operator.family == family]
            if functions:
                found[f"{folder}/declared/{family}.py"] = _module(family, functions)
        found[f"{folder}/declared/__init__.py"] = (
            f'"""Functions that operators declare. {text.NOTE}"""'
        )
    return found


def declared(functional: bool) -> list[Declared]:
    return [
        Declared(operator, public)
        for operator in OPERATORS
        for public in operator.public
        if public.functional == functional
    ]


# ---- One function -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declared:
    operator: Operator
    public: Public

    @cached_property
    def face(self) -> Face:
        return Face(self.operator)

    @cached_property
    def values(self) -> dict[str, Keyword]:
        """Parameters that set attributes."""
        keywords = {each.name: each for each in self.face.keywords}
        return {p.name: keywords[p.name] for p in self.public.parameters if p.name in keywords}

    @cached_property
    def inputs(self) -> tuple[Parameter, ...]:
        """Parameters that are the operator's inputs, in its order."""
        others = (*self.values, "inplace", "out")
        found = tuple(p for p in self.public.parameters if p.name not in others)
        needed = [slot for slot in self.face.inputs if not slot.optional]
        if not len(needed) <= len(found) <= len(self.face.inputs):
            raise ValueError(
                f"{self.operator.name}: public {self.public.name} has {len(found)} inputs:"
                f" expected {len(needed)}"
            )
        return found

    @cached_property
    def takes_numbers(self) -> bool:
        """Whether inputs of one type and shape may be numbers."""
        tensors = self.operator.tensors
        is_map = all(each.shapes == (("*S",),) for each in tensors)
        return is_map and len(self.inputs) > 1

    # ---- Source ----

    def annotation(self, parameter: Parameter) -> str:
        if parameter.annotation:
            return parameter.annotation
        if parameter.name == "out":
            return "Any"
        if parameter.name == "inplace":
            return "bool"
        if parameter.name in self.values:
            # Dimensions are checked separately, with better messages.
            kind = self.values[parameter.name].annotation
            return "Any" if "Sequence" in kind else kind
        if parameter.default == "None":
            return "Tensor | None"
        return "Operand" if self.takes_numbers else "Tensor"

    @cached_property
    def words(self) -> list[str]:
        """The parameters as source text."""
        words = []
        has_star = False
        for parameter in self.public.parameters:
            if parameter.keyword_only and not has_star:
                words.append("*")
                has_star = True
            words.append(self._word(parameter))
        if not self.public.has("out"):
            words += ["out: Any = None"] if has_star else ["*", "out: Any = None"]
        return words

    def _word(self, parameter: Parameter) -> str:
        default = f" = {parameter.default}" if parameter.default else ""
        return f"{parameter.name}: {self.annotation(parameter)}{default}"

    @property
    def first(self) -> str:
        return self.inputs[0].name

    def value(self, name: str) -> str:
        """What an attribute is set to."""
        kind = self.values[name].annotation
        if name == "dim":
            check = "folded_dims" if "Sequence" in kind else "dim_of"
            return f'{check}("{self.public.name}", {self.first}, dim)'
        return f"float({name})" if kind == "float" else name

    @cached_property
    def body(self) -> str:
        words = [f'"{self.operator.name}"', *(parameter.name for parameter in self.inputs)]
        words += [f"{name}={self.value(name)}" for name in self.values]
        words.append(f"out={self.first} if inplace else out" if self.in_place else "out=out")
        call = f"emit({', '.join(words)})"
        return f"{self.public.result}(*{call})" if self.public.is_named else call

    @property
    def in_place(self) -> bool:
        return self.public.has("inplace")

    @property
    def source(self) -> str:
        several = "Any" if self.public.is_named else "tuple[Tensor, ...]"
        kind = several if self.public.result else "Tensor"
        head = _definition(self.public.name, self.words, kind)
        made = (
            f"@function\n{head}\n{_quoted(self.help(self.public.name))}\n    return {self.body}\n"
        )
        return f"{made}\n\n{self._in_place_source}" if self.public.in_place else made

    @property
    def _in_place_source(self) -> str:
        """The in-place form, which has no parameter `inplace`."""
        name = self.public.in_place
        given = [p for p in self.public.parameters if p.name not in ("inplace", "out")]
        head = _definition(name, [self._word(parameter) for parameter in given], "Tensor")
        passed = ", ".join(f"{p.name}={p.name}" for p in given[1:])
        arguments = ", ".join(filter(None, [self.first, passed, "inplace=True"]))
        lines = [f"`{self.public.name}` in place.", "", *self.example(name)]
        call = f"{self.public.name}({arguments})"
        return f"{head}\n{_quoted(lines)}\n    return {call}\n"

    # ---- Help ----

    def help(self, name: str) -> list[str]:
        if self.public.text:
            return self.public.text.splitlines()
        renamed = dict(zip((s.name for s in self.face.inputs), self.inputs, strict=False))
        said = " ".join(self.operator.doc.split())
        said = re.sub(rf"\b({'|'.join(renamed)})\b", lambda match: renamed[match[1]].name, said)
        if self.takes_numbers:
            said += " Operands are broadcast."
        lines = textwrap.wrap(said, WIDTH, break_on_hyphens=False)
        return [*lines, "", *self.example(name)]

    def example(self, name: str) -> list[str]:
        prefix = "F" if self.public.functional else "infinicore"
        defaults = {
            p.name: float(p.default) for p in self.public.parameters if p.name in self.values
        }
        takes_numbers = self.takes_numbers and self.annotation(self.inputs[-1]) == "Operand"
        return example(self.operator, f"{prefix}.{name}", takes_numbers, defaults)


def _definition(name: str, words: list[str], result: str) -> str:
    line = f"def {name}({', '.join(words)}) -> {result}:"
    if len(line) <= text.WIDTH:
        return line
    return f"def {name}(\n    {', '.join(words)}\n) -> {result}:"


def _quoted(lines: list[str]) -> str:
    body = "\n".join(lines).rstrip().replace("\\", "\\\\")
    close = "\n" if "\n" in body else ""
    return textwrap.indent(f'"""{body}{close}"""', "    ")


# ---- A module -----------------------------------------------------------------------------------


def _module(family: str, functions: list[Declared]) -> str:
    body = "\n\n".join(each.source for each in functions)
    other = "".join(
        f"{alias} = {each.public.name}\n" for each in functions for alias in each.public.aliases
    )
    imports = "\n".join(_imports(body, functions))
    return f'''\
"""{family.capitalize()}: functions that run one operator.

{text.NOTE}
"""

from __future__ import annotations

from typing import Any

{imports}

{body}
{chr(10) + other if other else ""}'''


def _imports(body: str, functions: list[Declared]) -> Iterator[str]:
    yield "from infinicore._emit import emit"
    operand = "Operand, " if ": Operand" in body else ""
    yield f"from infinicore._function import {operand}function"
    yield "from infinicore._tensor import Tensor"
    if checks := [name for name in ("dim_of", "folded_dims") if f"{name}(" in body]:
        yield f"from {CHECKS} import {', '.join(checks)}"
    if results := sorted({each.public.result for each in functions if each.public.is_named}):
        yield f"from {RESULTS} import {', '.join(results)}"
