"""Values of collectives over data that exposes errors: negative, fractional, large next to small,
NaN and infinities; every operation, data type and number of ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import library as lib
from .links import in_ranks, on_hosts, tcp
from .numbers import NUMBERS, agrees, draw_hard, dtype_of

# Elements of a rank's part: one that is sent with an announcement, and one that is not.
COUNTS = [33, 2100]
ALL = [*NUMBERS, "bool", "complex64"]
ROUNDS_ONCE = lib.DEVICE == "cpu"

# run(name, send, recv, *arguments): a call of all ranks; those of this process, by rank.
Run = Callable[..., None]


def part_sizes(count: int, ranks: int) -> list[int]:
    return [count * (rank % 3) for rank in range(ranks)]


class Values:
    """Checks the results of the ranks of this process."""

    def __init__(self, ranks: int, here: list[int], run: Run) -> None:
        self.ranks, self.here, self.run = ranks, here, run
        self.wrong: list[str] = []

    def expect(self, fact: bool, *words: Any) -> None:
        if not fact:
            self.wrong.append(" ".join(map(str, words)))

    def empty(self, like: Any, count: int) -> dict[int, Any]:
        return {rank: np.zeros(count, like.dtype) for rank in self.here}

    def reductions(self, name: str, op: str, count: int) -> None:
        ranks, kind, number = self.ranks, lib.DTYPES[name], lib.OPS[op]
        parts = [draw_hard(name, count * ranks, rank, ranks, op) for rank in range(ranks)]
        words = (f"{name} {op} {count} of {ranks}",)

        def check(what: str, got: Any, begin: int, length: int) -> None:
            there = [part[begin : begin + length] for part in parts]
            result = got[:length]
            if not ROUNDS_ONCE and op in ("max", "min") and dtype_of(name).kind not in "iu":
                known = ~np.isnan(np.stack(there).astype(np.float64)).any(axis=0)
                there, result = [part[known] for part in there], result[known]
            self.expect(agrees(result, there, op, ROUNDS_ONCE), what, *words)

        out = self.empty(parts[0], count * ranks)
        self.run("AllReduce", parts, out, count * ranks, kind, number)
        first = out[self.here[0]]
        check("AllReduce", first, 0, count * ranks)
        for rank in self.here:
            self.expect(out[rank].tobytes() == first.tobytes(), "other bits on", rank, *words)
        root = ranks // 2
        out = self.empty(parts[0], count * ranks)
        self.run("Reduce", parts, out, count * ranks, kind, number, root)
        if root in self.here:
            check("Reduce", out[root], 0, count * ranks)
        out = self.empty(parts[0], count)
        self.run("ReduceScatter", parts, out, count, kind, number)
        for rank in self.here:
            check(f"ReduceScatter on {rank}", out[rank], rank * count, count)
        sizes = part_sizes(count, ranks)
        out = self.empty(parts[0], 2 * count)
        self.run("ReduceScatterV", parts, out, lib.counts(sizes), ranks, kind, number)
        for rank in self.here:
            check(f"ReduceScatterV on {rank}", out[rank], sum(sizes[:rank]), sizes[rank])

    def moves(self, name: str, count: int) -> None:
        """Compares bits, whatever they mean."""
        ranks, kind = self.ranks, lib.DTYPES[name]
        bits = [
            np.random.default_rng([rank, count]).bytes(count * ranks * 16) for rank in range(ranks)
        ]
        parts = [np.frombuffer(b, dtype_of(name))[: count * ranks].copy() for b in bits]
        if name == "bool":
            parts = [part.view(np.uint8) % 2 == 1 for part in parts]
        own = [part[:count] for part in parts]
        root, sizes = ranks - 1, part_sizes(count, ranks)

        def check(what: str, got: Any, expected: Any) -> None:
            same = got[: len(expected)].tobytes() == expected.tobytes()
            self.expect(same, what, name, count, "of", ranks)

        def run(what: str, *arguments: Any) -> dict[int, Any]:
            out = self.empty(parts[0], count * ranks)
            self.run(what, parts, out, *arguments)
            return out

        out = run("Gather", count, kind, root)
        if root in self.here:
            check("Gather", out[root], np.concatenate(own))
        out = run("AllGather", count, kind)
        for rank in self.here:
            check(f"AllGather on {rank}", out[rank], np.concatenate(own))
        out = run("AllGatherV", lib.counts(sizes), ranks, kind)
        mixed = [part[:size] for part, size in zip(parts, sizes, strict=True)]
        for rank in self.here:
            check(f"AllGatherV on {rank}", out[rank], np.concatenate(mixed))
        out = run("Scatter", count, kind, root)
        for rank in self.here:
            check(f"Scatter on {rank}", out[rank], parts[root][rank * count :][:count])
        out = run("AllToAll", count, kind)
        for rank in self.here:
            pieces = [part[rank * count :][:count] for part in parts]
            check(f"AllToAll on {rank}", out[rank], np.concatenate(pieces))
        out = run("Broadcast", count * ranks, kind, root)
        for rank in self.here:
            check(f"Broadcast on {rank}", out[rank], parts[root])

    def everything(self) -> list[str]:
        for count in COUNTS:
            for name in NUMBERS:
                for op in lib.OPS:
                    self.reductions(name, op, count)
            for name in ALL:
                self.moves(name, count)
        return self.wrong


@pytest.mark.parametrize("ranks", range(2, 9))
def test_in_one_process(ranks: int) -> None:
    with lib.communicators(ranks) as comms:
        streams = [lib.new_stream(rank) for rank in range(ranks)]

        def run(name: str, parts: list[Any], out: dict[int, Any], *arguments: Any) -> None:
            lib.call("GroupStart", None)
            for rank, (comm, stream) in enumerate(zip(comms, streams, strict=True)):
                lib.use(rank)
                both = lib.address(parts[rank]), lib.address(out[rank])
                lib.call(name, *both, *arguments, comm, stream)
            lib.call("GroupEnd", None)
            for stream in streams:
                lib.wait(stream)
            lib.fetch()

        assert Values(ranks, list(range(ranks)), run).everything() == []


def on_one_rank(comm: Any, rank: int, ranks: int) -> list[str]:
    def run(name: str, parts: list[Any], out: dict[int, Any], *arguments: Any) -> None:
        both = parts[rank].ctypes.data, out[rank].ctypes.data
        lib.call(name, *both, *arguments, comm, None)
        lib.wait(None)  # type: ignore[arg-type]

    return Values(ranks, [rank], run).everything()


@pytest.mark.requires("host")
@pytest.mark.parametrize("ranks", range(2, 9))
def test_between_processes(ranks: int) -> None:
    told = in_ranks(on_one_rank, [{}] * ranks)
    assert told == {rank: [] for rank in range(ranks)}


@pytest.mark.requires("host")
@pytest.mark.parametrize(
    "places",
    [tcp(2), tcp(3), on_hosts("aab"), on_hosts("aabbb"), on_hosts("abab")],
    ids=["tcp-2", "tcp-3", "hosts-2-1", "hosts-2-3", "hosts-mixed"],
)
def test_between_hosts(places: list[dict[str, str]]) -> None:
    told = in_ranks(on_one_rank, places)
    assert told == {rank: [] for rank in range(len(places))}
