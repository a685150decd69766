"""One rank of a communicator whose ranks are processes started by a launcher."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import library as lib


def address(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def hand_around(folder: Path, rank: int, name: str = "id") -> lib.UniqueId:
    """Rank 0's id, passed to all ranks."""
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
        said = lib.outcome(self.comm, self.stream)
        assert said == "", said

    def check(self, what: str, got: Any, expected: Any) -> None:
        self.checks += 1
        if not np.array_equal(got, expected):
            self.wrong.append(what)

    def close(self) -> None:
        lib.call("CommDestroy", self.comm)
