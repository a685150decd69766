"""What one rank of a test does that was started by mpirun, or on one of several hosts:
`python -m tests.collectives.rank_program BODY FOLDER`.

Ranks hand their ids around, and their answers back, through files in the folder.
"""

from __future__ import annotations

import ctypes
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
from .test_one_process import NUMBERS, combined, draw

F32, I32 = lib.DTYPES["float32"], lib.DTYPES["int32"]


def address(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def setting(*names: str) -> int:
    return next(int(os.environ[name]) for name in names if name in os.environ)


def hand_around(folder: Path, rank: int, name: str = "id") -> lib.UniqueId:
    """An id of rank 0, for all."""
    file = folder / name
    if rank == 0:
        written = folder / (name + ".new")
        written.write_bytes(bytes(lib.unique_id()))
        written.rename(file)
    end = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < end, "rank 0 gives no id"
        time.sleep(0.005)
    return lib.UniqueId.from_buffer_copy(file.read_bytes())


class Rank:
    """One rank of a communicator; each call waits until it is done."""

    def __init__(self, folder: Path, rank: int, ranks: int, name: str = "id") -> None:
        self.rank, self.ranks, self.folder = rank, ranks, folder
        self.comm = lib.join(ranks, hand_around(folder, rank, name), rank)
        lib.call("CommSetTimeout", self.comm, 30.0)
        self.stream = lib.new_stream()
        self.checks = 0
        self.wrong: list[str] = []

    def do(self, name: str, *arguments: Any) -> None:
        lib.call(name, *arguments, self.comm, self.stream)
        lib.wait(self.stream)
        said = lib.failure(self.comm)
        assert said == "", said

    def check(self, what: str, got: Any, expected: Any) -> None:
        self.checks += 1
        if not np.array_equal(got, expected):
            self.wrong.append(what)

    def close(self) -> None:
        lib.call("CommDestroy", self.comm)


def reductions(r: Rank) -> None:
    for count in (0, 1, 17, 1000, 70001):
        for name in NUMBERS if count < 70000 else ["float32", "bfloat16", "int8"]:
            parts = [draw(name, count, rank) for rank in range(r.ranks)]
            for op, number in lib.OPS.items():
                expected = combined(parts, op)
                for in_place in (False, True):
                    given = parts[r.rank].copy()
                    out = given if in_place else np.zeros_like(given)
                    kind = lib.DTYPES[name]
                    r.do("AllReduce", address(given), address(out), count, kind, number)
                    r.check(f"AllReduce {count} {name} {op} {in_place}", out, expected)


def roots(r: Rank) -> None:
    for count in (0, 3, 1000, 70001):
        parts = [draw("float32", count * r.ranks, rank) for rank in range(r.ranks)]
        mine = parts[r.rank]
        for root in (0, r.ranks - 1):
            out = np.full(count * r.ranks, -1, np.float32)
            both, is_root = (address(mine), address(out)), r.rank == root
            untouched = out.copy()
            r.do("Broadcast", *both, count, F32, root)
            r.check(f"Broadcast {count}", out[:count], parts[root][:count])
            out[:] = -1
            r.do("Reduce", *both, count, F32, lib.SUM, root)
            total = combined([p[:count] for p in parts], "sum")
            r.check(f"Reduce {count}", out[:count], total if is_root else untouched[:count])
            out[:] = -1
            r.do("Gather", *both, count, F32, root)
            all_parts = np.concatenate([p[:count] for p in parts])
            r.check(f"Gather {count}", out, all_parts if is_root else untouched)
            r.do("Scatter", *both, count, F32, root)
            part = slice(r.rank * count, (r.rank + 1) * count)
            r.check(f"Scatter {count}", out[:count], parts[root][part])
            # In place, where root's part of the larger buffer is the smaller one.
            whole = mine.copy()
            own = address(whole[root * count :]) if is_root else address(whole)
            r.do("Gather", own, address(whole), count, F32, root)
            if is_root:
                here = slice(root * count, (root + 1) * count)
                expected = all_parts.copy()
                expected[here] = mine[here]
                r.check(f"Gather in place {count}", whole, expected)


def parts_of_all(r: Rank) -> None:
    for count in (0, 5, 1000, 70001):
        parts = [draw("int32", count * r.ranks, rank) for rank in range(r.ranks)]
        mine, total = parts[r.rank], combined(parts, "sum")
        here = slice(r.rank * count, (r.rank + 1) * count)
        out = np.full(count * r.ranks, -1, np.int32)
        r.do("AllGather", address(mine), address(out), count, I32)
        r.check(f"AllGather {count}", out, np.concatenate([p[:count] for p in parts]))
        r.do("ReduceScatter", address(mine), address(out), count, I32, lib.SUM)
        r.check(f"ReduceScatter {count}", out[:count], total[here])
        r.do("AllToAll", address(mine), address(out), count, I32)
        r.check(f"AllToAll {count}", out, np.concatenate([p[here] for p in parts]))
        whole = mine.copy()
        r.do("AllGather", address(whole[here]), address(whole), count, I32)
        own = [p[i * count : (i + 1) * count] for i, p in enumerate(parts)]
        r.check(f"AllGather in place {count}", whole, np.concatenate(own))
        whole = mine.copy()
        r.do("ReduceScatter", address(whole), address(whole[here]), count, I32, lib.SUM)
        r.check(f"ReduceScatter in place {count}", whole[here], total[here])


def parts_of_different_size(r: Rank) -> None:
    kind = lib.DTYPES["int16"]
    for count in (0, 7, 30001):
        sizes = [count * (rank % 3) for rank in range(r.ranks)]
        begin = np.cumsum([0, *sizes])
        parts = [draw("int16", sum(sizes), rank) for rank in range(r.ranks)]
        out = np.full(sum(sizes), -1, np.int16)
        both, numbers = (address(parts[r.rank]), address(out)), lib.counts(sizes)
        r.do("AllGatherV", *both, numbers, r.ranks, kind)
        expected = np.concatenate([p[:n] for p, n in zip(parts, sizes, strict=True)])
        r.check(f"AllGatherV {count}", out, expected)
        r.do("ReduceScatterV", *both, numbers, r.ranks, kind, lib.MAX)
        total = combined(parts, "max")
        mine = total[begin[r.rank] : begin[r.rank + 1]]
        r.check(f"ReduceScatterV {count}", out[: sizes[r.rank]], mine)
        # From i to j go (i + j) % 3 times `count`.
        table = [[count * ((i + j) % 3) for j in range(r.ranks)] for i in range(r.ranks)]
        given = [draw("int16", sum(row), rank) for rank, row in enumerate(table)]
        column = [row[r.rank] for row in table]
        taken = np.full(sum(column), -1, np.int16)
        r.do(
            "AllToAllV",
            address(given[r.rank]),
            address(taken),
            lib.counts(table[r.rank]),
            lib.counts(column),
            r.ranks,
            kind,
        )
        pieces = [given[i][sum(row[: r.rank]) :][: row[r.rank]] for i, row in enumerate(table)]
        r.check(f"AllToAllV {count}", taken, np.concatenate(pieces))


def messages(r: Rank) -> None:
    """A ring in both directions, two messages each way."""
    kind = lib.DTYPES["float64"]
    for count in (0, 1, 1000, 70001):
        given = draw("float64", count, r.rank)
        before, after = (r.rank - 1) % r.ranks, (r.rank + 1) % r.ranks
        taken = {peer: [np.zeros(count), np.zeros(count)] for peer in (before, after)}
        lib.call("GroupStart", None)
        for peer in taken:
            for number in range(2):
                here = address(taken[peer][number])
                lib.call("Send", address(given), count, kind, peer, r.comm, r.stream)
                lib.call("Recv", here, count, kind, peer, r.comm, r.stream)
        lib.call("GroupEnd", None)
        lib.wait(r.stream)
        for peer, got in taken.items():
            for each in got:
                r.check(f"messages {count} of {peer}", each, draw("float64", count, peer))


def recorded(r: Rank) -> None:
    rt, count = lib.rt, 5000
    data = np.zeros(count, np.float32)
    graph, runnable = ctypes.c_void_p(), ctypes.c_void_p()
    assert rt.infinirtStreamBeginCapture(r.stream, 2) == 0
    here = address(data)
    lib.call("AllReduce", here, here, count, F32, lib.SUM, r.comm, r.stream)
    assert rt.infinirtStreamEndCapture(r.stream, ctypes.byref(graph)) == 0
    nothing = ctypes.c_size_t(0)
    assert rt.infinirtGraphInstantiate(ctypes.byref(runnable), graph, None, None, nothing) == 0
    for turn in (1, 2, 3):
        data[:] = turn * (r.rank + 1)
        assert rt.infinirtGraphLaunch(runnable, r.stream) == 0
        lib.wait(r.stream)
        r.check("replayed", data, np.full(count, turn * r.ranks * (r.ranks + 1) / 2, np.float32))
    assert rt.infinirtGraphExecDestroy(runnable) == 0
    assert rt.infinirtGraphDestroy(graph) == 0


def split(r: Rank) -> None:
    """Odd and even ranks, the last first; rank 3 stays out."""
    made = ctypes.c_void_p()
    color = -1 if r.rank == 3 else r.rank % 2
    lib.call("CommSplit", r.comm, color, -r.rank, ctypes.byref(made))
    if color < 0:
        r.check("split", bool(made.value), False)
        return
    members = [rank for rank in reversed(range(r.ranks)) if rank != 3 and rank % 2 == color]
    count, rank = ctypes.c_int(), ctypes.c_int()
    lib.call("CommCount", made, ctypes.byref(count))
    lib.call("CommRank", made, ctypes.byref(rank))
    r.check("split", [count.value, rank.value], [len(members), members.index(r.rank)])
    data = np.full(3000, r.rank + 1, np.float32)
    lib.call("AllReduce", address(data), address(data), 3000, F32, lib.SUM, made, r.stream)
    lib.wait(r.stream)
    r.check("sum of a part", data, np.full(3000, sum(members) + len(members), np.float32))
    lib.call("CommDestroy", made)


def side_by_side(r: Rank) -> None:
    """Two communicators at work at once, each in a stream of its own."""
    other = ctypes.c_void_p()
    lib.call("CommSplit", r.comm, 0, r.rank, ctypes.byref(other))
    streams = [lib.new_stream(), lib.new_stream()]
    data = [np.full(20000 + 7 * i, r.rank + i, np.float32) for i in range(2)]
    for _ in range(10):
        for comm, stream, each in zip((r.comm, other), streams, data, strict=True):
            here = address(each)
            lib.call("AllReduce", here, here, each.size, F32, lib.MAX, comm, stream)
    for i, stream in enumerate(streams):
        lib.wait(stream)
        r.check("side by side", data[i], np.full_like(data[i], r.ranks - 1 + i))
    lib.call("CommDestroy", other)


def libraries() -> list[str]:
    """Of MPI, that this process has opened."""
    files = {line.rpartition("/")[2] for line in Path("/proc/self/maps").read_text().splitlines()}
    return sorted(name for name in files if name.startswith("libmpi"))


def everything(folder: Path, rank: int, ranks: int) -> Any:
    r = Rank(folder, rank, ranks)
    for each in (
        *(reductions, roots, parts_of_all, parts_of_different_size),
        *(messages, recorded, split, side_by_side),
    ):
        each(r)
    r.close()
    return {"checks": r.checks, "wrong": r.wrong, "libraries": libraries()}


def attempt(r: Rank, count: int, name: str = "AllReduce") -> str:
    """What a rank is told of a call: nothing when all is well."""
    data = np.ones(count, np.float32)
    last = lib.SUM if name == "AllReduce" else 0
    try:
        lib.call(name, address(data), address(data), count, F32, last, r.comm, r.stream)
    except lib.CclError as error:
        return str(error)
    lib.wait(r.stream)
    return lib.failure(r.comm)


def faults(folder: Path, rank: int, ranks: int) -> Any:
    """One after the other, each on a communicator of its own."""
    last, told = ranks - 1, {}

    def scene(name: str) -> Rank:
        return Rank(folder, rank, ranks, name)

    r = scene("other count")
    told["other count"] = attempt(r, 5 if rank == last else 4)
    told["after that"] = attempt(r, 4)
    r.close()
    r = scene("other size")  # too large to go along with the announcement
    told["other size"] = attempt(r, 100001 if rank == last else 100000)
    r.close()
    r = scene("other operation")
    told["other operation"] = attempt(r, 4, "Broadcast" if rank == last else "AllReduce")
    r.close()
    r = scene("abort")
    if rank == last:
        time.sleep(0.1)
        lib.call("CommAbort", r.comm)
    else:
        told["abort"] = attempt(r, 4)
        r.close()
    r = scene("leave")
    if rank != last:
        told["leave"] = attempt(r, 4)
    r.close()
    r = scene("late")
    lib.call("CommSetTimeout", r.comm, 0.5)
    if rank == last:
        time.sleep(1.5)
    else:
        told["late"] = attempt(r, 4)
    r.close()
    r = scene("well")  # nothing of all this stands in the way
    told["well"] = attempt(r, 4)
    r.close()
    return told


def never_joins(folder: Path, rank: int, ranks: int) -> Any:
    """The last rank starts MPI, for a communicator without the others, and comes no more."""
    alone = folder / "alone"
    if rank == ranks - 1:
        alone.mkdir()
        Rank(alone, 0, 1).close()
        return "stayed away"
    os.environ["INFINI_CCL_TIMEOUT"] = "2"
    try:
        Rank(folder, rank, ranks)
    except lib.CclError as error:
        return str(error)
    return ""


def dies(folder: Path, rank: int, ranks: int) -> Any:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # MPICH's launcher tells of a death by it
    r = Rank(folder, rank, ranks)
    lib.call("CommSetTimeout", r.comm, 10.0)
    assert attempt(r, 4) == ""
    if rank == ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    answer = attempt(r, 4)
    write(folder, rank, answer)
    r.close()
    return answer


def exits(folder: Path, rank: int, ranks: int) -> Any:
    """The last rank ends without a word, as after an exception."""
    r = Rank(folder, rank, ranks)
    if rank == ranks - 1:
        return "ended"
    answer = attempt(r, 4)
    r.close()
    return answer


def mpi4py(folder: Path, rank: int, ranks: int) -> Any:
    """The program uses MPI itself: it stays usable, before, during and after."""
    from mpi4py import MPI  # type: ignore[import-not-found]

    world = MPI.COMM_WORLD
    assert world.allreduce(1) == ranks
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        try:
            Rank(folder, rank, ranks)
        except lib.CclError as error:
            return str(error)
    r = Rank(folder, rank, ranks)
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
    """Works until it fails: the test cuts the link between the hosts meanwhile."""
    r = Rank(folder, rank, ranks)
    lib.call("CommSetTimeout", r.comm, 1.0)
    said, end = "", time.monotonic() + 60
    while said == "" and time.monotonic() < end:
        said = attempt(r, 50000)
        (folder / f"ready-{rank}").touch()
    r.close()
    return said


BODIES: dict[str, Callable[[Path, int, int], Any]] = {
    body.__name__: body
    for body in (everything, faults, never_joins, dies, exits, mpi4py, large, until_cut)
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
