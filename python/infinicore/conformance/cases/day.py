"""Level 7, with `--hours H`: a soak test in rounds, each with a new model and prompts, until the
time is over. Memory that grows from round to round is a failure."""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from infinicore.conformance.cases import case, expect, tell
from infinicore.conformance.cases.engine import (
    ask_from_all_threads,
    expect_scores_of_the_cpu,
    make_model,
)

HOURS = "INFINI_CONFORMANCE_HOURS"
SEED = "INFINI_TEST_SEED"
ROUND = 60.0  # at most, in seconds; shorter if needed for ten rounds
FEWEST = 6  # rounds needed to detect growth
# Caches fill in the first half. Growth beyond this is a leak.
ALLOWED = {"host memory": 32 << 20, "device memory": 8 << 20}


def growth(samples: Sequence[int]) -> int:
    """The minimum of the last quarter minus the maximum of the first half."""
    half, quarter = samples[: max(len(samples) // 2, 1)], samples[-max(len(samples) // 4, 1) :]
    return min(quarter) - max(half)


class Memory:
    """The memory used on the host and on the device, by round."""

    def __init__(self, make: Any) -> None:
        self._rt = make.rt
        self.samples: dict[str, list[int]] = {"host memory": []}
        if self._is_counted():
            self.samples["device memory"] = []

    def _is_counted(self) -> bool:
        """Whether the device's free memory reflects allocations. If it is host memory, it also
        changes with other programs."""
        if self._rt.GetDeviceProperties(0).integrated:
            return False
        size = 64 << 20
        before, host = self._device(), self._host()
        address = self._rt.Malloc(size)
        counted, apart = self._device() - before, self._host() - host < size // 2
        self._rt.Free(address)
        return apart and size <= counted < 2 * size

    @staticmethod
    def _host() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _device(self) -> int:
        free, total = self._rt.MemGetInfo()
        return int(total - free)

    def note(self) -> None:
        """Excludes the tensor caches, which fill slowly."""
        import infinicore

        gc.collect()
        infinicore.trim_memory()
        self.samples["host memory"].append(self._host())
        if "device memory" in self.samples:
            self.samples["device memory"].append(self._device())

    def grown(self) -> dict[str, int]:
        return {name: growth(samples) for name, samples in self.samples.items()}


def day(make: Any) -> dict[str, Any]:
    """Hours of rounds: a new model, the CPU's scores, 64 threads with new prompts; memory does
    not grow."""
    seconds = float(os.environ[HOURS]) * 3600
    kind = os.environ["INFINI_DEVICE"]
    first = int(os.environ.get(SEED) or random.SystemRandom().randrange(1 << 31))
    memory, answers, rounds = Memory(make), 0, 0
    begin = time.monotonic()
    while rounds < FEWEST or time.monotonic() - begin < seconds:
        seed = first + rounds
        try:
            model, host = make_model(kind, seed), make_model("cpu", seed)
            expect_scores_of_the_cpu(model, host, kind, seed)
            answers += ask_from_all_threads(model, kind, seed, min(ROUND, seconds / 10))
        except Exception as error:
            raise AssertionError(f"round {rounds}, {SEED}={seed}: {error}") from error
        del model, host
        memory.note()
        rounds += 1
        passed = time.monotonic() - begin
        used = ", ".join(f"{s[-1] >> 20} MiB of {name}" for name, s in memory.samples.items())
        share = f"{passed / 3600:.2f} of {seconds / 3600:.2f} h"
        tell(f"round {rounds}, {share}: {answers} answers, {used}")
    grown = memory.grown()
    for name, bytes_ in grown.items():
        expect(
            bytes_ <= ALLOWED[name],
            f"{name} grows: {bytes_ >> 20} MiB in the second half of {rounds} rounds"
            f" ({SEED}={first})",
        )
    return {"rounds": rounds, "answers": answers, "seed": first, "grown": grown}


if os.environ.get(HOURS):
    case(7, "engine/day", seconds=900)(day)
