"""The public names of an operator: functions and methods that take torch's arguments.

    public="nn.functional.mish(input, inplace=False)"

    public='''
        acos arccos(input)
        nn.functional.relu relu_(input, inplace=False)
        cummax(input, dim) -> Ordered
        clamp_min(input: Tensor, min)
            No element below a bound.
    '''

One line for each function, or more up to the closing bracket: its names, of which the first is that
of the function and the others are further names of it, then its parameters. Names stand in
`infinicore` unless `nn.functional.` comes before them. A name that ends with `_` is the form that
writes into its first argument.

A parameter that is called like an attribute of the operator sets that attribute. The other ones are
the operator's inputs, in order; each takes a tensor, or a number too if the operator is elementwise
and has several inputs of one type. `inplace` stands for `out=input`. A result is written to `out`,
which is a keyword unless the parameters say otherwise. Behind `->` stands the named tuple that
holds several results, or `tuple`.

Help comes from the operator's text, with the names of the inputs replaced by those of the
parameters, and an example from its definition. Indented lines below a function replace both.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

FUNCTIONAL = "nn.functional."
_LINE = re.compile(r"((?:[\w.]+ +)*[\w.]+)\((.*)\)(?: -> (\w+))?")


@dataclass(frozen=True)
class Parameter:
    name: str
    annotation: str  # "" where the operator tells
    default: str  # Python text; "" if it is required
    keyword_only: bool


@dataclass(frozen=True)
class Public:
    """One public function."""

    functional: bool  # of infinicore.nn.functional, else of infinicore
    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    result: str  # what holds several results: a named tuple, "tuple", or ""
    text: str  # help; "" where the operator tells

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def aliases(self) -> tuple[str, ...]:
        return tuple(name for name in self.names[1:] if name != self.in_place)

    @property
    def in_place(self) -> str:
        """The name of the in-place form, or ""."""
        return next((name for name in self.names[1:] if name.endswith("_")), "")

    @property
    def is_named(self) -> bool:
        return self.result not in ("", "tuple")

    def has(self, name: str) -> bool:
        return any(parameter.name == name for parameter in self.parameters)


def parse_public(text: str) -> tuple[Public, ...]:
    found: list[tuple[str, list[str]]] = []
    for line in textwrap.dedent(text).strip().splitlines():
        if found and found[-1][0].count("(") > found[-1][0].count(")"):  # continues in this line
            found[-1] = (f"{found[-1][0]} {line.strip()}", [])
        elif line[:1].isspace() or not line:
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return tuple(_function(line, textwrap.dedent("\n".join(more))) for line, more in found)


def _function(line: str, text: str) -> Public:
    match = _LINE.fullmatch(line.strip())
    if not match:
        raise ValueError(f"not a public function: {line!r}")
    words = match[1].split()
    names = tuple(word.removeprefix(FUNCTIONAL) for word in words)
    functional = words[0].startswith(FUNCTIONAL)
    return Public(functional, names, _parameters(match[2]), match[3] or "", text.strip())


def _parameters(text: str) -> tuple[Parameter, ...]:
    arguments = ast.parse(f"def f({text}): ...").body[0].args  # type: ignore[attr-defined]
    pairs = list(zip(arguments.args[::-1], arguments.defaults[::-1], strict=False))
    defaults = {argument.arg: ast.unparse(default) for argument, default in pairs}
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = ast.unparse(default)
    return tuple(
        Parameter(
            argument.arg,
            ast.unparse(argument.annotation) if argument.annotation else "",
            defaults.get(argument.arg, ""),
            argument in arguments.kwonlyargs,
        )
        for argument in (*arguments.args, *arguments.kwonlyargs)
    )
