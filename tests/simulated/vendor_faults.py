"""The program that test_vendor_faults.py runs in a process: each call of the vendor's libraries
fails once. Prints a line for each thing that was wrong, and at the end "failed N"."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import infinicore
from infinicore import rt
from simulated.vendors import build

KIND, FOLDER = sys.argv[1], Path(sys.argv[2])
CALLS = int(sys.argv[3])  # of one function that fail, one after the other
CODE = 999  # an unknown error, of CUDA and HIP
# Objects release their resources in destructors, which cannot fail.
GIVING_BACK = ("Free", "Destroy", "DeviceSynchronize")
# Their results are obtained in another way, or are not needed.
REPLACED = ("GetDevice", "HostAlloc", "MallocHost", "HostMalloc", "EventQuery")
NO_STATUS = ("GetErrorName", "GetErrorString", "GetLastError", "PeekAtLastError")


def functions() -> Iterator[tuple[ctypes.CDLL, str]]:
    """All functions that the simulated libraries count and that return a status."""
    facts = build.facts(KIND)
    for library, rows in facts["libraries"].items():
        loaded = ctypes.CDLL(str(FOLDER / library))
        loaded.simulated_calls.restype = ctypes.c_long
        yield from ((loaded, name) for name in rows if not name.endswith(NO_STATUS))
    numbers = facts["gemm"]
    loaded = ctypes.CDLL(str(FOLDER / numbers["library"]))
    loaded.simulated_calls.restype = ctypes.c_long
    for word in (f"SetStream{numbers['suffix']}", "GemmStridedBatchedEx"):
        yield loaded, numbers["prefix"] + word


def program() -> None:
    rt.set_kind(KIND)
    data = bytes(range(256)) * 16
    with rt.Stream() as stream, rt.Stream() as other:
        memory, copy = rt.Memory(len(data)), rt.Memory(len(data))
        memory.copy_from(data, stream=stream)
        other.wait(stream.record())
        copy.copy_from(memory, stream=other)
        with rt.capture(stream) as graph:
            memory.fill(7, stream=stream)
        other.synchronize()
        graph.launch(stream)
        stream.synchronize()
        assert (copy.to_bytes(), memory.to_bytes()) == (data, b"\7" * len(data))
    x = infinicore.from_numpy(np.ones((4, 8), np.float32)).to(KIND)
    y = infinicore.exp(x) @ x.permute([1, 0])
    assert abs(float(y.to("cpu").numpy()[0, 0]) - 8 * np.e) < 1e-3
    assert rt.MemGetInfo()[1] > 0


def attempt() -> str:
    """The error message of the exception."""
    try:
        program()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        gc.collect()
        infinicore.empty_cache()
    return ""


def live() -> list[int]:
    counts = (ctypes.c_long * 3)()
    engine = ctypes.CDLL(str(FOLDER / "core/engine/backends/libinfini_simulated.so"))
    engine.simulatedLive(counts)
    return list(counts)


def check(library: Any, name: str, after: int) -> None:
    wrong: list[str] = []
    for _ in range(2):  # cached objects exist after the first run
        before = live()
        library.simulated_fail(name.encode(), CODE, after)
        said = attempt()
        library.simulated_fail(name.encode(), 0, -1)
        if afterwards := attempt():
            wrong.append(f"later: {afterwards}")
    giving_back = any(word in name for word in GIVING_BACK)
    # Later calls may have a fallback; the program's results must be right then, too.
    if not said and not after and not giving_back and not name.endswith(REPLACED):
        wrong.append("nobody noticed")
    if said and " returned " not in said:
        wrong.append(f"not the vendor's words: {said}")
    if live() != before and not giving_back:
        wrong.append(f"leaks: {before} became {live()} (memory, streams, events)")
    for words in wrong:
        print(f"{name}, call {after}: {words}", flush=True)


def main() -> None:
    for _ in range(2):
        assert not (said := attempt()), said
    known = list(functions())
    before = [library.simulated_calls(name.encode()) for library, name in known]
    attempt()
    made = [
        library.simulated_calls(name.encode()) - first
        for (library, name), first in zip(known, before, strict=True)
    ]
    count = 0
    for (library, name), calls in zip(known, made, strict=True):
        for after in range(min(CALLS, calls)):
            check(library, name, after)
            count += 1
    print("failed", count)


if __name__ == "__main__":
    main()
