"""Robustness: many threads, fork, exit with pending work, lack of memory."""

from __future__ import annotations

import threading

import pytest

from kit import Maker, process
from kit.latch import LIMIT


def test_sixty_four_threads_at_once(rt):
    problems: list[object] = []
    start = threading.Barrier(64)

    def work(seed: int) -> None:
        make = Maker(rt)
        try:
            start.wait(LIMIT)
            for round_ in range(8):
                value = (seed * 8 + round_) % 251
                stream, event = make.stream(seed % 2), make.event()
                # Nothing here waits for the device: other threads are capturing streams of it.
                memory, host = make.buffer(1024), make.pinned(1024)
                rt.MemsetAsync(memory.address, value, 1024, stream)
                pooled = rt.MallocAsync(1024, stream)
                rt.MemcpyAsync(pooled, memory.address, 1024, rt.MemcpyDefault, stream)
                rt.StreamBeginCapture(other := make.free_stream(), rt.StreamCaptureModeRelaxed)
                rt.MemcpyAsync(host.address, pooled, 1024, rt.MemcpyDefault, other)
                graph = make.own_graph(rt.StreamEndCapture(other))
                rt.GraphLaunch(make.exec(graph), stream)
                rt.FreeAsync(pooled, stream)
                rt.EventRecord(event, stream)
                rt.EventSynchronize(event)
                assert bytes(host.view()) == bytes([value]) * 1024
                if "checked-handles" in rt.tags:
                    assert rt.code.StreamDestroy(0xDEAD0000) == "ErrorInvalidResourceHandle"
        except BaseException as error:
            problems.append(error)
        made.append(make)

    made: list[Maker] = []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for make in made:
        make.end()
    assert not problems, problems[0]


def test_threads_that_come_and_go(rt):
    def brief() -> None:
        rt.MemGetInfo()
        rt.StreamSynchronize(rt.StreamPerThread)

    for _ in range(200):
        thread = threading.Thread(target=brief)
        thread.start()
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_one_stream_used_by_many_threads(rt, make):
    stream, cell = make.free_stream(), make.pinned(1)
    counted = []

    def work() -> None:
        from kit import Order

        order = Order(rt)
        for index in range(100):
            order.note(stream, index)
        rt.StreamSynchronize(stream)
        counted.append(order.seen == list(range(100)))
        keep.append(order)

    keep: list[object] = []
    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert counted == [True] * 16
    assert cell.view()[0] == 0


# The child of a fork gets a working fresh device or a clear error; it never hangs.
FORK = """
import signal, time
memory = make.buffer(4096, 1)
stream = make.free_stream()
{before}
child = os.fork()
if child == 0:
    signal.alarm(60)
    code = 9
    try:
        codes = [rt.code.DeviceSynchronize(), rt.code.StreamCreate()]
        if codes[1] == "Success":
            mine = Maker(rt)
            stream, memory = mine.free_stream(), mine.buffer(4096, 7)
            order = Order(rt)
            order.note(stream, "ran")
            rt.MemsetAsync(memory.address, 8, 4096, stream)
            rt.StreamSynchronize(stream)
            assert memory.read() == bytes([8]) * 4096
            assert order.seen == ["ran"]
            mine.end()
        else:
            assert rt.message()
        code = 0
    except BaseException as error:
        print("child:", repr(error), rt.message(), flush=True)
    os._exit(code)
{after}
_, status = os.waitpid(child, 0)
print("child", status)
again = make.buffer(64, 5)
stream = make.free_stream()
rt.MemsetAsync(again.address, 6, 64, stream)
rt.StreamSynchronize(stream)
print("parent", again.read() == bytes([6]) * 64)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("latch = Latch(rt, stream).reached()", "latch.open()"),
        (
            "stop = threading.Event()\n"
            "def busy():\n"
            "    while not stop.is_set():\n"
            "        s = rt.StreamCreate(); rt.MallocAsync(64, s); rt.StreamDestroy(s)\n"
            "threads = [threading.Thread(target=busy) for _ in range(4)]\n"
            "[t.start() for t in threads]",
            "stop.set(); [t.join() for t in threads]",
        ),
    ],
    ids=["idle", "work pending", "threads busy"],
)
@pytest.mark.needs("asynchronous")
def test_fork(before, after):
    for _ in range(3):
        said = process.python(FORK.format(before=before, after=after), timeout=100)
        assert "child 0" in said, said
        assert "parent True" in said, said


def test_fork_before_the_first_call():
    said = process.python(
        """
child = os.fork()
memory = make.buffer(64, 3)
assert memory.read() == bytes([3]) * 64
if child:
    print(os.waitpid(child, 0)[1])
else:
    os._exit(0)
"""
    )
    assert said.strip() == "0"


EXITS = {
    "copies": """
for value in range(8):
    rt.MemsetAsync(make.buffer(1 << 24).address, value, 1 << 24, make.free_stream())
""",
    "a blocked host function": "Latch(rt, make.free_stream()).reached()",
    "a long queue": "order = Order(rt)\nfor i in range(5000): order.note(stream, i)",
    "a graph": """
graph = rt.GraphCreate(0)
latch = Latch(rt)
params = rt.struct("HostNodeParams", fn=ctypes.cast(latch.function, ctypes.c_void_p).value)
rt.GraphAddHostNode(graph, None, 0, params)
rt.GraphLaunch(rt.GraphInstantiate(graph), stream)
latch.reached()
""",
    "a capture": "rt.StreamBeginCapture(stream, 0)",
    "threads in waits": """
latch = Latch(rt, stream).reached()
for _ in range(4):
    threading.Thread(target=rt.StreamSynchronize, args=(stream,), daemon=True).start()
""",
}


@pytest.mark.parametrize(
    "how", ["os._exit(0)", "ctypes.CDLL(None).exit(0)", ""], ids=["_exit", "exit", "end"]
)
@pytest.mark.parametrize("pending", EXITS)
@pytest.mark.needs("asynchronous")
def test_exit_with_work_pending(pending, how):
    # Through C's exit() the interpreter is not torn down, but every library's destructors run.
    process.python(f"stream = make.free_stream()\n{EXITS[pending]}\n{how}\n", timeout=60)


def test_out_of_memory_and_on(rt, make):
    stream = make.stream()
    for _ in range(3):
        assert rt.code.Malloc(1 << 62) == "ErrorMemoryAllocation"
        assert rt.code.MallocAsync(1 << 62, stream) == "ErrorMemoryAllocation"
        assert rt.code.MallocHost(1 << 62) == "ErrorMemoryAllocation"
        assert make.buffer(64, 2).read() == bytes([2]) * 64


@pytest.mark.needs("host-readable")
def test_out_of_memory_for_real(rt):
    # In a process whose address space may grow by only 1 GiB.
    said = process.python(
        """
import resource
rt.DeviceSynchronize()
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
held, code = [], "Success"
while code == "Success":
    try:
        held.append(rt.Malloc(1 << 26))
    except Failure as error:
        code = error.name
print(code, len(held) > 2)
for memory in held:
    rt.Free(memory)
memory = make.buffer(1 << 26, 5)
print(memory.read(0, 4) == bytes([5]) * 4)
"""
    )
    assert said.split() == ["ErrorMemoryAllocation", "True", "True"]


def test_destroying_in_use_from_many_threads(rt):
    from kit import Order

    order = Order(rt)

    def work() -> None:
        for _ in range(50):
            stream, event = rt.StreamCreate(), rt.EventCreate()
            order.note(stream, 1)
            rt.EventRecord(event, stream)
            rt.StreamDestroy(stream)
            rt.EventDestroy(event)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    rt.DeviceSynchronize()
    assert len(order.seen) == 400
