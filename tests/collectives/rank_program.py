"""The program of one rank that was started by mpirun, or on one of several hosts: `python -m
tests.collectives.rank_program BODY FOLDER`.

Ranks exchange their ids, and return their answers, through files in the folder.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import library as lib
from .numbers import combined, draw
from .rank import Rank, address
from .rank_operations import F32, check_all


def setting(*names: str) -> int:
    return next(int(os.environ[name]) for name in names if name in os.environ)


def libraries() -> list[str]:
    """A function of the MPI library that this process has opened."""
    files = {line.rpartition("/")[2] for line in Path("/proc/self/maps").read_text().splitlines()}
    return sorted(name for name in files if name.startswith("libmpi"))


def everything(folder: Path, rank: int, ranks: int) -> Any:
    r = Rank(folder, rank, ranks)
    check_all(r)
    r.close()
    return {"checks": r.checks, "wrong": r.wrong, "libraries": libraries()}


def wait_for(folder: Path, pattern: str, count: int) -> None:
    """Waits until there are this many files with the name."""
    end = time.monotonic() + 60
    while len(list(folder.glob(pattern))) < count:
        assert time.monotonic() < end, f"{pattern} did not come"
        time.sleep(0.005)


def attempt(r: Rank, count: int, name: str = "AllReduce", begun: Path | None = None) -> str:
    """The error of a call on a rank, empty on success. Makes the file `begun` meanwhile."""
    data = np.ones(count, np.float32)
    last = lib.SUM if name == "AllReduce" else 0
    try:
        lib.call(name, address(data), address(data), count, F32, last, r.comm, r.stream)
    except lib.CclError as error:
        return str(error)
    if begun:
        begun.touch()
    return lib.outcome(r.comm, r.stream)


def faults(folder: Path, rank: int, ranks: int) -> Any:
    """Runs one after the other, each on its own communicator."""
    last, told = ranks - 1, {}

    def scene(name: str) -> Rank:
        return Rank(folder, rank, ranks, name)

    r = scene("other count")
    told["other count"] = attempt(r, 5 if rank == last else 4)
    told["after that"] = attempt(r, 4)
    r.close()
    r = scene("other size")  # too large to be sent with the announcement
    told["other size"] = attempt(r, 100001 if rank == last else 100000)
    r.close()
    r = scene("other operation")
    told["other operation"] = attempt(r, 4, "Broadcast" if rank == last else "AllReduce")
    r.close()
    r = scene("abort")
    if rank == last:
        wait_for(folder, "begun-*", last)
        lib.call("CommAbort", r.comm)
    else:
        told["abort"] = attempt(r, 4, begun=folder / f"begun-{rank}")
        r.close()
    r = scene("leave")
    if rank != last:
        told["leave"] = attempt(r, 4)
    r.close()
    r = scene("late")
    lib.call("CommSetTimeout", r.comm, 1.5)
    if rank == last:
        wait_for(folder, "late-*", last)
    else:
        told["late"] = attempt(r, 4)
        (folder / f"late-{rank}").touch()
    r.close()
    os.environ["INFINI_CCL_TIMEOUT"] = "2"
    if rank != last:  # which does not even join
        try:
            scene("absent")
        except lib.CclError as error:
            told["absent"] = str(error)
    del os.environ["INFINI_CCL_TIMEOUT"]
    r = scene("well")  # none of this prevents a new communicator
    told["well"] = attempt(r, 4)
    r.close()
    r = scene("end")
    if rank != last:  # which ends silently, as after an exception
        told["end"] = attempt(r, 4)
        r.close()
    return told


def joins(folder: Path, rank: int, ranks: int) -> Any:
    try:
        Rank(folder, rank, ranks).close()
    except lib.CclError as error:
        return str(error)
    return ""


def step_aside() -> None:
    """Continues in a process unknown to the launcher, which may end all others with one."""
    child = os.fork()
    if child != 0:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    os.setsid()
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # MPICH's launcher reports a death by it


def dies(folder: Path, rank: int, ranks: int) -> Any:
    step_aside()
    r = Rank(folder, rank, ranks)
    lib.call("CommSetTimeout", r.comm, 10.0)
    assert attempt(r, 4) == ""
    if rank == ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = attempt(r, 4)
    write(folder, rank, answer)
    r.close()
    return answer


def mpi4py(folder: Path, rank: int, ranks: int) -> Any:
    """The program uses MPI itself: it stays usable, before, during and after."""
    from mpi4py import MPI  # type: ignore[import-not-found]

    world = MPI.COMM_WORLD
    assert world.allreduce(1) == ranks
    try:
        r = Rank(folder, rank, ranks)
    except lib.CclError as error:
        return str(error)
    data = np.full(3000, rank + 1, np.float32)
    r.do("AllReduce", address(data), address(data), 3000, F32, lib.SUM)
    assert world.allreduce(1) == ranks
    r.close()
    world.Barrier()
    return {"sum": float(data[0]), "libraries": libraries()}


def large(folder: Path, rank: int, ranks: int) -> Any:
    r, count = Rank(folder, rank, ranks), 200_001
    parts = [draw("float32", count, each) for each in range(ranks)]
    out = np.zeros(count, np.float32)
    r.do("AllReduce", address(parts[rank]), address(out), count, F32, lib.SUM)
    r.check("AllReduce", out, combined(parts, "sum"))
    whole = np.zeros(count * ranks, np.float32)
    r.do("AllGather", address(parts[rank]), address(whole), count, F32)
    r.check("AllGather", whole, np.concatenate(parts))
    r.close()
    return r.wrong


def until_cut(folder: Path, rank: int, ranks: int) -> Any:
    """Runs until it fails: the test cuts the link between the hosts meanwhile."""
    r = Rank(folder, rank, ranks)
    lib.call("CommSetTimeout", r.comm, 2.0)
    said, end = "", time.monotonic() + 60
    while said == "" and time.monotonic() < end:
        said = attempt(r, 50000)
        (folder / f"ready-{rank}").touch()
    r.close()
    return said


BODIES: dict[str, Callable[[Path, int, int], Any]] = {
    body.__name__: body for body in (everything, faults, joins, dies, mpi4py, large, until_cut)
}


def write(folder: Path, rank: int, answer: Any) -> None:
    written = folder / f"new-{rank}.json"
    written.write_text(json.dumps(answer))
    written.rename(folder / f"answer-{rank}.json")


def main() -> None:
    body, folder = sys.argv[1:]
    rank = setting("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK")
    ranks = setting("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE")
    if "INFINI_TEST_HOSTS" in os.environ:  # these hosts share the memory of one machine
        os.environ["INFINI_CCL_HOST"] = socket.gethostname()
    write(Path(folder), rank, BODIES[body](Path(folder), rank, ranks))


if __name__ == "__main__":
    main()
