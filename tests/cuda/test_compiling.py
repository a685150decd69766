"""Kernels from source to device: failures are reported and not cached, threads that request the
same kernel all get it, forked children get an error, and the next process finds it on disk. On the
simulated CUDA."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit import process
from kit.binding import root
from simulated.cuda import build as simulated

pytestmark = pytest.mark.requires("c++")

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


# A compilation by another thread never finishes in a forked child, which lacks that thread.
FORKED = """
import signal
from infinicore import ccl, op

begun, go_on = os.environ["BEGUN"], os.environ["GO_ON"]
x, y = ic.ones(100), ic.ones(100)
os.environ["INFINI_SIMULATED_CXX"] = os.environ["SLOW"]
os.mkdir(os.environ["ARMED"])
thread = threading.Thread(target=lambda: op.add(x, x, out=y))
thread.start()
open(begun).read()
child = os.fork()
if child == 0:
    signal.alarm(100)
    elsewhere = lambda: ic.ones(3, device="nvidia:1") + 1
    for attempt in (lambda: op.add(x, x, out=y), largest, lambda: x + x, elsewhere, ccl.unique_id):
        try:
            attempt()
        except RuntimeError as error:
            print(error, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
open(go_on, "w").close()
thread.join()
assert y.tolist() == [2.0] * 100
"""
# The compiler waits for this thread, which needs the interpreter.
MEANWHILE = """
from infinicore import op
from infinicore.nn import functional as F

x, y = ic.ones(100), ic.ones(100)
os.environ["INFINI_SIMULATED_CXX"] = os.environ["SLOW"]
F.silu(x) * x

@ic.function
def swiglu(x: ic.Operand):
    return F.silu(x) * x

def meanwhile(call, other=lambda: None):
    os.mkdir(os.environ["ARMED"])
    thread = threading.Thread(target=call)
    thread.start()
    open(os.environ["BEGUN"]).read()
    other()
    open(os.environ["GO_ON"], "w").close()
    thread.join()

meanwhile(lambda: op.sub(x, x, out=y))
meanwhile(lambda: x + x)
meanwhile(lambda: swiglu(x))
meanwhile(lambda: x.reshape(10, 10).t().contiguous())

# An object that has another, smaller tensor then: the call is of that one.
x, y = ic.ones(1 << 16), ic.zeros(7)
meanwhile(lambda: ic.exp(x, out=x), lambda: x.set_(y))
assert x.tolist() == [1.0] * 7, x
"""
SLOW = """#!/bin/sh
if rmdir $ARMED; then
    echo > $BEGUN
    cat $GO_ON
fi
exec ${CXX:-c++} "$@"
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    folder = simulated.folder(root())
    settings = {
        "INFINI_DEVICE": "nvidia",
        "INFINI_NVIDIA_LIBRARIES": str(folder),
        "INFINI_CACHE": str(tmp_path / "cache"),
    }

    def start(what: str, **changes: str) -> str:
        command = [sys.executable, "-c", SCRIPT + what]
        done = process.run(command, **settings, **changes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_failures_are_told_and_not_kept(run: Callable[..., str]) -> None:
    run(FAILING)


def test_threads_get_the_same_kernels_and_the_next_process_too(run: Callable[..., str]) -> None:
    run(THREADS)
    run(KEPT)


@pytest.fixture
def run_slowly(run: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """With a compiler that, once armed, signals its start and waits until it may continue."""
    gates = {name: tmp_path / name for name in ("ARMED", "BEGUN", "GO_ON")}
    os.mkfifo(gates["BEGUN"])
    os.mkfifo(gates["GO_ON"])
    slow = tmp_path / "slow"
    slow.write_text(SLOW)
    slow.chmod(0o755)
    more = {name: str(gate) for name, gate in gates.items()}
    return functools.partial(run, SLOW=str(slow), **more)


def test_other_threads_go_on(run_slowly: Callable[..., str]) -> None:
    run_slowly(MEANWHILE)


def test_a_child_does_not_wait_for_its_parents_threads(run_slowly: Callable[..., str]) -> None:
    said = run_slowly(FORKED, INFINI_SIM_DEVICES="2").splitlines()
    assert len(said) == 5, said
    for line in said:
        assert "this process was forked" in line
