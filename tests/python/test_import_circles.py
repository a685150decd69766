"""No module of the package needs itself to be imported: imports at the top of modules have no
circles. Imports inside functions and for type checkers only are free."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "infinicore"


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def top_level(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from top_level(node.orelse)
            continue
        yield node
        for field in ("body", "orelse", "finalbody", "handlers"):
            yield from top_level(getattr(node, field, []))


def imported(name: str) -> set[str]:
    """Modules of the package that a module imports at its top. A package that only holds the
    imported module counts no more than its folder does."""
    found = set()
    package = name if MODULES[name].stem == "__init__" else name.rpartition(".")[0]
    for node in top_level(ast.parse(MODULES[name].read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            origin = ".".join([*base, *filter(None, [node.module])]) if node.level else node.module
            for each in node.names:
                inner = f"{origin}.{each.name}"
                found.add(inner if inner in MODULES else str(origin))
    return {each for each in found if each in MODULES} - {name}


def circles() -> list[list[str]]:
    """Groups of modules that import one another, by Tarjan's algorithm."""
    graph = {name: imported(name) for name in MODULES}
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in graph[name]:
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in graph:
        if name not in numbers:
            visit(name)
    return found


def test_imports_have_no_circles() -> None:
    found = circles()
    assert not found, "\n".join(", ".join(group) for group in found)
