"""The kernels of operators that have programs: NVIDIA's compiler compiles them, without register
spills."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .nvrtc import Compiler, find

HERE = Path(__file__).resolve().parent
PARTS = 8  # so that none takes long
WITH_LOCAL_MEMORY = re.compile(r"\b(sin|cos|tan|power|lgamma|digamma|fmod|mod)\(")

library = find()
pytestmark = pytest.mark.requires("nvrtc", "c++")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    from kit.binding import root
    from simulated.cuda.build import folder

    dump = tmp_path_factory.mktemp("sources")
    environment = {
        **os.environ,
        "INFINI_CUDA_DUMP": str(dump),
        "INFINI_DEVICE": "nvidia",
        "INFINI_NVIDIA_LIBRARIES": str(folder(root())),
        "INFINI_CACHE": str(tmp_path_factory.mktemp("cache")),
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, HERE / "describe_programs.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Path]] = {}
    for line in done.stdout.splitlines():
        label, *files = line.split("\t")
        assert not (files and files[0].startswith("error")), line
        if files:
            found[label] = [dump / file for file in files]
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_stay_in_registers(sources: dict[str, list[Path]], part: int) -> None:
    assert library is not None
    assert len(sources) > 60

    def check(compiler: Compiler, path: Path) -> str:
        text = path.read_text()
        try:
            used = compiler.compile(text)
        except RuntimeError as error:
            return f"does not compile: {error}"
        if used.spilled:
            return f"{used.spilled} bytes spilled with {used.registers} registers"
        functors = text[text.index("struct Params") :]
        if used.stack and not WITH_LOCAL_MEMORY.search(functors):
            return f"{used.stack} bytes of local memory"
        return ""

    cases = [(label, path) for label, paths in sources.items() for path in paths]
    with Compiler(library) as compiler:
        problems = [(label, path.name, check(compiler, path)) for label, path in cases[part::PARTS]]
    wrong = [f"{label} ({name}): {problem}" for label, name, problem in problems if problem]
    assert not wrong, "\n".join(wrong)
