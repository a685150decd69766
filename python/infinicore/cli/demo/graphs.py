"""A graph captured from two streams, compared with making the same calls one by one."""

from __future__ import annotations

import time
from collections.abc import Callable

from infinicore import rt
from infinicore.cli.demo.rows import Row, Setting, against
from infinicore.cli.table import duration

RUNS = 1000
BYTES = 4096


def show(setting: Setting) -> list[Row]:
    """Each run shifts the bytes of a buffer by one, so a run that is lost or doubled shows."""
    ring, scratch = rt.Memory(BYTES), rt.Memory(BYTES)
    before = bytes(1 + i % 251 for i in range(BYTES))
    after = (bytes(RUNS) + before)[:BYTES]

    with rt.Stream() as stream, rt.Stream() as side:
        forked, joined = rt.Event(timing=False), rt.Event(timing=False)

        def shift() -> None:
            scratch[:-1].copy_from(ring[:-1], stream=stream)
            side.wait(stream.record(forked))
            ring[1:].copy_from(scratch[:-1], stream=stream)
            ring[:1].fill(0, stream=side)
            stream.wait(side.record(joined))

        def seconds_of(run: Callable[[], None]) -> float:
            ring.copy_from(before)
            begin = time.perf_counter()
            for _ in range(RUNS):
                run()
            stream.synchronize()
            return (time.perf_counter() - begin) / RUNS

        setting.step(f"{RUNS} runs, call by call")
        shift()
        stream.synchronize()
        eager = seconds_of(shift)
        eager_is_right = ring.to_bytes() == after

        setting.step("capture")
        ring.copy_from(before)
        with rt.capture(stream) as graph:
            shift()
        nothing_ran = ring.to_bytes() == before
        steps = len(graph.nodes)
        executable = graph.instantiate()
        setting.step(f"{RUNS} replays")
        executable.launch(stream)
        stream.synchronize()
        replayed = seconds_of(lambda: executable.launch(stream))
        replay_is_right = ring.to_bytes() == after
    return [
        Row(f"{RUNS:,} runs, call by call", eager_is_right, duration(eager), eager),
        Row(
            f"{RUNS:,} replays of {steps} steps",
            replay_is_right and nothing_ran,
            duration(replayed),
            replayed,
            against(eager, replayed),
        ),
    ]
