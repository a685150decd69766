"""Streams that run concurrently."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore import context, rt
from infinicore.cli.demo.rows import Row, Setting
from infinicore.cli.table import duration, size

TURNS = 1000
LIMIT_SECONDS = 30.0  # far longer than any turn takes
LARGEST_MATRIX = 4096
ROUNDS = 5


def show(setting: Setting) -> list[Row]:
    rows = []
    # Other devices may run the host functions of all streams one after the other.
    if setting.kind == "cpu":
        setting.step("two streams take turns")
        rows.append(take_turns())
    return rows + copy_beside_matmul(setting)


def take_turns() -> Row:
    """Two streams wait for each other repeatedly: possible only if they run concurrently."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]
    taken: list[int] = []

    def player(me: int) -> Callable[[], None]:
        def play() -> None:
            for _ in range(TURNS):
                if not turns[me].acquire(timeout=LIMIT_SECONDS):
                    return
                taken.append(me)
                turns[1 - me].release()

        return play

    with rt.Stream(nonblocking=True) as one, rt.Stream(nonblocking=True) as other:
        one.launch(player(0))
        other.launch(player(1))
    return Row("two streams take turns", taken == [0, 1] * TURNS, f"{2 * TURNS:,} turns")


Span = tuple[float, float]  # begin and end in milliseconds


def copy_beside_matmul(setting: Setting) -> list[Row]:
    """A copy from the host and a matrix product: one needs the bus, the other the processors."""
    nbytes = setting.copy_bytes
    pattern = bytes(i % 251 for i in range(251)) * (nbytes // 251 + 1)
    source, target = rt.Memory.host(nbytes), rt.Memory(nbytes)
    memoryview(source)[:] = pattern[:nbytes]
    with rt.Stream(nonblocking=True) as one, rt.Stream(nonblocking=True) as other:

        def copy() -> None:
            target.copy_from(source, stream=one)

        setting.step(f"copy of {size(nbytes)}")
        copy_ms = alone(one, copy)
        n, matmul_ms = 64, 0.0
        while matmul_ms < copy_ms and n < LARGEST_MATRIX:
            n *= 2
            setting.step(f"matrix product, {n} x {n}")
            multiply, product = matmul(n, other)
            matmul_ms = alone(other, multiply)

        setting.step("both at the same time")
        product.fill_(0)
        target.fill(0)
        context.sync_device()
        works = ((other, multiply), (one, copy))
        spans = max((side_by_side(*works) for _ in range(ROUNDS)), key=overlap)
    copied = target.to_bytes() == source.to_bytes()
    multiplied = bool((product == 1.5 * n).all().item())
    both_ms = max(end for _, end in spans) - min(begin for begin, _ in spans)
    share = overlap(spans)
    note = f"{share:.0%} overlap" if share >= 0.05 else "no overlap on this device"
    return [
        Row(f"copy of {size(nbytes)} to the device", copied, *bar(copy_ms)),
        Row(f"matrix product, {n} x {n}", multiplied, *bar(matmul_ms)),
        Row("both, on two streams", copied and multiplied, *bar(both_ms), note),
    ]


def matmul(n: int, stream: rt.Stream) -> tuple[Callable[[], None], Any]:
    """A product of n x n matrices in a stream, and its result: all elements are 1.5 n."""
    a, b = infinicore.full((n, n), 0.5), infinicore.full((n, n), 3.0)
    product = infinicore.zeros(n, n)
    context.sync_device()

    def multiply() -> None:
        with infinicore.stream(stream):
            infinicore.matmul(a, b, out=product)

    return multiply, product


def alone(stream: rt.Stream, work: Callable[[], None]) -> float:
    """Milliseconds of some work with the device to itself."""
    work()  # the first run may have to load code
    spans = []
    for _ in range(ROUNDS):
        begin = stream.record()
        work()
        end = stream.record()
        end.synchronize()
        spans.append(end - begin)
    return min(spans)


def bar(milliseconds: float) -> tuple[str, float]:
    return duration(milliseconds / 1e3), milliseconds


def side_by_side(*works: tuple[rt.Stream, Callable[[], None]]) -> list[Span]:
    """The start and end times of each piece of work, each in its stream."""
    start = works[0][0].record()
    marks = []
    for stream, work in works:
        begin = stream.record()
        work()
        marks.append((begin, stream.record()))
    for _, end in marks:
        end.synchronize()
    return [(begin - start, end - start) for begin, end in marks]


def overlap(spans: list[Span]) -> float:
    """The fraction of the shorter work that overlapped with the other."""
    shorter = min(end - begin for begin, end in spans)
    both = min(end for _, end in spans) - max(begin for begin, _ in spans)
    return min(1.0, max(0.0, both) / shorter) if shorter > 0 else 0.0
