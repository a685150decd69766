"""Helpers for writing readable C and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from ..model import Function, Param

WIDTH = 100
NOTE = "Generated from spec/ by `python -m spec.generate`; do not edit."


def write(path: Path, text: str) -> bool:
    """Write a file unless its contents are unchanged, so that builds redo only what changed."""
    text = text.rstrip() + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def call(head: str, arguments: Iterable[str], tail: str, indent: int = 0) -> str:
    """`head(arguments)tail`, wrapped at the opening parenthesis if it is too long."""
    margin = " " * indent
    items = list(arguments)
    line = f"{margin}{head}({', '.join(items)}){tail}"
    if len(line) <= WIDTH:
        return line
    column = indent + len(head) + 1
    rows = _rows(items, tail, column)
    if max(map(len, rows)) + column <= WIDTH:
        return f"{margin}{head}(" + ("\n" + " " * column).join(rows)
    column = indent + 4  # too little room there: hang the arguments
    return f"{margin}{head}(" + "".join(f"\n{' ' * column}{r}" for r in _rows(items, tail, column))


def call_list(head: str, items: Iterable[str], indent: int = 4) -> str:
    """`head {items};`, wrapped if it is too long."""
    rows = _rows([*items], "", indent + 4)
    rows[-1] = rows[-1].removesuffix(")")
    line = f"{head} {{{' '.join(rows)}}};"
    if indent + len(line) <= WIDTH:
        return line
    return f"{head} {{" + "".join(f"\n{' ' * (indent + 4)}{row}" for row in rows) + "};"


def _rows(items: list[str], tail: str, column: int) -> list[str]:
    rows = [""]
    for position, item in enumerate(items):
        piece = item + (f"){tail}" if position == len(items) - 1 else ",")
        joined = f"{rows[-1]} {piece}" if rows[-1] else piece
        if rows[-1] and column + len(joined) > WIDTH:
            rows.append(piece)
        else:
            rows[-1] = joined
    return rows


def comment(text: str, indent: int = 0) -> str:
    """A C comment of one or more lines."""
    margin = " " * indent
    lines = textwrap.wrap(text, WIDTH - indent - 6)
    return f"{margin}/* " + f"\n{margin} * ".join(lines) + " */"


def params(function: Function, *, defaults: str = "") -> list[str]:
    """The parameters in C; `defaults` is how to write a default argument, `{}` its value."""
    return [_param(param, defaults) for param in function.params] or ["void"]


def _param(param: Param, defaults: str) -> str:
    return param.c + (defaults.format(param.default) if defaults and param.default else "")


def notes(text: str) -> str:
    """C++ comment lines."""
    return textwrap.fill(text, WIDTH, initial_indent="// ", subsequent_indent="// ")


def case(label: str, result: str) -> str:
    """A case of a switch that returns something."""
    line = f"    case {label}: return {result};"
    return line if len(line) <= WIDTH else f"    case {label}:\n        return {result};"
