"""No module of the package imports itself indirectly. Imports inside functions count as well,
because they only hide a cycle. Imports for type checkers do not count, nor those of `infinicore` by
`_collected` and `_namespace` when a name is first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import process

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "infinicore"
LOADERS = ("infinicore", "infinicore._collected", "infinicore._namespace")


def modules(package: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All code that may run; not that for type checkers only."""
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse)
            continue
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, field, []))


def imported(name: str, known: dict[str, Path]) -> set[str]:
    """Modules of the package that a module imports. `from package import module` depends on the
    module, not on the package; a private name without a source is a module that the build makes."""
    found = set()
    package = name if known[name].stem == "__init__" else name.rpartition(".")[0]
    for node in statements(ast.parse(known[name].read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            origin = ".".join([*base, *filter(None, [node.module])]) if node.level else node.module
            for each in node.names:
                inner = f"{origin}.{each.name}"
                found.add(inner if inner in known or each.name[0] == "_" else str(origin))
    return {each for each in found if each in known} - {name, *LOADERS}


def circles(package: Path) -> list[list[str]]:
    """Groups of modules that import one another, by Tarjan's algorithm."""
    known = modules(package)
    graph = {name: imported(name, known) for name in known}
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
    found = circles(PACKAGE)
    assert not found, "\n".join(", ".join(group) for group in found)


def test_a_circle_is_found(tmp_path: Path) -> None:
    sources = {
        "a.py": "from infinicore.b import x",
        "b.py": "def use():\n    from infinicore.inner import c",
        "inner/c.py": "from .. import a",
        "d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import infinicore.e",
        "e.py": "import infinicore.d",
    }
    for name, source in sources.items():
        path = tmp_path / "infinicore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    assert circles(tmp_path / "infinicore") == [
        ["infinicore.a", "infinicore.b", "infinicore.inner.c"]
    ]


@pytest.mark.parametrize("name", ["ccl", "context", "nn", "op", "rt"])
def test_a_module_works_alone(name: str) -> None:
    """Whichever is imported first registers its objects with the extension module."""
    program = (
        f"import infinicore.{name}; from infinicore import context; print(context.get_device())"
    )
    done = process.run([sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr
