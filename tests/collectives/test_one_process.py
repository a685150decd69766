"""Every collective between ranks of one process, against NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from . import library as lib
from .library import address
from .numbers import NUMBERS, combined, draw, dtype_of

RANKS = [1, 2, 3, 4, 8]
SIZES = [0, 1, 17, 1000, 70001]


def equal(got: Any, expected: Any, ranks: int) -> bool:
    """The CPU rounds once; vendors' libraries round floats of 16 bits and more at each step."""
    if lib.DEVICE == "cpu" or expected.dtype.kind in "iu" or expected.dtype.itemsize == 1:
        return bool(np.array_equal(got, expected))
    step = float(ml_dtypes.finfo(expected.dtype).eps)
    numbers = got.astype(np.float64), expected.astype(np.float64)
    return bool(np.allclose(*numbers, rtol=ranks * step, atol=ranks * step))


class World:
    """Ranks of this process, each with a stream; a call is made for all of them in a group."""

    def __init__(self, comms: list[ctypes.c_void_p]) -> None:
        self.comms = comms
        self.streams = [lib.new_stream(rank) for rank in range(len(comms))]

    def each(self, name: str, arguments: Any) -> None:
        lib.call("GroupStart", None)
        for rank, (comm, stream) in enumerate(zip(self.comms, self.streams, strict=True)):
            lib.use(rank)
            lib.call(name, *arguments(rank), comm, stream)
        lib.call("GroupEnd", None)
        for stream in self.streams:
            lib.wait(stream)
        lib.fetch()
        for comm in self.comms:
            assert lib.failure(comm) == ""


def check_reduction(world: World, name: str, op: str, count: int, in_place: bool) -> None:
    ranks = len(world.comms)
    given = [draw(name, count, rank) for rank in range(ranks)]
    expected = combined(given, op)
    out = given if in_place else [np.zeros_like(part) for part in given]
    kind, number = lib.DTYPES[name], lib.OPS[op]
    world.each("AllReduce", lambda r: (address(given[r]), address(out[r]), count, kind, number))
    for rank in range(ranks):
        assert equal(out[rank], expected, ranks), (name, op, in_place, rank)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("count", SIZES)
def test_reductions(ranks: int, count: int) -> None:
    with lib.communicators(ranks) as comms:
        world = World(comms)
        for name in NUMBERS if count < 70000 else ["float32", "bfloat16", "int8"]:
            for op in lib.OPS:
                for in_place in (False, True):
                    check_reduction(world, name, op, count, in_place)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_averages_of_small_integers_do_not_wrap(name: str) -> None:
    kind, top = lib.DTYPES[name], int(np.iinfo(name).max)
    lowest = [0, 7 if name.startswith("u") else -7]
    given = [np.array([top, top - 1, low, 0], name) for low in lowest]
    out = [np.zeros(4, name) for _ in given]
    part = [np.zeros(2, name) for _ in given]
    expected = np.array([top, top - 1, 3 if name.startswith("u") else -3, 0], name)
    with lib.communicators(2) as comms:
        world = World(comms)
        world.each("AllReduce", lambda r: (address(given[r]), address(out[r]), 4, kind, lib.AVG))
        assert all(np.array_equal(each, expected) for each in out)
        world.each(
            "ReduceScatter", lambda r: (address(given[r]), address(part[r]), 2, kind, lib.AVG)
        )
        assert np.array_equal(np.concatenate(part), expected)
        world.each("Reduce", lambda r: (address(given[r]), address(out[r]), 4, kind, lib.AVG, 1))
        assert np.array_equal(out[1], expected)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("last", [False, True])
def test_roots(ranks: int, count: int, last: bool) -> None:
    root, kind = (ranks - 1 if last else 0), lib.DTYPES["float32"]
    parts = [draw("float32", count * ranks, rank) for rank in range(ranks)]
    out = [np.full(count * ranks, -1, np.float32) for _ in range(ranks)]

    def with_root(rank: int) -> Any:
        return address(parts[rank]), address(out[rank]), count, kind, root

    with lib.communicators(ranks) as comms:
        world = World(comms)
        world.each("Broadcast", with_root)
        assert all(np.array_equal(o[:count], parts[root][:count]) for o in out)
        world.each("Reduce", lambda r: (*with_root(r)[:4], lib.SUM, root))
        assert np.array_equal(out[root][:count], combined([p[:count] for p in parts], "sum"))
        world.each("Gather", with_root)
        assert np.array_equal(out[root], np.concatenate([p[:count] for p in parts]))
        world.each("Scatter", with_root)
        for rank, o in enumerate(out):
            assert np.array_equal(o[:count], parts[root][rank * count : (rank + 1) * count])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("count", SIZES)
def test_parts(ranks: int, count: int) -> None:
    with lib.communicators(ranks) as comms:
        world = World(comms)
        parts = [draw("int32", count * ranks, rank) for rank in range(ranks)]
        kind = lib.DTYPES["int32"]
        out = [np.full(count * ranks, -1, np.int32) for _ in range(ranks)]
        world.each("AllGather", lambda r: (address(parts[r]), address(out[r]), count, kind))
        assert all(np.array_equal(o, np.concatenate([p[:count] for p in parts])) for o in out)
        world.each(
            "ReduceScatter", lambda r: (address(parts[r]), address(out[r]), count, kind, lib.SUM)
        )
        total = combined(parts, "sum")
        for rank, o in enumerate(out):
            assert np.array_equal(o[:count], total[rank * count : (rank + 1) * count])
        world.each("AllToAll", lambda r: (address(parts[r]), address(out[r]), count, kind))
        for rank, o in enumerate(out):
            mine = slice(rank * count, (rank + 1) * count)
            assert np.array_equal(o, np.concatenate([p[mine] for p in parts]))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("count", SIZES)
def test_parts_of_different_size(ranks: int, count: int) -> None:
    kind = lib.DTYPES["int16"]
    sizes = [count * (rank % 3) for rank in range(ranks)]
    begin = np.cumsum([0, *sizes])
    with lib.communicators(ranks) as comms:
        world = World(comms)
        parts = [draw("int16", sum(sizes), rank) for rank in range(ranks)]
        out = [np.full(sum(sizes), -1, np.int16) for _ in range(ranks)]
        numbers = lib.counts(sizes)
        world.each(
            "AllGatherV", lambda r: (address(parts[r]), address(out[r]), numbers, ranks, kind)
        )
        expected = np.concatenate([p[:n] for p, n in zip(parts, sizes, strict=True)])
        assert all(np.array_equal(o, expected) for o in out)
        world.each(
            "ReduceScatterV",
            lambda r: (address(parts[r]), address(out[r]), numbers, ranks, kind, lib.MAX),
        )
        total = combined(parts, "max")
        for rank, o in enumerate(out):
            assert np.array_equal(o[: sizes[rank]], total[begin[rank] : begin[rank + 1]])
        # From i to j go (i + j) % 3 times `count`.
        table = [[count * ((i + j) % 3) for j in range(ranks)] for i in range(ranks)]
        given = [draw("int16", sum(row), rank) for rank, row in enumerate(table)]
        taken = [np.full(sum(row[j] for row in table), -1, np.int16) for j in range(ranks)]
        world.each(
            "AllToAllV",
            lambda r: (
                address(given[r]),
                address(taken[r]),
                lib.counts(table[r]),
                lib.counts([row[r] for row in table]),
                ranks,
                kind,
            ),
        )
        for j in range(ranks):
            pieces = [given[i][sum(table[i][:j]) :][: table[i][j]] for i in range(ranks)]
            assert np.array_equal(taken[j], np.concatenate(pieces))


@pytest.mark.parametrize("count", SIZES)
def test_messages(count: int) -> None:
    """A ring in both directions, and several messages between the same two."""
    ranks, kind = 3, lib.DTYPES["float64"]
    with lib.communicators(ranks) as comms:
        streams = [lib.new_stream(rank) for rank in range(ranks)]
        given = [draw("float64", count, rank) for rank in range(ranks)]
        taken = [[np.zeros(count) for _ in range(4)] for _ in range(ranks)]
        lib.call("GroupStart", None)
        for rank, (comm, stream) in enumerate(zip(comms, streams, strict=True)):
            before, after = (rank - 1) % ranks, (rank + 1) % ranks
            lib.use(rank)
            for number, peer in enumerate((before, before, after, after)):
                lib.call("Send", address(given[rank]), count, kind, peer, comm, stream)
                lib.call("Recv", address(taken[rank][number]), count, kind, peer, comm, stream)
        lib.call("GroupEnd", None)
        for stream in streams:
            lib.wait(stream)
        lib.fetch()
        for rank in range(ranks):
            for number, peer in enumerate(((rank - 1) % ranks,) * 2 + ((rank + 1) % ranks,) * 2):
                assert np.array_equal(taken[rank][number], given[peer])


@pytest.mark.parametrize("name", ["bool", "complex64"])
def test_what_has_no_arithmetic_is_moved_not_combined(name: str) -> None:
    kind = lib.DTYPES[name]
    parts = [draw(name, 10, rank) for rank in range(2)]
    out = [np.zeros(20, dtype_of(name)) for _ in range(2)]
    with lib.communicators(2) as comms:
        World(comms).each("AllGather", lambda r: (address(parts[r]), address(out[r]), 10, kind))
        assert np.array_equal(out[1], np.concatenate(parts))
        with pytest.raises(lib.CclError, match="moved, not combined"):
            lib.call("AllReduce", address(out[0]), address(out[0]), 4, kind, 0, comms[0], None)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", ["float32", "int16"])
def test_recorded_and_replayed(name: str, ranks: int) -> None:
    """A captured collective runs at each replay, with the current data."""
    rt, count, kind = lib.rt, 5000, lib.DTYPES[name]
    with lib.communicators(ranks) as comms:
        streams = [lib.new_stream(rank) for rank in range(ranks)]
        data = [np.zeros(count, dtype_of(name)) for _ in comms]
        graphs, execs = [ctypes.c_void_p() for _ in comms], [ctypes.c_void_p() for _ in comms]
        there = []
        for rank in range(ranks):
            lib.use(rank)
            there.append(address(data[rank]))
        for stream in streams:
            assert rt.infinirtStreamBeginCapture(stream, 2) == 0
        lib.call("GroupStart", None)
        for here, comm, stream in zip(there, comms, streams, strict=True):
            lib.call("AllReduce", here, here, count, kind, lib.SUM, comm, stream)
        lib.call("GroupEnd", None)
        for rank in range(ranks):
            assert rt.infinirtStreamEndCapture(streams[rank], ctypes.byref(graphs[rank])) == 0
            assert (
                rt.infinirtGraphInstantiate(
                    ctypes.byref(execs[rank]), graphs[rank], None, None, ctypes.c_size_t(0)
                )
                == 0
            )
        for turn in (1, 2, 3):
            for rank in range(ranks):
                data[rank][:] = turn * (rank + 1)
                lib.upload(data[rank])
            for rank in range(ranks):
                assert rt.infinirtGraphLaunch(execs[rank], streams[rank]) == 0
            for rank in range(ranks):
                lib.wait(streams[rank])
                lib.download(data[rank])
            assert all((d == turn * ranks * (ranks + 1) // 2).all() for d in data)
        for rank in range(ranks):
            assert rt.infinirtGraphExecDestroy(execs[rank]) == 0
            assert rt.infinirtGraphDestroy(graphs[rank]) == 0
        lib.fetch()


def test_streams_of_one_communicator_keep_the_order_of_calls() -> None:
    with lib.communicators(2) as comms:
        first, second = ([lib.new_stream(rank) for rank in range(2)] for _ in range(2))
        data = [np.full(3000, rank + 1, np.float32) for rank in range(2)]
        there = []
        for rank in range(2):
            lib.use(rank)
            there.append(address(data[rank]))
        kind = lib.DTYPES["float32"]
        for _ in range(50):
            for streams in (first, second):
                lib.call("GroupStart", None)
                for here, comm, stream in zip(there, comms, streams, strict=True):
                    lib.call("AllReduce", here, here, 3000, kind, lib.MAX, comm, stream)
                lib.call("GroupEnd", None)
        for stream in (*first, *second):
            lib.wait(stream)
        lib.fetch()
        assert all((d == 2).all() for d in data)


def test_split() -> None:
    with lib.communicators(4) as comms:
        made = [ctypes.c_void_p() for _ in comms]
        lib.call("GroupStart", None)
        for rank, comm in enumerate(comms):
            # Odd and even ranks in reverse order; rank 3 does not take part.
            color = -1 if rank == 3 else rank % 2
            lib.call("CommSplit", comm, color, -rank, ctypes.byref(made[rank]))
        lib.call("GroupEnd", None)
        seen = []
        for handle in made[:3]:
            count, rank = ctypes.c_int(), ctypes.c_int()
            lib.call("CommCount", handle, ctypes.byref(count))
            lib.call("CommRank", handle, ctypes.byref(rank))
            seen.append((count.value, rank.value))
            lib.call("CommDestroy", handle)
        assert seen == [(2, 1), (1, 0), (2, 0)]
        assert not made[3].value
