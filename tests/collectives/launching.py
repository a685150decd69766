"""Starting `infini launch` as a process, and programs for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Tests may run in the background of a shell, which ignores Ctrl-C.
COMMAND = """
import signal
from infinicore.cli import main

for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
raise SystemExit(main())
"""
LAUNCH = [sys.executable, "-c", COMMAND, "launch"]
FOREIGN = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_", "TORCHELASTIC", "OMPI_", "PMI", "OMP_NUM"),
    *("SLURM_", "KUBERNETES_"),
)
WORLD = """
import infinicore
from infinicore import ccl

with ccl.init(timeout=60) as comm:
    x = comm.all_reduce(infinicore.ones(3, device=comm.device) * (comm.rank + 1))
    print(f"rank {comm.rank} of {comm.ranks}: {x.tolist()[0]:g}")
"""
# Rank 1 ends in the way that replaces {}; the others would sleep for long.
ONE_FAILS = """
import os, signal, sys, time
if os.environ["RANK"] == "1":
    {}
time.sleep(300)
"""


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    kept.pop("INFINI_NUM_THREADS", None)
    return {**kept, "INFINI_DEVICE": "cpu", **more}


def launch(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAUNCH, *map(str, words)],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def begin(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LAUNCH, *map(str, words)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def eventually(fact: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    """Still running, and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
