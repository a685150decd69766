"""`ccl.init` in processes of their own: how ranks find each other, and the errors when they do
not."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import infinicore
from infinicore import ccl
from infinicore.ccl import _bootstrap
from kit.requirements import need

from .mpi_launch import ALL, Mpi, folder_of
from .ports import free_port

# Prints the sum over all ranks, or the error.
PROGRAM = """
import sys
import infinicore
from infinicore import ccl

arguments = eval(sys.argv[1]) if len(sys.argv) > 1 else {}
try:
    with ccl.init(**arguments) as comm:
        x = infinicore.ones(3, device=comm.device) * (comm.rank + 1)
        comm.all_reduce(x)
        print(f"rank {comm.rank} of {comm.ranks}: {x.tolist()[0]:g} on {comm.device}")
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""
# What this process itself may have been started with.
FOREIGN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "TORCHELASTIC", "OMPI_", "PMI", "SLURM_")


def environment(**more: object) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    kept |= {"INFINI_DEVICE": "cpu", "INFINI_CCL_TIMEOUT": "60", "INFINI_NUM_THREADS": "1"}
    return kept | {name: str(value) for name, value in more.items()}


def start(arguments: str = "{}", **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, arguments],
        env=environment(**more),
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(*processes: subprocess.Popen[str]) -> list[str]:
    return [process.communicate(timeout=60)[0].strip() for process in processes]


# ---- Over TCP ------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost", socket.gethostname()])
def test_by_environment(host: str) -> None:
    port = free_port()
    told = ended(
        *(start(RANK=r, WORLD_SIZE=3, MASTER_ADDR=host, MASTER_PORT=port) for r in range(3))
    )
    assert told == [f"rank {rank} of 3: 6 on cpu:0" for rank in range(3)]


def test_by_address() -> None:
    port = free_port()
    words = f"'method': 'tcp://127.0.0.1:{port}', 'ranks': 2, 'rank':"
    told = ended(*(start(f"{{{words} {rank}}}") for rank in range(2)))
    assert told == ["rank 0 of 2: 3 on cpu:0", "rank 1 of 2: 3 on cpu:0"]


def test_the_local_rank_chooses_the_device() -> None:
    port = free_port()
    told = ended(
        *(
            start(
                RANK=rank,
                WORLD_SIZE=3,
                LOCAL_RANK=rank,
                MASTER_ADDR="localhost",
                MASTER_PORT=port,
                INFINI_CPU_DEVICES=2,
            )
            for rank in range(3)
        )
    )
    assert [words[-5:] for words in told] == ["cpu:0", "cpu:1", "cpu:0"]


def test_all_ranks_are_told_who_is_missing() -> None:
    port = free_port()
    told = ended(
        *(
            start(
                f"{{'timeout': {20 if rank else 2}}}",
                RANK=rank,
                WORLD_SIZE=4,
                MASTER_ADDR="localhost",
                MASTER_PORT=port,
            )
            for rank in (0, 2)
        )
    )
    for words in told:
        assert words.startswith("CclError: ccl.init: ranks 1, 3 did not come to localhost, ports")
        assert words.endswith("within 2 s")


def test_a_rank_that_gets_the_id_and_dies() -> None:
    """The caller's time-out applies from beginning to end."""
    port = free_port()
    where = {"WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    dies = "from infinicore.ccl import _bootstrap\nimport os\n"
    dies += "_bootstrap.Communicator = lambda **arguments: os._exit(0)\n"
    other = subprocess.Popen(
        [sys.executable, "-c", dies + PROGRAM], env=environment(RANK=1, **where)
    )
    (words,) = ended(start("{'timeout': 2}", RANK=0, **where))
    other.wait(60)
    assert words.startswith("CclError: infinicclCommInitRank: rank 1 did not come within 2 s")


@pytest.mark.requires("torch")
def test_torchrun(tmp_path: Path) -> None:
    """Its store holds MASTER_PORT all the while."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-port", str(free_port()), str(script)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=100)
    # torchrun mixes the lines of its processes.
    for rank in range(2):
        assert f"rank {rank} of 2: 3 on cpu:0" in done.stdout, done.stderr


# ---- Through a file ------------------------------------------------------------------------------


def test_by_file(tmp_path: Path) -> None:
    path = tmp_path / "meet here"
    told = ended(*(start(RANK=r, WORLD_SIZE=3, INFINI_CCL_FILE=path) for r in range(3)))
    assert told == [f"rank {rank} of 3: 6 on cpu:0" for rank in range(3)]
    assert list(tmp_path.iterdir()) == []
    words = f"'method': 'file://{tmp_path}/again', 'ranks': 2, 'rank':"
    told = ended(*(start(f"{{{words} {rank}}}") for rank in range(2)))
    assert told == ["rank 0 of 2: 3 on cpu:0", "rank 1 of 2: 3 on cpu:0"]


# ---- Through MPI ---------------------------------------------------------------------------------

every_mpi = pytest.mark.parametrize("mpi", ALL, ids=lambda mpi: mpi.name)


def of_mpi(mpi: Mpi, program: str, arguments: str = "{}", **more: object) -> str:
    command = [str(folder_of(mpi) / "bin" / mpi.launcher), *mpi.flags, "-n", "2", sys.executable]
    done = subprocess.run(
        [*command, "-c", program, arguments],
        env=environment(**dict(mpi.settings), **more),
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


@every_mpi
def test_by_mpi(mpi: Mpi) -> None:
    told = of_mpi(mpi, PROGRAM)
    for rank in range(2):
        assert f"rank {rank} of 2: 3 on cpu:0" in told


@every_mpi
def test_by_mpi_of_the_program(mpi: Mpi) -> None:
    """mpi4py has started MPI already."""
    need("mpi4py")
    path = folder_of(mpi) / "lib" / mpi.own_library
    told = of_mpi(mpi, "from mpi4py import MPI\n" + PROGRAM, MPI4PY_LIBMPI=path)
    for rank in range(2):
        assert f"rank {rank} of 2: 3 on cpu:0" in told


@every_mpi
def test_a_rank_that_does_not_come_to_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """The other one reports it; then both end."""
    told = tmp_path / "told"
    away = (
        "import os, pathlib, time\n"
        f"told = pathlib.Path({str(told)!r})\n"
        "if '1' in (os.environ.get('PMI_RANK'), os.environ.get('OMPI_COMM_WORLD_RANK')):\n"
        "    while not told.exists(): time.sleep(0.01)\n"
        "    os._exit(0)\n"
    )
    tell = "    told.write_text(str(error))\n    os._exit(0)\n"
    of_mpi(mpi, away + PROGRAM + tell, "{'timeout': 1}")
    assert "MPI cannot be used: MPI did not start within 1 s" in told.read_text()


# ---- Detection from the environment --------------------------------------------------------------


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in os.environ:
        if name.startswith((*FOREIGN, "INFINI_CCL_")):
            monkeypatch.delenv(name)
    return monkeypatch


def test_a_world_of_one_is_asked_for(nothing: pytest.MonkeyPatch) -> None:
    with ccl.init(ranks=1) as comm:
        assert (comm.rank, comm.ranks) == (0, 1)
    with pytest.raises(RuntimeError, match="Looked for INFINI_CCL_FILE; for MASTER_ADDR"):
        ccl.init()
    nothing.setenv("SLURM_PROCID", "3")
    with pytest.raises(RuntimeError, match=r"found SLURM_PROCID=3\. Start the program with"):
        ccl.init()


def test_a_launcher_s_world_of_one(nothing: pytest.MonkeyPatch) -> None:
    """No other rank to meet: the port may have any value."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": "1"}.items():
        nothing.setenv(name, value)
    with ccl.init(timeout=5) as comm:
        assert comm.ranks == 1


@pytest.mark.parametrize(
    ("variables", "arguments", "words"),
    [
        ({}, {"method": "carrier pigeon"}, "method is 'carrier pigeon': expected"),
        ({}, {"method": "file"}, "INFINI_CCL_FILE is not set"),
        ({}, {"method": "env"}, "MASTER_ADDR and MASTER_PORT not set"),
        ({}, {"method": "tcp://host", "rank": 0, "ranks": 2}, "expected tcp://host:port"),
        ({}, {"method": "tcp://host:99999", "rank": 0, "ranks": 2}, "MASTER_PORT is '99999'"),
        ({}, {"method": "file:///tmp/x", "rank": 1}, r"needs ranks \(WORLD_SIZE\)"),
        ({}, {"method": "file:///tmp/x", "rank": 2, "ranks": 2}, "rank 2 of 2: expected"),
        ({"RANK": "one"}, {}, "RANK is 'one': expected a whole number"),
        ({"RANK": "1", "WORLD_SIZE": "2"}, {"ranks": 1}, "has made this process rank 1"),
        ({}, {"ranks": 1, "timeout": -1}, "timeout is -1"),
    ],
)
def test_what_can_t_be(
    nothing: pytest.MonkeyPatch, variables: dict[str, str], arguments: dict[str, object], words: str
) -> None:
    for name, value in variables.items():
        nothing.setenv(name, value)
    with pytest.raises(ValueError, match=words):
        ccl.init(**arguments)  # type: ignore[arg-type]


def test_launchers_are_known_by_their_variables() -> None:
    for name, rank, ranks, local in _bootstrap.LAUNCHERS:
        variables = {rank: "2", ranks: "4", local: "1"}
        wanted = (2, 4 if ranks else None, 1 if local else None, name)
        place = _bootstrap.find_place(variables)
        assert (place.rank, place.ranks, place.local_rank, place.launcher) == wanted


def test_rank_0_cannot_make_an_id(tmp_path: Path) -> None:
    """The others get the reason immediately."""
    broken = PROGRAM.replace(
        "arguments =",
        "from infinicore.ccl import _bootstrap\n"
        "def refuse(): raise ccl.CclError(1, 'out of numbers')\n"
        "_bootstrap.unique_id = refuse\narguments =",
    )
    variables = {"WORLD_SIZE": 2, "INFINI_CCL_FILE": tmp_path / "id"}
    first = subprocess.Popen(
        [sys.executable, "-c", broken],
        env=environment(RANK=0, **variables),
        stdout=subprocess.PIPE,
        text=True,
    )
    for words in ended(first, start(RANK=1, **variables)):
        assert words == "CclError: ccl.init: rank 0 could not make an id: out of numbers"


def test_threads_join_side_by_side_with_a_timeout() -> None:
    made, found = ccl.unique_id(), {}

    def join(rank: int) -> None:
        with ccl.Communicator(ranks=2, id=made, rank=rank, timeout=20) as comm:
            found[rank] = comm.ranks

    threads = [threading.Thread(target=join, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: 2, 1: 2}


@pytest.mark.parametrize("timeout", [-1, math.inf, math.nan])
def test_timeouts_that_are_none(timeout: float) -> None:
    with pytest.raises(ValueError, match="expected 0 or more seconds"):
        ccl.init(ranks=1, timeout=timeout)


def _no_rank(number: int) -> int:
    raise ValueError(f"there is no rank {number}")


def test_a_group_that_raises_enqueues_nothing() -> None:
    comms = ccl.init_all(["cpu", "cpu"])
    x = infinicore.ones(3)
    with pytest.raises(ValueError, match="rank 7"), ccl.group():
        comms[0].send(comms[0].all_reduce(x), to=_no_rank(7))
    infinicore.sync_stream()
    for comm in comms:
        comm.close()
    assert x.tolist() == [1, 1, 1]


def _go_on_inside(make: Callable[[], Any], comm: ccl.Communicator) -> None:
    with ccl.group():
        with contextlib.suppress(RuntimeError):
            make()
        comm.all_reduce(infinicore.ones(3))


def test_all_ranks_at_once_are_made_inside_a_group_too() -> None:
    with ccl.group():
        comms = ccl.init_all(["cpu", "cpu"])
        tensors = [infinicore.ones(3) * (comm.rank + 1) for comm in comms]
        for comm, x in zip(comms, tensors, strict=True):
            comm.all_reduce(x)
    assert [x.tolist() for x in tensors] == [[3, 3, 3]] * 2
    for comm in comms:
        comm.close()


def test_one_rank_cannot_be_made_inside_a_group() -> None:
    comms = ccl.init_all(["cpu", "cpu"])
    makers = (
        lambda: ccl.Communicator(ranks=1, id=ccl.unique_id(), rank=0),
        lambda: ccl.Communicator(ranks=1, id=ccl.unique_id(), rank=0, timeout=1),
        lambda: comms[0].split(0),
        lambda: comms[0].split(-1),
    )
    for make in makers:
        with (
            pytest.raises(RuntimeError, match=r"inside ccl.group\(\).*before the group"),
            ccl.group(),
        ):
            make()
        # Nor is any other operation of the group performed when the caller continues inside it.
        with pytest.raises(ccl.CclError, match="nothing of it was enqueued"):
            _go_on_inside(make, comms[0])
    for comm in comms:
        comm.close()
