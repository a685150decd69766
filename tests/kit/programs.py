"""Random programs of streams, events, copies, host functions, allocations, captures; their model.

A program is a list of tuples; numbers in it are taken modulo the available objects, so that any
part of a program is a valid program, which shrinks well. Its result is determined: `Model` keeps,
for every operation, the set of operations known to come before it (a bit for each), and where two
that conflict are not ordered yet, `Machine` puts a fence (record and wait) between them. All other
orders come from the program's own records, waits and synchronisations, from the null stream's rule,
and from each stream's own order: if the runtime breaks one of these, a result differs.

    replay([("fill", 1, 0, 7, 0, 31), ("copy", 3, 1, 0, 0), ...])      # runs one and compares
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from .latch import HOST_FUNCTION, LIMIT

CELL = 32
DEVICE_CELLS, PINNED_CELLS = 4, 3
NULL, BLOCKING, FREE = [0], [1, 2], [3, 4]  # streams by number
STREAMS = len(NULL + BLOCKING + FREE)
EVENTS = 3
BRANCHES = 3  # streams of a capture


def bumped(value: int) -> int:
    return (value * 5 + 3) % 256


class Model:
    """The expected state, computed sequentially."""

    def __init__(self, host_work: bool) -> None:
        self.host_work = host_work  # whether host functions follow the null stream's rule
        self.work = [0] * STREAMS  # a stream's tail at the last that counts
        self.values: list[bytearray] = [bytearray(CELL) for _ in range(DEVICE_CELLS + PINNED_CELLS)]
        self.tail = [0] * STREAMS  # operations known to come before a stream's next one
        self.host = 0  # operations that the host knows to be over
        self.events = [0] * EVENTS
        self.stream_of: list[int] = []
        self.writer: list[int] = [0] * len(self.values)  # bit of a cell's last writer
        self.readers: list[int] = [0] * len(self.values)  # bits of those who read it since

    def enter(self, stream: int) -> None:
        """Submission to a stream: waits according to the null stream's rule."""
        self.tail[stream] |= self.host
        if stream in NULL:
            for other in BLOCKING:
                self.tail[stream] |= self.work[other]
        elif stream in BLOCKING:
            self.tail[stream] |= self.work[NULL[0]]

    def unordered(self, stream: int, reads: set[int], writes: set[int]) -> list[int]:
        """The streams with work that must run earlier, but is not known to."""
        self.enter(stream)
        first = 0
        for cell in reads | writes:
            first |= self.writer[cell]
        for cell in writes:
            first |= self.readers[cell]
        first &= ~self.tail[stream]
        numbers = [index for index in range(len(self.stream_of)) if first >> index & 1]
        return sorted({self.stream_of[index] for index in numbers})

    def submit(self, stream: int, reads: set[int], writes: set[int], on_host: bool = False) -> None:
        bit = 1 << len(self.stream_of)
        self.stream_of.append(stream)
        self.enter(stream)
        self.tail[stream] |= bit
        if self.host_work or not on_host:
            self.work[stream] = self.tail[stream]
        for cell in reads:
            self.readers[cell] |= bit
        for cell in writes:
            self.writer[cell], self.readers[cell] = bit, 0

    def record(self, stream: int) -> int:
        self.enter(stream)
        return self.tail[stream]

    def wait(self, stream: int, before: int) -> None:
        # A wait for what is over may be left out by the runtime, so it is no work that enters.
        self.tail[stream] |= before

    def add_cell(self) -> int:
        self.values.append(bytearray(CELL))
        self.writer.append(0)
        self.readers.append(0)
        return len(self.values) - 1


class Machine:
    """The runtime, given the same program."""

    def __init__(self, rt: Any) -> None:
        self.rt = rt
        self.null = 0
        blocking = [rt.StreamCreate() for _ in BLOCKING]
        free = [rt.StreamCreateWithFlags(rt.StreamNonBlocking) for _ in FREE]
        self.streams = [0, *blocking, *free]
        self.branches = [rt.StreamCreateWithFlags(rt.StreamNonBlocking) for _ in range(BRANCHES)]
        self.device = rt.Malloc(CELL * DEVICE_CELLS)
        self.pinned = rt.MallocHost(CELL * PINNED_CELLS)

    def begin(self) -> None:
        rt = self.rt
        rt.Memset(self.device, 0, CELL * DEVICE_CELLS)
        rt.DeviceSynchronize()
        ctypes.memset(self.pinned, 0, CELL * PINNED_CELLS)
        self.model = Model("host-work" in rt.tags)
        self.cells = [self.device + CELL * index for index in range(DEVICE_CELLS)]
        self.cells += [self.pinned + CELL * index for index in range(PINNED_CELLS)]
        self.pooled: dict[int, int] = {}  # cell -> address of those allocated and not freed
        self.events = [rt.EventCreateWithFlags(rt.EventDisableTiming) for _ in range(EVENTS)]
        self.fences: list[int] = []
        self.gates: list[threading.Event] = []
        self.stuck = False
        self.graphs: list[tuple[int, list[Any]]] = []
        self.kept: list[Any] = []  # callbacks

    # ---- Operations of a stream. Each says what it reads and writes, runs, and changes the model.

    def pinned_cell(self, number: int) -> int:
        return DEVICE_CELLS + number % PINNED_CELLS

    def is_pinned(self, cell: int) -> bool:
        return DEVICE_CELLS <= cell < DEVICE_CELLS + PINNED_CELLS

    def live_cell(self, number: int) -> int:
        alive = [*range(DEVICE_CELLS + PINNED_CELLS), *self.pooled]
        return alive[number % len(alive)]

    def access(self, step: tuple[Any, ...]) -> tuple[Any, set[int], set[int]]:
        """(the step with its cells resolved, what it reads, what it writes)"""
        kind = step[0]
        if kind == "fill":
            _, _, cell, value, low, high = step
            cell, low, high = self.live_cell(cell), low % CELL, high % CELL
            return (kind, cell, value % 256, min(low, high), max(low, high) + 1), set(), {cell}
        if kind == "copy":
            _, _, to, source, at = step
            to, source, at = self.live_cell(to), self.live_cell(source), at % CELL
            if self.is_pinned(to) and self.is_pinned(source):
                source %= DEVICE_CELLS  # between host memory a copy is waited for, as in CUDA
            return (kind, to, source, at), {source}, {to}
        if kind == "scratch":
            _, _, cell, value = step
            cell = self.live_cell(cell)
            return (kind, cell, value % 256), {cell}, {cell}
        cell = self.pinned_cell(step[2])
        return ("bump", cell), {cell}, {cell}

    def is_nothing(self, step: tuple[Any, ...]) -> bool:
        return step[0] == "copy" and step[1] == step[2]

    def run(self, step: tuple[Any, ...], stream: int) -> None:
        rt, kind = self.rt, step[0]
        if kind == "fill":
            _, cell, value, low, high = step
            rt.MemsetAsync(self.cells[cell] + low, value, high - low, stream)
        elif kind == "copy":
            _, to, source, at = step
            rt.MemcpyAsync(
                self.cells[to] + at, self.cells[source], CELL - at, rt.MemcpyDefault, stream
            )
        elif kind == "scratch":
            # Through memory that lives only here: save, spoil, restore; the cell must not change.
            _, cell, value = step
            memory = rt.MallocAsync(CELL, stream)
            rt.MemcpyAsync(memory, self.cells[cell], CELL, rt.MemcpyDefault, stream)
            rt.MemsetAsync(self.cells[cell], value, CELL, stream)
            rt.MemcpyAsync(self.cells[cell], memory, CELL, rt.MemcpyDefault, stream)
            rt.FreeAsync(memory, stream)
        else:
            address = self.cells[step[1]]
            cell = (ctypes.c_ubyte * CELL).from_address(address)
            self.launch(stream, lambda: cell.__setitem__(0, bumped(cell[0])))

    def launch(self, stream: int, function: Any) -> None:
        made = HOST_FUNCTION(lambda _: function())
        self.kept.append(made)
        self.rt.LaunchHostFunc(stream, made, None)

    def apply(self, step: tuple[Any, ...]) -> None:
        values, kind = self.model.values, step[0]
        if kind == "fill":
            _, cell, value, low, high = step
            values[cell][low:high] = bytes([value]) * (high - low)
        elif kind == "copy":
            _, to, source, at = step
            values[to][at:] = values[source][: CELL - at]
        elif kind == "bump":
            values[step[1]][0] = bumped(values[step[1]][0])

    def order(self, stream: int, reads: set[int], writes: set[int]) -> None:
        """Fences against everything that conflicts and is not ordered before."""
        for other in self.model.unordered(stream, reads, writes):
            self.fence(other, stream)

    def fence(self, first: int, then: int) -> None:
        event = self.rt.EventCreateWithFlags(self.rt.EventDisableTiming)
        self.rt.EventRecord(event, self.streams[first])
        before = self.model.record(first)
        self.rt.StreamWaitEvent(self.streams[then], event)
        self.model.wait(then, before)
        self.rt.EventDestroy(event)  # while it may be pending

    # ---- Steps ----------------------------------------------------------------------------------

    def step(self, step: tuple[Any, ...]) -> None:
        getattr(self, f"do_{step[0]}", self.do_work)(*step)

    def do_work(self, kind: str, stream: int, *rest: Any) -> None:
        stream %= STREAMS
        resolved, reads, writes = self.access((kind, stream, *rest))
        if self.is_nothing(resolved):
            return
        self.order(stream, reads, writes)
        self.run(resolved, self.streams[stream])
        self.model.submit(stream, reads, writes, kind == "bump")
        self.apply(resolved)

    def do_record(self, _: str, event: int, stream: int) -> None:
        event, stream = event % EVENTS, stream % STREAMS
        self.rt.EventRecord(self.events[event], self.streams[stream])
        self.model.events[event] = self.model.record(stream)

    def do_wait(self, _: str, stream: int, event: int) -> None:
        event, stream = event % EVENTS, stream % STREAMS
        self.rt.StreamWaitEvent(self.streams[stream], self.events[event])
        self.model.wait(stream, self.model.events[event])

    def do_hold(self, _: str, stream: int) -> None:
        """The stream is held until the next step that waits, or `open`."""
        gate, stream = threading.Event(), stream % STREAMS
        self.gates.append(gate)

        def wait() -> None:
            if not gate.wait(LIMIT):
                self.stuck = True

        self.launch(self.streams[stream], wait)
        self.model.submit(stream, set(), set(), True)

    def do_open(self, _: str) -> None:
        for gate in self.gates:
            gate.set()

    def do_sync(self, _: str, stream: int) -> None:
        self.do_open("")
        stream %= STREAMS
        self.rt.StreamSynchronize(self.streams[stream])
        # A wait is no work: of a blocking stream it means only what was given to that stream.
        self.model.host |= self.model.record(stream) if stream in NULL else self.model.tail[stream]
        self.look()

    def do_event_sync(self, _: str, event: int) -> None:
        self.do_open("")
        self.rt.EventSynchronize(self.events[event % EVENTS])
        self.model.host |= self.model.events[event % EVENTS]
        self.look()

    def do_alloc(self, _: str, stream: int, value: int) -> None:
        stream %= STREAMS
        self.cells.append(self.rt.MallocAsync(CELL, self.streams[stream]))
        cell = self.model.add_cell()
        self.pooled[cell] = self.cells[cell]
        resolved = ("fill", cell, value % 256, 0, CELL)
        self.run(resolved, self.streams[stream])
        self.model.submit(stream, set(), {cell})
        self.apply(resolved)

    def do_free(self, _: str, stream: int, cell: int) -> None:
        if not self.pooled:
            return
        stream, cell = stream % STREAMS, sorted(self.pooled)[cell % len(self.pooled)]
        # Bookkeeping of the pool, not work: nothing else is held up by it, so it enters no stream.
        before = list(self.model.tail)
        unordered = self.model.unordered(stream, set(), {cell})
        self.model.tail = before
        for other in unordered:
            self.fence(other, stream)
        self.rt.FreeAsync(self.pooled.pop(cell), self.streams[stream])

    # ---- Captures -------------------------------------------------------------------------------

    def do_graph(self, _: str, stream: int, times: int, mode: int, body: Any) -> None:
        resolved = [(step[1] % BRANCHES, self.access(step)) for step in body]
        resolved = [item for item in resolved if not self.is_nothing(item[1][0])]
        steps = [step for _, step in resolved]
        graph = self.capture([branch for branch, _ in resolved], steps, mode % 3)
        made = self.rt.GraphInstantiate(graph)
        self.rt.GraphDestroy(graph)
        self.graphs.append((made, steps))
        for _ in range(times % 3):
            self.relaunch(stream % STREAMS, made, steps)

    def do_again(self, _: str, stream: int, number: int) -> None:
        if self.graphs:
            made, steps = self.graphs[number % len(self.graphs)]
            touched = set().union(*(reads | writes for _, reads, writes in steps))
            fixed = range(DEVICE_CELLS + PINNED_CELLS)
            if all(cell in self.pooled or cell in fixed for cell in touched):
                self.relaunch(stream % STREAMS, made, steps)

    def relaunch(self, stream: int, made: int, steps: list[Any]) -> None:
        reads = set().union(*(reads for _, reads, _ in steps))
        writes = set().union(*(writes for _, _, writes in steps))
        self.order(stream, reads, writes)
        # Elsewhere a launch may move the memory of a graph's allocations, and wait for other work.
        allocates = any(step[0] == "scratch" for step, _, _ in steps)
        if allocates and "unheld-graphs" not in self.rt.tags:
            self.do_open("")
        self.rt.GraphLaunch(made, self.streams[stream])
        if steps:  # an empty graph need not be work
            on_host = any(step[0] == "bump" for step, _, _ in steps)
            self.model.submit(stream, reads, writes, on_host)
        for step, _, _ in steps:
            self.apply(step)

    def capture(self, branches: list[int], steps: list[Any], mode: int) -> int:
        """Records the steps on several streams, fenced among each other where they conflict."""
        rt, origin = self.rt, self.branches[0]
        rt.StreamBeginCapture(origin, mode)
        known = [0] * BRANCHES  # steps that come before a branch's next one
        joined = {0}
        for index, (branch, (step, reads, writes)) in enumerate(zip(branches, steps, strict=True)):
            if branch not in joined:
                self.capture_fence(0, branch, known)
                joined.add(branch)
            for earlier in range(index):
                _, old_reads, old_writes = steps[earlier]
                conflict = old_writes & (reads | writes) or old_reads & writes
                if conflict and not known[branch] >> earlier & 1:
                    self.capture_fence(branches[earlier], branch, known)
            self.run(step, self.branches[branch])
            known[branch] |= 1 << index
        for branch in joined - {0}:
            self.capture_fence(branch, 0, known)
        return rt.StreamEndCapture(origin)

    def capture_fence(self, first: int, then: int, known: list[int]) -> None:
        event = self.rt.EventCreateWithFlags(self.rt.EventDisableTiming)
        self.rt.EventRecord(event, self.branches[first])
        self.rt.StreamWaitEvent(self.branches[then], event)
        self.rt.EventDestroy(event)
        known[then] |= known[first]

    # ---- The end --------------------------------------------------------------------------------

    def look(self) -> None:
        """Compares the pinned cells that the host may look at now."""
        for cell in range(DEVICE_CELLS, DEVICE_CELLS + PINNED_CELLS):
            if not self.model.writer[cell] & ~self.model.host:
                got = ctypes.string_at(self.cells[cell], CELL)
                assert got == bytes(self.model.values[cell]), f"pinned cell {cell}"

    def finish(self) -> None:
        """Waits, compares everything, and frees everything."""
        rt = self.rt
        self.do_open("")
        rt.DeviceSynchronize()
        assert not self.stuck, "a stream that was held kept the program from going on"
        into = (ctypes.c_ubyte * CELL)()
        problems = []
        for cell in [*range(DEVICE_CELLS + PINNED_CELLS), *self.pooled]:
            rt.Memcpy(into, self.cells[cell], CELL, rt.MemcpyDefault)
            if bytes(into) != bytes(self.model.values[cell]):
                expected = bytes(self.model.values[cell]).hex()
                problems.append(f"cell {cell}: {bytes(into).hex()}, expected {expected}")
        self.release()
        assert not problems, "\n".join(problems)

    def release(self) -> None:
        self.do_open("")
        self.rt.code.DeviceSynchronize()
        for memory in self.pooled.values():
            self.rt.code.FreeAsync(memory, 0)
        for made, _ in self.graphs:
            self.rt.code.GraphExecDestroy(made)
        for event in self.events:
            self.rt.code.EventDestroy(event)
        self.pooled, self.graphs, self.events = {}, [], []
        self.rt.code.DeviceSynchronize()

    def close(self) -> None:
        for stream in self.streams[1:] + self.branches:
            self.rt.StreamDestroy(stream)
        self.rt.Free(self.device)
        self.rt.FreeHost(self.pinned)


def execute(machine: Machine, program: list[tuple[Any, ...]]) -> None:
    machine.begin()
    try:
        for step in program:
            machine.step(step)
        machine.finish()
    finally:
        machine.release()


def replay(program: list[tuple[Any, ...]]) -> None:
    """Runs one program in the form printed by a failing test."""
    from .binding import open_runtime

    machine = Machine(open_runtime())
    execute(machine, program)
    machine.close()
