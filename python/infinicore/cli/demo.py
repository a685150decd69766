"""`infini demo`: what the runtime and the tensors do, measured and checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from infinicore import rt
from infinicore.cli.table import size, table

LAUNCHES = 1000

Row = tuple[str, str, str]


class Checks:
    """Counts what was checked and what was wrong."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def __call__(self, good: bool, words: str) -> str:
        if good:
            self.passed += 1
            return f"ok: {words}"
        self.failed.append(words)
        return f"WRONG: {words}"


def run(nbytes: int) -> int:
    check = Checks()
    device = rt.Device.current()
    print(f"{device.kind}:{device.index}  {device.name}\n")
    rows: list[Row] = []
    parts: tuple[Callable[[], list[Row]], ...] = (
        lambda: overlapping(nbytes, check),
        lambda: timed(nbytes, check),
        lambda: replayed(check),
    )
    for part in parts:
        rows += part()
    print(table(("what", "measured", "checked"), rows))
    print("\na decode step of a small transformer layer, with a cache of 128 positions\n")
    print(table(("way", "per step", "against eager", "checked"), transformer(check)))
    if check.failed:
        print(f"\n{len(check.failed)} checks failed: {'; '.join(check.failed)}")
        return 1
    print(f"\nall {check.passed} checks passed")
    return 0


def rate(nbytes: int, seconds: float) -> str:
    return f"{nbytes / seconds / 1e9:.1f} GB/s"


def pattern(nbytes: int, start: int) -> bytes:
    row = bytes((start + i) % 251 for i in range(251))
    return (row * (nbytes // len(row) + 1))[:nbytes]


def overlapping(nbytes: int, check: Checks) -> list[Row]:
    """Copies on two streams against the same copies on one."""
    sources, targets = [], []
    for i in range(2):
        sources.append(rt.Memory(nbytes))
        targets.append(rt.Memory(nbytes))
        sources[i].copy_from(pattern(nbytes, i))
        targets[i].fill(0)
    with rt.Stream(nonblocking=True) as one, rt.Stream(nonblocking=True) as other:

        def seconds(streams: list[rt.Stream]) -> float:
            begin = time.perf_counter()
            for i, stream in enumerate(streams):
                targets[i].copy_from(sources[i], stream=stream)
            for stream in streams:
                stream.synchronize()
            return time.perf_counter() - begin

        # Each stream waits for the other to get there: only streams that run side by side ever do.
        meeting = threading.Barrier(2, timeout=30)
        met: list[int] = []

        def meet() -> None:
            try:
                meeting.wait()
                met.append(1)
            except threading.BrokenBarrierError:
                pass

        for stream in (one, other):
            stream.launch(meet)
        in_turn = min(seconds([one, one]) for _ in range(3))
        together = min(seconds([one, other]) for _ in range(3))
        shared = overlap(one, other, targets, sources)
    copied = all(t.to_bytes() == s.to_bytes() for s, t in zip(sources, targets, strict=True))
    both = f"2 x {size(nbytes)}"
    return [
        (f"copies on one stream, {both}", rate(2 * nbytes, in_turn), check(copied, "all bytes")),
        (
            f"copies on two streams, {both}",
            f"{rate(2 * nbytes, together)}, {shared:.0%} overlap",
            check(len(met) == 2, "the streams ran side by side"),
        ),
    ]


def overlap(
    one: rt.Stream, other: rt.Stream, targets: list[rt.Memory], sources: list[rt.Memory]
) -> float:
    """The part of the shorter copy during which the longer one was under way too."""
    start, times = one.record(), []
    for stream, target, source in zip((one, other), targets, sources, strict=True):
        begin = stream.record()
        target.copy_from(source, stream=stream)
        times.append((begin, stream.record()))
    for _, end in times:
        end.synchronize()
    begins = [begin - start for begin, _ in times]
    ends = [end - start for _, end in times]
    shorter = min(end - begin for begin, end in zip(begins, ends, strict=True))
    both = max(0.0, min(ends) - max(begins))
    return both / shorter if shorter > 0 else 1.0


def timed(nbytes: int, check: Checks) -> list[Row]:
    """A copy between two events that measure time."""
    source, target = rt.Memory.host(nbytes), rt.Memory(nbytes)
    memoryview(source)[:] = pattern(nbytes, 7)
    with rt.Stream() as stream:
        best = float("inf")
        for _ in range(5):
            start = stream.record()
            target.copy_from(source, stream=stream)
            end = stream.record()
            end.synchronize()
            best = min(best, end - start)
    same = target.to_bytes() == source.to_bytes()
    measured = f"{best:.2f} ms, {rate(nbytes, max(best, 1e-6) / 1000)}"
    return [
        (f"copy timed by events, {size(nbytes)}", measured, check(same and best > 0, "all bytes"))
    ]


def replayed(check: Checks) -> list[Row]:
    """A captured graph over two streams: each launch moves the bytes on by one."""
    nbytes = 4096
    ring, step = rt.Memory(nbytes), rt.Memory(nbytes)
    before = pattern(nbytes, 1)
    ring.copy_from(before)
    with rt.Stream() as stream, rt.Stream() as side:
        with rt.capture(stream) as graph:
            step[:-1].copy_from(ring[:-1], stream=stream)
            side.wait(stream.record())
            ring[1:].copy_from(step[:-1], stream=stream)
            ring[:1].fill(0, stream=side)
            stream.wait(side.record())
        nodes = len(graph.nodes)
        untouched = check(ring.to_bytes() == before, "capturing ran nothing")
        graph.launch(stream)  # instantiates; not timed
        stream.synchronize()
        begin = time.perf_counter()
        for _ in range(LAUNCHES - 1):
            graph.launch(stream)
        stream.synchronize()
        each = (time.perf_counter() - begin) / (LAUNCHES - 1)
    expected = (bytes(LAUNCHES) + before)[:nbytes]
    right = check(ring.to_bytes() == expected, f"exactly {LAUNCHES} runs in order")
    return [
        (f"capture of a graph of {nodes} nodes", "", untouched),
        (f"graph launched {LAUNCHES} times", f"{each * 1e6:.2f} us per launch", right),
    ]


# ---- A transformer layer ------------------------------------------------------------------------

STEPS = 64


def transformer(check: Checks) -> list[tuple[str, str, str, str]]:
    """The same layer twice, eager and recorded, over the same tokens."""
    import infinicore
    from infinicore.cli.block import DecodeBlock

    rows = []
    for hidden in (64, 256):
        eager, recorded = (DecodeBlock(hidden=hidden, heads=4, groups=2) for _ in range(2))
        run_eager, replay = eager.eager(), recorded.recorded()
        worst = 0.0
        for step in range(STEPS):
            token = infinicore.randn((1, hidden))
            for block in (eager, recorded):
                block.x.copy_(token)
                block.position.fill_(step)
            expected = run_eager()
            replay()
            difference = (recorded.result - expected).abs().max().item()
            worst = max(worst, float(difference))
        infinicore.sync_device()
        times = [fastest(run_eager), fastest(replay)]
        operators, launches = len(recorded.graph.recorded), len(recorded.graph.nodes)
        same = check(worst < 1e-3, f"{STEPS} steps, difference at most {worst:.0e}")
        rows += [
            (f"eager, width {hidden}", f"{times[0] * 1e6:.0f} us", "1.0 x", ""),
            (
                f"recorded: {operators} operators in {launches} launches",
                f"{times[1] * 1e6:.0f} us",
                f"{times[0] / times[1]:.1f} x faster",
                same,
            ),
        ]
    return rows


def fastest(work: Callable[[], object], rounds: int = 20) -> float:
    """Seconds of one call, at best."""
    from infinicore import context

    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        context.sync_stream()
        best = min(best, time.perf_counter() - start)
    return best
