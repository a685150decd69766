"""A graph that Python has saved, run by a C program without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional
from kit import build, process
from kit.binding import root

pytestmark = [pytest.mark.requires("c++"), pytest.mark.host]
SOURCE = Path(__file__).parents[1] / "clients" / "c" / "graph.c"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("c") / "graph"
    library = root() / "lib"
    libraries = [f"-L{library}", f"-Wl,-rpath,{library}", "-linfinicore_cpp_api", "-linfinirt"]
    options = ["-std=c11", *build.WARNINGS, f"-I{root() / 'include'}"]
    build.compile_([build.C, *options, str(SOURCE), *libraries, "-o", str(made)])
    return made


def test_a_saved_graph_runs_in_c(tmp_path: Path, program: Path) -> None:
    w = infinicore.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4))

    @infinicore.graph
    def step(x: Any) -> Any:
        return {"y": functional.layer_norm(functional.linear(x, w.T), (4,)) + 1}

    step(infinicore.zeros(2, 3))
    step.graphs[0].save(tmp_path / "graph")
    done = process.run([str(program), str(tmp_path / "graph")])
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert lines["x"] == "2 3"
    x = infinicore.from_numpy(np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    expected = step(x)["y"].numpy().ravel()
    assert np.allclose([float(word) for word in lines["y"].split()], expected, rtol=1e-5)


def test_a_broken_file_is_reported_in_c(tmp_path: Path, program: Path) -> None:
    (tmp_path / "graph").write_bytes(b"INFGRAPH")
    done = process.run([str(program), str(tmp_path / "graph")])
    assert done.returncode == 1
    assert f"{tmp_path}/graph: version: expected 8 more bytes" in done.stderr
