"""`infini launch` through mpirun, torchrun, srun and the variables of a pod.

mpirun and torchrun are real, on this host and on two made of network namespaces. srun is simulated:
a script that records its arguments.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infinicore.cli.launch import LaunchError, first_of_allocation
from kit.requirements import need

from .hosts import ADDRESSES, CARD, Hosts, two_hosts
from .launching import LAUNCH, WORLD, environment, launch
from .mpi_launch import ALL, Mpi, folder_of
from .ports import free_port

HOSTS = ",".join(f"{address}:2" for address in ADDRESSES)
# Both hosts are the same machine: only their names differ.
NAMED = "import os, socket\nos.environ['INFINI_CCL_HOST'] = socket.gethostname()\n"
FAILS = """
import os, sys
ranks = [os.environ.get(name) for name in ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK")]
sys.exit(3 if "1" in ranks else 0)
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as made:
        yield made


def simulated(folder: Path, name: str, text: str) -> Path:
    """A folder for PATH with one program."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path.parent


def texts(output: str) -> list[str]:
    """The lines without the launcher's prefix."""
    return sorted(line[line.index("rank ") :] for line in output.splitlines() if "rank " in line)


# ---- mpirun --------------------------------------------------------------------------------------


# One write per line: mpirun forwards writes of several ranks as they arrive.
LINES = """\
import os
def print(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())
"""


def mpirun_of(mpi: Mpi) -> tuple[str, ...]:
    return ("--launcher", "mpirun", "--mpirun", str(folder_of(mpi) / "bin" / mpi.launcher))


@pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)
@pytest.mark.parametrize("master", [(), ("--master-addr", "127.0.0.1")], ids=["mpi", "tcp"])
def test_mpirun(script: Callable[[str], Path], mpi: Mpi, master: tuple[str, ...]) -> None:
    done = launch("-n", "3", "--no-prefix", *master, *mpirun_of(mpi), script(LINES + WORLD))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {r} of 3: 6" for r in range(3)]
    shown = done.stderr.splitlines()[0]
    assert shown.startswith("infini launch: ")
    assert f"{mpi.launcher} " in shown
    assert ("MASTER_ADDR=127.0.0.1" in shown) == bool(master)


@pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)
def test_a_failure_under_mpirun(script: Callable[[str], Path], mpi: Mpi) -> None:
    assert launch("-n", "2", *mpirun_of(mpi), script(FAILS)).returncode == 3


@pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)
def test_variables_under_mpirun(script: Callable[[str], Path], mpi: Mpi) -> None:
    names = ["MINE", "INFINI_X", "RANK", "INFINI_NUM_THREADS"]
    program = script(LINES + f"print(*map(os.environ.get, {names}))")
    mine = ("-x", "MINE=a b", "--no-prefix")
    done = launch("-n", "2", *mine, *mpirun_of(mpi), program, INFINI_X="it's", RANK="7")
    share = max(1, len(os.sched_getaffinity(0)) // 2)
    assert done.stdout == f"a b it's None {share}\n" * 2, done.stderr


@pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)
def test_mpirun_on_two_hosts(
    script: Callable[[str], Path], hosts: Hosts, mpi: Mpi, tmp_path: Path
) -> None:
    """Started on the first of them."""
    folder, agent = folder_of(mpi), hosts.agent(tmp_path)
    flags = {
        "mpich": f"-launcher ssh -launcher-exec {agent} -iface {CARD}",
        "openmpi": f"--prefix {folder} --prtemca plm_ssh_agent {agent}",
    }[mpi.name]
    through = ["--no-prefix", "--mpirun", f"{folder}/bin/{mpi.launcher} {flags}", "--host", HOSTS]
    program = script(LINES + NAMED + WORLD + "    print('rank', comm.rank, socket.gethostname())")
    done = subprocess.run(
        [*hosts.on(0), *LAUNCH, *through, str(program)],
        env=environment(UCX_TLS="tcp,self", OMPI_MCA_btl="tcp,self"),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(
        line
        for rank in range(4)
        for line in (f"rank {rank} of 4: 10", f"rank {rank} {hosts.names[rank // 2]}")
    )


def test_the_first_launcher_found_is_used(tmp_path: Path) -> None:
    """By `auto`, for hosts that are not this one: mpirun, or srun inside an allocation."""
    for name in ("mpirun", "srun"):
        path = simulated(tmp_path, name, "echo HYDRA")
    words = ("-n", "2", "--host", "a.invalid", "--dry-run", "true")
    path_of = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    done = launch(*words, **path_of)
    assert done.stdout.endswith(f"{path}/mpirun -prepend-rank -hosts a.invalid:2 -n 2 true\n")
    done = launch(*words, **path_of, SLURM_JOB_ID="5")
    assert f"{path}/srun --ntasks=2 " in done.stdout


def test_no_launcher_is_found(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.executable = '/nowhere/python'\n" + LAUNCH[2]]
    done = subprocess.run(
        [*words, "launch", "-n", "2", "--host", "a.invalid", "true"],
        env=environment(PATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    told = "no launcher was found: looked for mpirun, mpiexec, mpiexec.hydra, prterun, srun on PATH"
    assert told in done.stderr
    assert "--launcher env" in done.stderr


# ---- srun, simulated -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "settings", "shown"),
    [
        (
            ("--host", "a.invalid:2,b.invalid:2"),
            {},
            "MASTER_ADDR=a.invalid MASTER_PORT=25000 --ntasks=4 --export=ALL --kill-on-bad-exit=1 "
            "--nodes=2 --ntasks-per-node=2 --nodelist=a.invalid,b.invalid --label echo x",
        ),
        (
            ("-n", "4", "--no-prefix"),
            {"SLURM_JOB_NODELIST": "node[07-09],gpu1"},
            "MASTER_ADDR=node07 MASTER_PORT=25000 --ntasks=4 --export=ALL --kill-on-bad-exit=1 "
            "echo x",
        ),
    ],
    ids=["hosts", "allocation"],
)
def test_simulated_srun_arguments(
    tmp_path: Path, words: tuple[str, ...], settings: dict[str, str], shown: str
) -> None:
    record = 'echo "MASTER_ADDR=$MASTER_ADDR MASTER_PORT=$MASTER_PORT $*"; exit 9'
    srun = simulated(tmp_path, "srun", record) / "srun"
    through = ("--launcher", "srun", "--srun", str(srun), "--master-port", "25000")
    done = launch(*through, *words, "echo", "x", **settings)
    assert done.stdout == shown + "\n", done.stderr
    assert done.returncode == 9


def test_simulated_srun_ranks_work_together(script: Callable[[str], Path], tmp_path: Path) -> None:
    """With the variables that Slurm sets for its tasks."""
    task = 'SLURM_PROCID=$i SLURM_NTASKS=2 SLURM_LOCALID=$i "$@" &'
    body = f'while [ "${{1#--}}" != "$1" ]; do shift; done\nfor i in 0 1; do {task} done; wait'
    srun = simulated(tmp_path, "srun", body) / "srun"
    through = ("--launcher", "srun", "--srun", str(srun), "--master-addr", "127.0.0.1")
    done = launch("-n", "2", *through, script(LINES + WORLD), RANK="7", WORLD_SIZE="9")
    assert sorted(done.stdout.splitlines()) == [f"rank {r} of 2: 3" for r in range(2)], done.stderr


def test_srun_wants_equal_hosts(tmp_path: Path) -> None:
    srun = simulated(tmp_path, "srun", "") / "srun"
    done = launch("--launcher", "srun", "--srun", srun, "--host", "a.invalid:2,b.invalid:1", "sh")
    assert done.returncode == 2
    assert "expected equal numbers in --host, got a.invalid:2,b.invalid:1" in done.stderr


@pytest.mark.parametrize(
    ("listed", "first"),
    [("node1", "node1"), ("a,b", "a"), ("n[007-9,12],b", "n007"), ("n[1-2]-ib,b", "n1-ib")],
)
def test_the_first_host_of_an_allocation(listed: str, first: str) -> None:
    assert first_of_allocation(listed) == first


def test_no_allocation() -> None:
    with pytest.raises(LaunchError, match="expected --host or --master-addr"):
        first_of_allocation("")


# ---- torchrun ------------------------------------------------------------------------------------


@pytest.fixture
def torchrun(tmp_path: Path) -> tuple[str, ...]:
    need("torch")
    command = shlex.join([sys.executable, "-m", "torch.distributed.run"])
    path = simulated(tmp_path, "torchrun", f'exec {command} "$@"')
    return ("--launcher", "torchrun", "--torchrun", str(path / "torchrun"))


def test_torchrun(script: Callable[[str], Path], torchrun: tuple[str, ...]) -> None:
    done = launch("-n", "2", *torchrun, script(LINES + WORLD))
    assert done.returncode == 0, done.stderr
    assert texts(done.stdout) == [f"rank {r} of 2: 3" for r in range(2)]
    assert launch("-n", "2", *torchrun, script(FAILS)).returncode != 0


def test_torchrun_on_two_hosts(
    script: Callable[[str], Path], hosts: Hosts, torchrun: tuple[str, ...]
) -> None:
    """The same command on both."""
    program = script(LINES + NAMED + WORLD)
    processes = [
        subprocess.Popen(
            [*hosts.on(host), *LAUNCH, *torchrun, "--host", HOSTS, str(program)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for host in range(2)
    ]
    outputs = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    for host, (out, err) in enumerate(outputs):
        assert texts(out) == [f"rank {r} of 4: 10" for r in (2 * host, 2 * host + 1)]
        assert f"(waits for the same `infini launch` on {ADDRESSES[1 - host]})" in err


def test_torchrun_elsewhere(tmp_path: Path) -> None:
    path = simulated(tmp_path, "torchrun", "") / "torchrun"
    done = launch(
        *("-n", "2", "--launcher", "torchrun", "--torchrun", path, "--host", "a.invalid", "sh")
    )
    assert done.returncode == 2
    assert "expected one of --host to be this one" in done.stderr


# ---- The variables of a pod ----------------------------------------------------------------------


@pytest.mark.parametrize("word", [(), ("--launcher", "env")], ids=["auto", "env"])
def test_pods(script: Callable[[str], Path], word: tuple[str, ...]) -> None:
    """Two hosts, as Kubernetes shows them to their containers; two ranks on each."""
    pod = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    if not word:
        pod["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    processes = [
        subprocess.Popen(
            [*LAUNCH, *word, "-n", "2", str(script(LINES + WORLD))],
            env=environment(**pod, RANK=str(host)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for host in range(2)
    ]
    for host, process in enumerate(processes):
        out, _ = process.communicate(timeout=100)
        assert sorted(out.splitlines()) == [
            f"[{r}] rank {r} of 4: 10" for r in (2 * host, 2 * host + 1)
        ]


def test_a_pod_with_a_wrong_rank() -> None:
    pod = {"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": "1"}
    done = launch("-n", "2", "--launcher", "env", "true", **pod)
    assert done.returncode == 2
    assert "RANK is 2, WORLD_SIZE is 2" in done.stderr


# ---- Dry runs ------------------------------------------------------------------------------------


def test_dry_run_here() -> None:
    done = launch("-n", "2", "--dry-run", "--master-port", "12345", "true", "a b")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for rank, line in enumerate(lines):
        assert f"RANK={rank} WORLD_SIZE=2 LOCAL_RANK={rank} LOCAL_WORLD_SIZE=2 " in line
        assert line.endswith("true 'a b'")
