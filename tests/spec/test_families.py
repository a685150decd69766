"""Every tree names the families of kernels as `spec/operators/declarations` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.operators import FAMILIES, OPERATORS

ROOT = Path(__file__).resolve().parents[2]
# Folders beside the families: what serves several of them.
BESIDE = {
    "backends/cpu/kernels": {"program"},
    "backends/cuda/kernels": {"program", "dnn"},
    "backends/cuda/device": {"program", "collectives"},
}


def folders(tree: str) -> set[str]:
    return {path.name for path in (ROOT / tree).iterdir() if path.is_dir()} - {"__pycache__"}


def test_declarations_have_a_folder_for_each_family() -> None:
    assert folders("spec/operators/declarations") == set(FAMILIES)
    assert {operator.family for operator in OPERATORS} == set(FAMILIES)


@pytest.mark.parametrize("tree", BESIDE)
def test_kernels_lie_in_folders_of_families(tree: str) -> None:
    assert folders(tree) - BESIDE[tree] <= set(FAMILIES)


@pytest.mark.parametrize(("one", "other"), [("backends/cpu/kernels", "backends/cuda/kernels")])
def test_back_ends_have_kernels_in_the_same_families(one: str, other: str) -> None:
    assert folders(one) - BESIDE[one] == folders(other) - BESIDE[other]


def test_device_code_lies_where_its_kernels_do() -> None:
    device, kernels = "backends/cuda/device", "backends/cuda/kernels"
    assert folders(device) - BESIDE[device] <= folders(kernels) - BESIDE[kernels]


def test_an_operator_is_registered_in_the_folder_of_its_family() -> None:
    family = {operator.name: operator.family for operator in OPERATORS}
    misplaced = []
    for path in sorted((ROOT / "backends").rglob("kernels/*/*.cc")):
        for line in path.read_text().splitlines():
            if line.startswith(("INFINI_CPU_KERNEL(", "INFINI_CUDA_KERNEL(")):
                name = line.split('"')[1] if '"' in line else line.split("(")[1].split(",")[0]
                if name in family and path.parent.name != family[name]:
                    misplaced.append(f"{name}: {path.relative_to(ROOT)}, not {family[name]}/")
    assert not misplaced, "\n".join(misplaced)
