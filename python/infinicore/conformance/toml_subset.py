"""The part of TOML that a manifest needs, for Python 3.10, which has no tomllib.

Tables, arrays of tables, and keys with strings, whole numbers, booleans and lists of strings.
"""

from __future__ import annotations

import ast
from typing import Any


class TomlError(ValueError):
    pass


def loads(text: str) -> dict[str, Any]:
    root: dict[str, Any] = {}
    table = root
    pending = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = _without_comment(line).strip()
        if pending:
            line = f"{pending} {line}"
            pending = ""
        if not line:
            continue
        if "=" in line and not line.startswith("[") and line.count("[") > line.count("]"):
            pending = line  # a list that spans several lines
            continue
        try:
            table = _line(root, table, line)
        except (ValueError, SyntaxError) as error:
            raise TomlError(f"{error} (at line {number})") from None
    if pending:
        raise TomlError(f"a list is not closed: {pending}")
    return root


def _line(root: dict[str, Any], table: dict[str, Any], line: str) -> dict[str, Any]:
    """The table that the following lines belong to."""
    if line.startswith("[[") and line.endswith("]]"):
        made: dict[str, Any] = {}
        root.setdefault(line[2:-2].strip(), []).append(made)
        return made
    if line.startswith("[") and line.endswith("]"):
        name = line[1:-1].strip()
        if name in root:
            raise ValueError(f"the table [{name}] occurs twice")
        found: dict[str, Any] = root.setdefault(name, {})
        return found
    key, equals, value = line.partition("=")
    key = key.strip().strip('"')
    if not equals or not key:
        raise ValueError(f"expected [table] or key = value, got {line!r}")
    if key in table:
        raise ValueError(f"{key} occurs twice")
    table[key] = _value(value.strip())
    return table


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError(f"{text!r} is no string, number, boolean or list of strings") from None
    if isinstance(value, str | int | float | list):
        return value
    raise ValueError(f"{text!r} is no string, number, boolean or list of strings")


def _without_comment(line: str) -> str:
    quote = ""
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            return line[:index]
    return line
