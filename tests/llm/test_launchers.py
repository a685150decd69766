"""`infini generate` under the launchers of clusters: rank 0 prints, the others follow. Slurm is not
needed: the variables of its tasks are set by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectives import mpi_launch
from collectives.hosts import ADDRESSES, two_hosts
from collectives.launching import FOREIGN, environment
from infinicore.ccl import _by_slurm
from infinicore.cli import main
from infinicore.llm import parallel
from kit.requirements import find_program, need

GENERATE = ("--tokens", "12", "--cache-tokens", "256")
ONE = {"INFINI_NUM_THREADS": "1"}
SLURM = {"SLURM_JOB_ID": "71", "SLURM_STEP_ID": "2", "SLURM_STEP_NODELIST": "localhost"}


def generate(folder: Path, *more: str) -> list[str]:
    words = ("generate", folder, "hello", *GENERATE, *more)
    return [sys.executable, "-m", "infinicore", *map(str, words)]


def output(command: list[str], **settings: str) -> str:
    made = subprocess.run(
        command, env=environment(**ONE, **settings), capture_output=True, text=True, timeout=100
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture(scope="module")
def wanted(folder: Path) -> str:
    return output(generate(folder))


@pytest.mark.parametrize("mpi", mpi_launch.ALL, ids=[mpi.name for mpi in mpi_launch.ALL])
def test_mpirun(mpi: Any, folder: Path, wanted: str) -> None:
    launcher = str(mpi_launch.folder_of(mpi) / "bin" / mpi.launcher)
    command = [launcher, *mpi.flags, "-n", "2", *generate(folder)]  # --tp 2 by itself
    settings = dict(mpi.settings)
    assert output(command, **settings) == wanted


def test_torchrun(folder: Path, wanted: str) -> None:
    need("torch")
    torchrun = find_program("torchrun")
    assert torchrun is not None
    command = [torchrun, "--standalone", "--nproc-per-node", "2", "--no-python"]
    assert output([*command, *generate(folder, "--pp", "2")]) == wanted


@pytest.mark.parametrize("mpi", mpi_launch.ALL, ids=[mpi.name for mpi in mpi_launch.ALL])
def test_mpirun_on_two_hosts(mpi: Any, folder: Path, wanted: str, tmp_path: Path) -> None:
    with two_hosts() as hosts:
        command, settings = hosts.mpirun(mpi, tmp_path, 1)
        settings.pop("INFINI_NUM_THREADS")
        assert output([*command, *generate(folder, "--pp", "2")], **settings) == wanted


def slurm_task(rank: int, ranks: int = 2, **more: str) -> dict[str, str]:
    numbers = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "SLURM_NTASKS": ranks}
    numbers["SLURM_STEP_NUM_TASKS"] = ranks
    return {**SLURM, **{name: str(value) for name, value in numbers.items()}, **more}


def srun(hosts: list[list[str]], folder: Path, wanted: str, **step: str) -> None:
    """A task on each host, with the variables that srun gives them."""
    ranks = [
        subprocess.Popen(
            [*host, *generate(folder)],
            env=environment(**ONE, **slurm_task(rank, **step)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, host in enumerate(hosts)
    ]
    try:
        assert [each.communicate(timeout=100)[0] for each in ranks] == [wanted, ""]
        assert [each.returncode for each in ranks] == [0, 0]
    finally:
        for each in ranks:
            each.kill()


def test_the_variables_of_srun(folder: Path, wanted: str) -> None:
    srun([[], []], folder, wanted, SLURM_JOB_ID=str(os.getpid()))


def test_the_variables_of_srun_on_two_hosts(folder: Path, wanted: str) -> None:
    with two_hosts() as hosts:
        step = {"SLURM_STEP_NODELIST": ADDRESSES[0], "SLURM_LOCALID": "0"}
        srun([hosts.on(0), hosts.on(1)], folder, wanted, **step)


def test_where_the_ranks_of_a_step_meet() -> None:
    assert _by_slurm.meeting(SLURM) == "tcp://localhost:26368"
    hosts = {**SLURM, "SLURM_STEP_NODELIST": "node[07-09,12],gpu1"}
    assert _by_slurm.meeting(hosts) == "tcp://node07:26368"
    assert _by_slurm.meeting({**SLURM, "SLURM_STEP_ID": "batch"}) is None
    assert _by_slurm.meeting({"SLURM_JOB_ID": "71"}) is None


def test_how_many_ranks_were_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in os.environ:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    assert parallel.launched_ranks() == 1
    for name, value in slurm_task(0, 8).items():
        monkeypatch.setenv(name, value)
    assert parallel.launched_ranks() == 8
    monkeypatch.setenv("PMIX_RANK", "0")  # srun --mpi=pmix
    assert parallel.launched_ranks() == 8
    monkeypatch.delenv("PMIX_RANK")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")  # the shell of an interactive job
    assert parallel.launched_ranks() == 1
    monkeypatch.delenv("SLURM_STEP_NUM_TASKS")  # the script of a job, outside of srun
    assert parallel.launched_ranks() == 1
    monkeypatch.setenv("PMIX_RANK", "1")
    assert parallel.launched_ranks() is None
    assert main(["generate", "/nowhere", "hello"]) == 1  # not once for each rank
    assert "--tp is missing: this launcher does not report" in capsys.readouterr().err


def test_another_number_of_ranks(folder: Path) -> None:
    made = subprocess.run(
        generate(folder, "--tp", "2", "--pp", "2"),
        env=environment(**slurm_task(0)),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert made.returncode == 1
    assert "--tp 2 --pp 2 is for 4 ranks, but 2 were started" in made.stderr
