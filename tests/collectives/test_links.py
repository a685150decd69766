"""Every collective between ranks that talk over TCP, flat and host by host, against NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from . import library as lib
from .library import address
from .links import in_ranks, on_hosts, tcp
from .numbers import NUMBERS, combined, draw

SIZES = (0, 1, 17, 1000, 70001)  # none, odd, in one message, in several
PLACES = {
    "tcp-2": tcp(2),
    "tcp-3": tcp(3),
    "tcp-4": tcp(4),
    "hosts-ab": on_hosts("ab"),
    "hosts-aab": on_hosts("aab"),
    "hosts-aabb": on_hosts("aabb"),
    "hosts-abab": on_hosts("abab"),  # a host's ranks are not consecutive
    "hosts-with-the-maker": on_hosts("--ab"),
}


class Rank:
    """Calls operations, and collects what differs from what was expected."""

    def __init__(self, comm: Any, rank: int, ranks: int) -> None:
        self.comm, self.rank, self.ranks = comm, rank, ranks
        self.wrong: list[str] = []

    def call(self, name: str, *arguments: Any) -> None:
        lib.call(name, *arguments, self.comm, None)
        lib.wait(None)  # type: ignore[arg-type]
        failure = lib.failure(self.comm)
        assert not failure, failure

    def expect(self, got: Any, expected: Any, *what: Any) -> None:
        if not np.array_equal(got, expected):
            self.wrong.append(" ".join(map(str, what)))


def reduce_everything(comm: Any, rank: int, ranks: int) -> list[str]:
    me = Rank(comm, rank, ranks)
    for count in SIZES:
        for name in NUMBERS if count < 70000 else ["float32", "bfloat16", "int8"]:
            kind = lib.DTYPES[name]
            given = [draw(name, count, each) for each in range(ranks)]
            for op, number in lib.OPS.items():
                expected = combined(given, op)
                out = np.zeros_like(given[rank])
                for data in (out, given[rank].copy()):
                    source = given[rank] if data is out else data
                    me.call("AllReduce", address(source), address(data), count, kind, number)
                    me.expect(data, expected, "AllReduce", name, op, count, data is out)
    return me.wrong


def with_roots(comm: Any, rank: int, ranks: int) -> list[str]:
    me, kind = Rank(comm, rank, ranks), lib.DTYPES["float32"]
    for count in SIZES:
        parts = [draw("float32", count * ranks, each) for each in range(ranks)]
        mine, firsts = address(parts[rank]), [part[:count] for part in parts]
        for root in range(ranks):
            out = np.full(count * ranks, -1, np.float32)
            me.call("Broadcast", mine, address(out), count, kind, root)
            me.expect(out[:count], firsts[root], "Broadcast", count, root)
            out[:] = -1
            me.call("Reduce", mine, address(out), count, kind, lib.SUM, root)
            expected = combined(firsts, "sum") if rank == root else np.full(count, -1)
            me.expect(out[:count], expected, "Reduce", count, root)
            me.call("Gather", mine, address(out), count, kind, root)
            if rank == root:
                me.expect(out, np.concatenate(firsts), "Gather", count, root)
            me.call("Scatter", mine, address(out), count, kind, root)
            part = slice(rank * count, (rank + 1) * count)
            me.expect(out[:count], parts[root][part], "Scatter", count, root)
            half = parts[rank][:count].astype(np.float16)
            me.call("Reduce", address(half), address(half), count, lib.DTYPES["float16"], 4, root)
            if rank == root:
                halves = [first.astype(np.float16) for first in firsts]
                me.expect(half, combined(halves, "avg"), "Reduce in place", count, root)
    return me.wrong


def in_parts(comm: Any, rank: int, ranks: int) -> list[str]:
    me = Rank(comm, rank, ranks)
    for count in SIZES:
        kind = lib.DTYPES["int32"]
        parts = [draw("int32", count * ranks, each) for each in range(ranks)]
        mine, part = parts[rank], slice(rank * count, (rank + 1) * count)
        firsts = np.concatenate([each[:count] for each in parts])
        out = np.full(count * ranks, -1, np.int32)
        me.call("AllGather", address(mine), address(out), count, kind)
        me.expect(out, firsts, "AllGather", count)
        out[:] = -1
        out[part] = mine[:count]
        me.call("AllGather", address(out[part]), address(out), count, kind)
        me.expect(out, firsts, "AllGather in place", count)
        me.call("AllToAll", address(mine), address(out), count, kind)
        me.expect(out, np.concatenate([each[part] for each in parts]), "AllToAll", count)
        for op in ("sum", "avg"):
            total = combined(parts, op)[part]
            me.call("ReduceScatter", address(mine), address(out), count, kind, lib.OPS[op])
            me.expect(out[:count], total, "ReduceScatter", op, count)
            whole = mine.copy()
            target = whole[part]
            me.call("ReduceScatter", address(whole), address(target), count, kind, lib.OPS[op])
            me.expect(target, total, "ReduceScatter in place", op, count)
        different_parts(me, count)
    return me.wrong


def different_parts(me: Rank, count: int) -> None:
    rank, ranks = me.rank, me.ranks
    for name in ("int16", "bfloat16"):
        kind = lib.DTYPES[name]
        sizes = [count * (each % 3) for each in range(ranks)]
        begin, numbers = np.cumsum([0, *sizes]), lib.counts(sizes)
        parts = [draw(name, sum(sizes), each) for each in range(ranks)]
        out = np.zeros_like(parts[rank])
        me.call("AllGatherV", address(parts[rank]), address(out), numbers, ranks, kind)
        expected = np.concatenate([p[:n] for p, n in zip(parts, sizes, strict=True)])
        me.expect(out, expected, "AllGatherV", name, count)
        me.call("ReduceScatterV", address(parts[rank]), address(out), numbers, ranks, kind, lib.SUM)
        total = combined(parts, "sum")[begin[rank] : begin[rank + 1]]
        me.expect(out[: sizes[rank]], total, "ReduceScatterV", name, count)
        # From i to j go (i + j) % 3 times `count`.
        table = [[count * ((i + j) % 3) for j in range(ranks)] for i in range(ranks)]
        given = [draw(name, sum(row), each) for each, row in enumerate(table)]
        taken = np.zeros_like(given[rank])
        counts = lib.counts(table[rank])
        me.call("AllToAllV", address(given[rank]), address(taken), counts, counts, ranks, kind)
        pieces = [given[i][sum(table[i][:rank]) :][: table[i][rank]] for i in range(ranks)]
        me.expect(taken, np.concatenate(pieces), "AllToAllV", name, count)


def messages(comm: Any, rank: int, ranks: int) -> list[str]:
    """All to all, several at once, in an order that would deadlock one at a time."""
    me, kind = Rank(comm, rank, ranks), lib.DTYPES["float64"]
    for count in (0, 1, 1000, 300001):
        given = [draw("float64", count, each) for each in range(ranks)]
        taken = [[np.zeros(count) for _ in range(2)] for _ in range(ranks)]
        lib.call("GroupStart", None)
        for turn in range(2):
            for peer in range(ranks):
                lib.call("Send", address(given[rank]), count, kind, peer, comm, None)
                lib.call("Recv", address(taken[peer][turn]), count, kind, peer, comm, None)
        lib.call("GroupEnd", None)
        lib.wait(None)  # type: ignore[arg-type]
        for peer in range(ranks):
            for turn in range(2):
                me.expect(taken[peer][turn], given[peer], "message", count, peer, turn)
        # A ring, one message each, without a group.
        token = np.full(1, rank, np.float64)
        if rank > 0:
            me.call("Recv", address(token), 1, kind, rank - 1)
            me.expect(token, [rank - 1], "ring", rank)
        if rank < ranks - 1:
            me.call("Send", address(np.full(1, rank, np.float64)), 1, kind, rank + 1)
    made = ctypes.c_void_p()
    lib.call("CommSplit", comm, rank % 2, -rank, ctypes.byref(made))
    split = ctypes.c_int()
    lib.call("CommRank", made, ctypes.byref(split))
    if split.value != (ranks - 1 - rank) // 2:
        me.wrong.append("CommSplit")
    lib.call("CommDestroy", made)
    return me.wrong


def everything(comm: Any, rank: int, ranks: int) -> list[str]:
    return [
        wrong
        for body in (reduce_everything, with_roots, in_parts, messages)
        for wrong in body(comm, rank, ranks)
    ]


@pytest.mark.parametrize("where", PLACES)
def test_everything(where: str) -> None:
    told = in_ranks(everything, PLACES[where])
    assert told == {rank: [] for rank in range(len(PLACES[where]))}
