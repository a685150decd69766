"""Every tree uses the family names of `spec/operators/declarations`."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from operators.cases import SHARED
from spec.generate.package_stubs import public
from spec.operators import FAMILIES, OPERATORS

ROOT = Path(__file__).resolve().parents[2]
# Folders shared by several families.
BESIDE = {
    "backends/cpu/kernels": {"program"},
    "backends/cuda/kernels": {"program", "dnn"},
    "backends/cuda/device": {"program", "collectives"},
    "python/infinicore/functions": set(),
    "python/infinicore/nn/functional": set(),
}
FUNCTIONS = ("python/infinicore/functions", "python/infinicore/nn/functional")
FAMILY = {operator.name: operator.family for operator in OPERATORS}
KERNELS = {
    op.serving: op.family for op in OPERATORS if op.kernel and not op.lowered and not op.unsupported
}
# What back ends register in addition to operator kernels: engines, and kernels that take an
# epilogue.
ENGINES = {"program", "epilogue", "gemm+"}
# Of a back end: a further one needs a reason why no other can do it. Three (reflections,
# LDL, triangular solutions) take packed factors, which no kernel that makes factors can; lu_unpack
# only moves elements of such factors, and lstsq exchanges columns until the rank is reached.
# lower_median selects by a rank that depends on the number of NaN. ctc_loss is a recurrence over
# steps, of which no other has three terms in log space. Unlike masked_select, masks has results of
# given sizes.
MOST_KERNELS = 81
# Operators with programs, for which a back end may have a kernel that is measured faster.
PROGRAMS = {op.name: op.family for op in OPERATORS if not op.kernel and not op.lowered}
MOST_QUICKER = 6


def folders(tree: str) -> set[str]:
    return {path.name for path in (ROOT / tree).iterdir() if path.is_dir()} - {"__pycache__"}


def test_declarations_have_a_folder_for_each_family() -> None:
    assert folders("spec/operators/declarations") == set(FAMILIES)
    assert {operator.family for operator in OPERATORS} == set(FAMILIES)


@pytest.mark.parametrize("tree", BESIDE)
def test_folders_are_families(tree: str) -> None:
    assert folders(tree) - BESIDE[tree] <= set(FAMILIES)


@pytest.mark.parametrize(("one", "other"), [("backends/cpu/kernels", "backends/cuda/kernels")])
def test_back_ends_have_kernels_in_the_same_families(one: str, other: str) -> None:
    assert folders(one) - BESIDE[one] == folders(other) - BESIDE[other]


def test_device_code_lies_where_its_kernels_do() -> None:
    device, kernels = "backends/cuda/device", "backends/cuda/kernels"
    assert folders(device) - BESIDE[device] <= folders(kernels) - BESIDE[kernels]


def registered(back_end: str = "") -> list[tuple[str, Path]]:
    """The kernels of all back ends, or of one, with the files that register them."""
    return [
        (line.split('"')[1], path.relative_to(ROOT))
        for path in sorted((ROOT / "backends" / back_end).rglob("kernels/*/*.cc"))
        for line in path.read_text().splitlines()
        if line.startswith(("INFINI_KERNEL(", "INFINI_CUDA_KERNEL("))
    ]


def test_a_kernel_is_registered_in_the_folder_of_its_family() -> None:
    families = PROGRAMS | KERNELS
    misplaced = [
        f"{name}: {path}, not {families.get(name)}/"
        for name, path in registered()
        if name not in ENGINES and path.parent.name != families.get(name)
    ]
    assert not misplaced, "\n".join(misplaced)


@pytest.mark.parametrize("back_end", ["cpu", "cuda"])
def test_kernels_are_few(back_end: str) -> None:
    names = [name for name, _ in registered(back_end) if name not in ENGINES]
    quicker = [name for name in names if name in PROGRAMS]
    assert len(names) == len(set(names)) <= MOST_KERNELS + len(quicker)
    assert set(names) <= set(KERNELS | PROGRAMS) and len(quicker) <= MOST_QUICKER


def test_operators_that_share_a_kernel_are_of_one_family() -> None:
    spread = [
        f"{op.name}: {op.family}, not {KERNELS[op.serving]}"
        for op in OPERATORS
        if op.serving in KERNELS and op.family != KERNELS[op.serving]
    ]
    assert not spread, "\n".join(spread)


def test_back_ends_have_no_kernels_for_lowered_operators() -> None:
    lowered = {operator.name for operator in OPERATORS if operator.lowered}
    assert lowered
    found = [f"{name}: {path}" for name, path in registered() if name in lowered]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("tree", FUNCTIONS)
def test_a_function_is_in_the_folder_of_its_operator(tree: str) -> None:
    """Functions that have the name of an operator; the others are composites."""
    misplaced = [
        f"{name}: {path.relative_to(ROOT)}, not {FAMILY[name]}/"
        for path in sorted((ROOT / tree).rglob("*.py"))
        for name in public(ast.parse(path.read_text(encoding="utf-8")))
        if name in FAMILY and path.parent.name not in (FAMILY[name], "declared")
    ]
    assert not misplaced, "\n".join(misplaced)


def test_cases_of_an_operator_are_in_the_module_of_its_family() -> None:
    modules = {path.stem for path in (ROOT / "tests/operators/cases").glob("[!_]*.py")} - {SHARED}
    assert modules <= set(FAMILIES)
    misplaced = [
        f"{name}: cases/{module}.py, not {FAMILY[name]}.py"
        for module in sorted(modules)
        for name in importlib.import_module(f"operators.cases.{module}").CASES
        if FAMILY[name] != module
    ]
    assert not misplaced, "\n".join(misplaced)
