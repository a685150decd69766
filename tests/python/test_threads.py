"""The interpreter's lock: released while a call waits, and held only for Python functions."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from infinicore import rt
from tests.python.conftest import LIMIT, Latch

WAITS: dict[str, Callable[[rt.Stream, rt.Event, rt.Memory], object]] = {
    "Stream.synchronize": lambda stream, event, memory: stream.synchronize(),
    "Event.synchronize": lambda stream, event, memory: event.synchronize(),
    "DeviceSynchronize": lambda stream, event, memory: rt.DeviceSynchronize(),
    "Device.synchronize": lambda stream, event, memory: rt.Device.current().synchronize(),
    "Memcpy": lambda stream, event, memory: rt.Memcpy(memory, b"1234", 4),
    "Memset": lambda stream, event, memory: rt.Memset(memory, 0, 4),
    "Memory.to_bytes": lambda stream, event, memory: memory.to_bytes(),
    "Free": lambda stream, event, memory: rt.Free(rt.Malloc(64)),
    "Memory.close": lambda stream, event, memory: memory.close(),
    "with Stream": lambda stream, event, memory: stream.__exit__(None, None, None),
}


@pytest.fixture
def _no_switches() -> Iterator[None]:
    """From here on, threads switch only when the running one releases the lock itself."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", WAITS)
@pytest.mark.usefixtures("_no_switches")
def test_other_threads_run_while_a_call_waits(name: str, latch: Latch) -> None:
    stream, memory = rt.Stream(), rt.Memory(64)
    memory.fill(0, stream=stream)
    latch.hold(stream)
    event = stream.record()
    latch.reached()
    go = threading.Event()

    def open_when_told() -> None:
        assert go.wait(LIMIT)
        latch.open()

    opener = threading.Thread(target=open_when_told)
    opener.start()
    # No other thread runs between these two lines: only a call that releases the lock returns.
    go.set()
    WAITS[name](stream, event, memory)
    opener.join(LIMIT)
    assert not opener.is_alive()


@pytest.mark.usefixtures("_no_switches")
def test_a_launch_does_not_wait(latch: Latch, stream: rt.Stream) -> None:
    with rt.capture(stream) as graph:
        stream.launch(latch.wait)
    graph.launch(stream)
    graph.launch(stream)
    assert not stream.query()
    latch.open()
    stream.synchronize()


def test_many_threads_and_their_functions() -> None:
    """Host functions and graphs from many threads at once: all calls happen, none twice."""
    counts = [0] * 16

    def work(index: int) -> None:
        with rt.Stream() as stream:
            with rt.capture(stream, mode="thread_local") as graph:
                stream.launch(lambda: add(index))
            for _ in range(20):
                graph.launch(stream)
                stream.launch(lambda: add(index))

    def add(index: int) -> None:
        counts[index] += 1  # each index belongs to one stream, whose work is in order

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert counts == [40] * len(counts)


PENDING = """
import threading
from infinicore import rt
stream, memory = rt.Stream(), rt.Memory(1024)
reached = threading.Event()
{body}
print("end")
"""


@pytest.mark.parametrize(
    "body",
    [
        "stream.launch(lambda: (reached.set(), threading.Event().wait(0.2))); reached.wait()",
        "[stream.launch(lambda: None) for _ in range(1000)]",
        "[memory.copy_from(bytes(1024), stream=stream) for _ in range(1000)]",
        "graph = rt.Graph(); graph.add_host(lambda: None)\n"
        "for _ in range(500): graph.launch(stream)",
    ],
)
def test_the_interpreter_ends_with_work_pending(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PENDING.format(body=body)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "end"), done.stderr
