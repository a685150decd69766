"""Kernels on their way from text to the device: failures are told and not kept, threads that ask
for the same ones all get them, and the next process finds them on disk. On the simulated CUDA."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "c++")) is None, reason="needs a C++ compiler"
)

# topk and sum make plans of several kernels, which are compiled at the same time.
SCRIPT = """
import os, sys, threading
import infinicore as ic

ic.set_default_device("nvidia")
numbers = ic.arange(3 * 5000, dtype=ic.float32).reshape(3, 5000)

def largest():
    values, places = ic.topk(numbers, 7)
    return values.tolist(), places.tolist()

right = (
    [[float(5000 * i + 4999 - k) for k in range(7)] for i in range(3)],
    [[4999 - k for k in range(7)] for _ in range(3)],
)
"""

FAILING = """
compiler = os.environ.pop("INFINI_SIMULATED_CXX", None)
for _ in range(2):
    os.environ["INFINI_SIMULATED_CXX"] = "false"
    try:
        largest()
    except RuntimeError as error:
        assert "does not compile" in str(error), error
    else:
        raise AssertionError("nothing was told")
os.environ["INFINI_SIMULATED_CXX"] = compiler or os.environ.get("CXX", "c++")
assert largest() == right
"""

THREADS = """
found = []
start = threading.Barrier(6)

def work():
    ic.set_default_device("nvidia")
    start.wait()
    found.append(largest())

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [right] * 6, found
"""

KEPT = """
os.environ["INFINI_SIMULATED_CXX"] = "false"
assert largest() == right
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], None]:
    from kit.binding import root
    from simulated.cuda.build import folder

    environment = {
        **os.environ,
        "INFINI_DEVICE": "nvidia",
        "INFINI_NVIDIA_LIBRARIES": str(folder(root())),
        "INFINI_CACHE": str(tmp_path / "cache"),
    }

    def start(what: str) -> None:
        command = [sys.executable, "-c", SCRIPT + what]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr

    return start


def test_failures_are_told_and_not_kept(run: Callable[[str], None]) -> None:
    run(FAILING)


def test_threads_get_the_same_kernels_and_the_next_process_too(run: Callable[[str], None]) -> None:
    run(THREADS)
    run(KEPT)
