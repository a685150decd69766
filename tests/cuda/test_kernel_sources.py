"""Every CUDA kernel, including hand-written ones: NVIDIA's compiler accepts the back end's sources
for devices of three generations.

The back end plans on the simulated CUDA; what it would compile is written to a folder, and the real
compiler gets it with the same options.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pytest

from operators.kernel_cases import SPECIAL, KernelCase, small_cases
from spec.operators import OPERATORS

from .nvrtc import Compiler, find
from .planning import planning

HERE = Path(__file__).resolve().parent
BACKEND = HERE.parents[1] / "backends" / "cuda"
CAPABILITIES = ("80", "90", "100")
PARTS = 8  # so that none takes long
PROCESSES = 2
# Sources that other tests compile: the simulated CUDA has no TMA, and collectives are not
# operators.
ELSEWHERE = {
    "attention/combine.cuh:parts": "test_attention_sources.py",
    "attention/mla_few_heads.cuh": "test_attention_sources.py",
    "attention/mla_sm90.cuh": "test_attention_sources.py",
    "collectives/combine.cuh": "tests/collectives/test_nccl.py",
}
LOWERED = {operator.name for operator in OPERATORS if operator.lowered}
# A kernel that scales cuFFT's result.
SCALED = KernelCase(
    "fft",
    "F32",
    "usual",
    symbols={"*B": (3,), "N": 8},
    attributes={"inverse": 1, "scale": 0.25, "ndim": 1},
)
# A kernel that completes cuBLASLt's product.
POINTWISE = KernelCase(
    "conv",
    "BF16",
    "large",
    symbols={"N": 2, "C": 16, "M": 32, "*X": (16, 16), "*K": (1, 1), "*Y": (16, 16)},
    attributes={"n": 2, "pads": [0, 0], "strides": [1, 1], "dilations": [1, 1]},
)
# Kernels around cuSOLVER's, which handles large matrices.
MATRICES = [
    KernelCase(operator, "F32", "large", symbols={"*B": (1,), "N": 192})
    for operator in ("det", "inverse", "eigh")
] + [
    KernelCase(operator, "F64", "large", symbols={"*B": (1,), "M": 70, "N": 64})
    for operator in ("lu_factor", "complex_svd")
]

pytestmark = pytest.mark.requires("nvrtc", "c++")


class Sources(NamedTuple):
    folder: Path
    cases: dict[str, list[str]]  # label: files that its description added


def described(
    folder: Path, capability: str, cases: list[KernelCase], products: bool = False
) -> Sources:
    folder.mkdir()
    listed = folder / "cases.json"
    listed.write_text(json.dumps([asdict(case) for case in cases]))
    done = subprocess.run(
        [sys.executable, HERE / "describe_kernels.py", listed],
        env=planning(folder, capability, products),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        label, *files = line.split("\t")
        assert not (files and files[0].startswith("error")), line
        found[label] = [file for file in files if file.endswith(".cu")]
    assert len(found) == len(cases), done.stderr
    return Sources(folder, found)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sources]:
    top = tmp_path_factory.mktemp("kernels")
    made = {
        number: described(top / number, number, small_cases() + SPECIAL) for number in CAPABILITIES
    }
    made["products"] = described(
        top / "products", "90", [POINTWISE, SCALED, *MATRICES], products=True
    )
    return made


def test_every_operator_has_sources(
    sources: dict[str, Sources], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A case whose kernels were requested by earlier cases is described again in its own process.
    Kernels of lowered operators belong to other operators."""
    top = tmp_path_factory.mktemp("alone")
    made: dict[str, bool] = {}
    for label, files in sources["90"].cases.items():
        operator = label.partition("-")[0]
        made[operator] = made.get(operator, False) or bool(files)
    for operator in [operator for operator, found in made.items() if not found]:
        own = [case for case in small_cases() + SPECIAL if case.operator == operator]
        made[operator] = any(described(top / operator, "90", own).cases.values())
    without = {operator for operator, found in made.items() if not found}
    assert without - LOWERED == set()


def kernels() -> set[str]:
    """`file` or `file:kernel` of device/, by what planners name."""
    named: set[str] = set()
    for path in [*BACKEND.glob("kernels/**/*.cc"), *BACKEND.glob("collectives/*.cc")]:
        for line in path.read_text().splitlines():
            if not line.startswith("#include"):
                named |= set(re.findall(r'"([a-z0-9_/]+\.cuh(?::[a-z0-9_]+)?)"', line))
    device = BACKEND / "device"
    return {name for name in named if "INFINI_ENTRY" in (device / name.split(":")[0]).read_text()}


def test_every_kernel_has_sources(sources: dict[str, Sources]) -> None:
    made = {
        path.name.rpartition("-")[0]
        for each in sources.values()
        for path in each.folder.glob("*.cu")
    }
    expected = {re.sub(r"[/.:]", "_", name): name for name in kernels() - ELSEWHERE.keys()}
    assert len(expected) > 60
    assert sorted(name for flat, name in expected.items() if flat not in made) == []


@pytest.fixture(scope="module")
def to_compile(sources: dict[str, Sources]) -> dict[str, list[Path]]:
    found = {number: sorted(sources[number].folder.glob("*.cu")) for number in CAPABILITIES}
    found["90"] += sorted(sources["products"].folder.glob("*.cu"))
    return found


# The oldest and the newest generation compile half of the kernels each, which takes minutes.
COMPILED = [
    (capability, part)
    for capability in CAPABILITIES
    for part in range(PARTS)
    if capability == "90" or part % 2 == (capability == "100")
]


@pytest.mark.parametrize(("capability", "part"), COMPILED)
def test_kernels_compile(to_compile: dict[str, list[Path]], capability: str, part: int) -> None:
    library = find()
    assert library is not None
    paths = to_compile[capability][part::PARTS]
    assert paths

    def compile_some(process: int) -> list[str]:
        wrong = []
        with Compiler(library) as compiler:
            for path in paths[process::PROCESSES]:
                text = path.read_text()
                options = text.partition("\n")[0].removeprefix("// options: ").split()
                assert options[0].rstrip("a") == f"--gpu-architecture=sm_{capability}"
                try:
                    compiler.compile_with(text, options)
                except RuntimeError as error:
                    wrong.append(f"{path.name}: {error}")
        return wrong

    with ThreadPoolExecutor(PROCESSES) as pool:
        wrong = [line for found in pool.map(compile_some, range(PROCESSES)) for line in found]
    assert not wrong, "\n".join(wrong)
