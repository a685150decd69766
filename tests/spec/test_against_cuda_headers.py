"""Our header against NVIDIA's own, declaration by declaration: 12.9 must be the same, and the
differences of 13 must be those in spec/cuda13_differences.py."""

from __future__ import annotations

import differences
import header_facts
import pytest
from header_facts import Facts

from spec import api, cuda13_differences, first, model
from spec.generate.__main__ import generate
from spec.runtime.left_out import LEFT_OUT


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    out = tmp_path_factory.mktemp("generated")
    generate(out, ["c"])
    return header_facts.read(out / "include", "infinirt_runtime_api.h", out)


def test_the_header_declares_the_spec(ours: Facts) -> None:
    assert list(ours.functions) == [f"cuda{function.name}" for function in api.functions]
    assert len(api.functions) >= 180
    assert len(ours.enums) == len(api.enums)
    assert len(ours.structs) == len(api.structs)


@pytest.mark.parametrize("kind", ["functions", "enums", "structs", "typedefs"])
def test_declarations_are_those_of_12_9(kind: str, ours: Facts, cuda12: Facts) -> None:
    mine, theirs = getattr(ours, kind), getattr(cuda12, kind)
    assert mine
    assert {name: theirs.get(name) for name in mine} == mine


def test_default_arguments_are_those_of_12_9(ours: Facts, cuda12: Facts) -> None:
    theirs = {n: d for n, d in cuda12.defaults.items() if n in ours.functions}
    assert ours.defaults == theirs


def test_macros_are_those_of_12_9(ours: Facts, cuda12: Facts) -> None:
    """All except those that leave the plain symbol to the first generation."""
    mine = {name: text for name, text in ours.macros.items() if name.startswith("cuda")}
    kept = {f"cuda{name}": f"cuda{name}_v2" for name in first.names & set(api.by_name)}
    assert {name: mine.pop(name) for name in kept} == kept
    assert {name: cuda12.macros.get(name) for name in mine} == mine


def test_functions_left_out_are_listed(ours: Facts, cuda12: Facts) -> None:
    listed = {f"cuda{name}" for names in LEFT_OUT.values() for name in names.split()}
    assert set(cuda12.functions) - set(ours.functions) == listed


@pytest.mark.parametrize("part", ["FUNCTIONS", "ENUMS", "STRUCTS", "NAMES"])
def test_differences_to_13_are_listed(part: str, ours: Facts, cuda12: Facts, cuda13: Facts) -> None:
    found = differences.between(cuda12, cuda13, ours)[part]
    blocks = model.blocks_of(getattr(cuda13_differences, part))
    assert found == {head: [line.strip() for line in lines] for head, lines in blocks}
