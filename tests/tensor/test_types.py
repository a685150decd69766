"""The types of the extension module: the stub names exactly what exists."""

from __future__ import annotations

import ast
from pathlib import Path

import infinicore as ic
from infinicore import _core

STUB = Path(__file__).parents[2] / "csrc" / "python" / "core" / "_core.pyi"


def names_of(body: list[ast.stmt]) -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_the_stub_is_complete() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    named = {
        name for name in names_of(tree.body) if name not in ("_bool", "_int", "_dtype", "_device")
    }
    there = {name for name in vars(_core) if not name.startswith("__")}
    assert named == there
    classes = {
        node.name: names_of(node.body) for node in tree.body if isinstance(node, ast.ClassDef)
    }
    assert ic.Tensor is _core.Tensor  # with its methods
    for name, members in classes.items():
        for member in members - {"__getattr__", "__buffer__"}:
            assert hasattr(getattr(_core, name), member), f"{name}.{member}"
    for member, value in vars(_core.Tensor).items():
        if not member.startswith("__") and type(value).__module__ == "nanobind":
            assert member in classes["Tensor"], f"Tensor.{member}"
