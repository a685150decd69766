"""The operators' C functions against the required surface, where it is available."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spec.generate.operator_ctypes import functions
from spec.operators import OPERATORS

ROOT = Path(__file__).resolve().parents[2]
SURFACE = ROOT.parent / "shared" / "api" / "infiniop.json"

if not SURFACE.exists():
    pytest.skip("the surface is not here", allow_module_level=True)

WANTED = json.loads(SURFACE.read_text("utf-8"))
HAVE = dict(functions())


def entries(part: str) -> list[Any]:
    return [pytest.param(entry, id=entry["op"]) for entry in WANTED[part]]


def type_of(text: str) -> str:
    """One spelling for each type."""
    return text.replace("struct ", "").replace(" ", "").replace("voidconst*", "constvoid*")


def without_name(declaration: str) -> str:
    return " ".join(declaration.replace("*", " * ").split()[:-1])


def all_functions(entry: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for function in entry["functions"].values():
        found += function if isinstance(function, list) else [function]
    return [function for function in found if function]


@pytest.mark.parametrize("entry", [*entries("core"), *entries("operators")])
def test_functions(entry: dict[str, Any]) -> None:
    for function in all_functions(entry):
        assert function["name"] in HAVE, function["name"]
        have = [type_of(without_name(param)) for param in HAVE[function["name"]]]
        assert have == [type_of(p["type"]) for p in function["params"]], function["name"]


@pytest.mark.parametrize("entry", entries("operators"))
def test_headers(entry: dict[str, Any]) -> None:
    names = {function["name"] for function in all_functions(entry)}
    operator = next(op for op in OPERATORS if op.run.name in names)
    assert f"infiniop/ops/{operator.header}.h" == entry["header"]
    assert operator.umbrella == entry["in_umbrella_header"]
    assert f"infiniop{operator.c_name}Descriptor_t" == entry["descriptor_type"]


def test_both_names_of_the_workspace_function() -> None:
    for operator in OPERATORS:
        names = {f"infiniopGet{operator.c_name}Workspace{end}" for end in ("", "Size")}
        assert names <= set(HAVE) if operator.workspace else not names & set(HAVE)


def test_all_are_declared() -> None:
    wanted = {entry["op"] for entry in WANTED["operators"]}
    assert len(wanted) == WANTED["counts"]["operator_entries"]
    names = {function["name"] for entry in WANTED["operators"] for function in all_functions(entry)}
    assert len(names) == WANTED["counts"]["operator_functions"]
    assert len(OPERATORS) >= len(wanted)
