"""Ctrl-C ends a wait: a real process, a real signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .launching import environment, eventually, is_alive

# Rank 1 never joins, and nothing times out.
WAITING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
import infinicore
from infinicore import ccl, rt

comms = ccl.init_all(["cpu", "cpu"])
for comm in comms:
    comm.set_timeout(0)
x = infinicore.ones(3, device="cpu")
comms[0].all_reduce(x)
print("waits", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    comms[0].abort()
    comms[1].abort()
    try:
        x.tolist()
    except ccl.CclError as error:
        print(error)
"""


def start(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment(INFINI_CPU_DEVICES="2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupt_when_it_sleeps(process: subprocess.Popen[str]) -> None:
    """The main thread is in its wait when it sleeps outside of `readline`."""
    assert process.stdout is not None and process.stdout.readline() == "waits\n"
    state = Path(f"/proc/{process.pid}/stat")
    eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "S", "it does not wait")
    process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "wait",
    [
        "rt.Stream.from_handle(0).synchronize()",
        "rt.DeviceSynchronize()",
        "rt.Stream.from_handle(0).record().synchronize()",
        "rt.Memcpy(x.data_ptr(), x.data_ptr(), 4, rt.MemcpyDefault)",
        "rt.Memory(4).copy_to(bytearray(4))",
        "infinicore.sync_stream()",
        "infinicore.sync_device()",
        "x.tolist()",
        "x[0].item()",
        "x.numpy()",
        "infinicore.empty(3, device=infinicore.device('cpu', 1)).copy_(x)",
        "infinicore.tensor([1.0, 2.0], device='cpu')",
        "comms[0].barrier()",
        "comms[0].close()",
    ],
)
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    process = start(WAITING.format(wait=wait))
    interrupt_when_it_sleeps(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    lines = out.splitlines()
    assert lines[0] == "interrupted"
    assert "rank 0 aborted the communicator" in lines[1]


def test_ctrl_c_ends_the_process() -> None:
    """Without a handler and without an abort, work that waits in the stream does not delay the
    exit."""
    process = start(WAITING.format(wait="x.tolist()").partition("try:")[0] + "x.tolist()\n")
    interrupt_when_it_sleeps(process)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err


@pytest.mark.parametrize("timeout", ["0", "None"])
def test_ctrl_c_ends_joining(timeout: str) -> None:
    """The other rank never joins; a program that catches the interrupt can continue, also with new
    communicators."""
    program = f"""
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import infinicore
from infinicore import ccl

id = ccl.unique_id()
print("waits", flush=True)
try:
    ccl.Communicator(ranks=2, id=id, rank=0, timeout={timeout})
except KeyboardInterrupt:
    print("interrupted", flush=True)
with ccl.init(ranks=1) as comm:
    print(comm.all_reduce(infinicore.ones(2, device=comm.device)).tolist(), flush=True)
"""
    process = start(program)
    interrupt_when_it_sleeps(process)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "interrupted\n[1.0, 1.0]\n"), err


def test_ctrl_c_in_a_block_aborts_for_the_others() -> None:
    """Two processes: the first is interrupted while it waits for the second, which gets an
    error."""
    program = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import infinicore
from infinicore import ccl
rank, path = int(sys.argv[1]), sys.argv[2]
with ccl.init("file://" + path, rank=rank, ranks=2, timeout=0) as comm:
    x = infinicore.ones(3, device=comm.device)
    if rank == 0:
        comm.all_reduce(x)
        print("waits", flush=True)
        x.tolist()
    sys.stdin.readline()
    comm.all_reduce(x)
    x.tolist()
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(rank), os.path.join(folder, "id")],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        interrupt_when_it_sleeps(ranks[0])
        _, first = ranks[0].communicate(timeout=60)
        assert ranks[0].returncode == -signal.SIGINT, first
        eventually(lambda: not is_alive(ranks[0].pid), "rank 0 goes on")
        _, second = ranks[1].communicate("go\n", timeout=60)
        assert ranks[1].returncode == 1
        assert "rank 0 aborted the communicator" in second
