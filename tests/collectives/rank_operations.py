"""Every collective on one rank, against NumPy: `check_all(rank)`."""

from __future__ import annotations

import ctypes

import numpy as np

from . import library as lib
from .numbers import NUMBERS, combined, draw
from .rank import Rank, address

F32, I32 = lib.DTYPES["float32"], lib.DTYPES["int32"]


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
    """Odd and even ranks in reverse order; rank 3 does not take part."""
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
    """Two communicators used concurrently, each in a stream of its own."""
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


def check_all(r: Rank) -> None:
    for each in (
        *(reductions, roots, parts_of_all, parts_of_different_size),
        *(messages, recorded, split, side_by_side),
    ):
        each(r)
