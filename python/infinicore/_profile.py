"""Where the time goes: a table by operator, and a trace for Perfetto.

    with infinicore.profile() as p:
        model(x)
    print(p)
    p.save("trace.json")

While a profile is active the native core keeps a log (csrc/core/profiler.h), which is read here.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from types import TracebackType
from typing import Any, NamedTuple

from infinicore import _core

__all__ = ["profile"]

_COLUMNS = ("operator", "device", "calls", "total ms", "mean us", "share", "bytes", "GB/s")


class ProfileEvent(NamedTuple):
    """One launch. Times are nanoseconds of `time.perf_counter_ns()`."""

    name: str
    device: Any
    stream: int  # 0: the CPU's default stream, which runs on the calling thread
    thread: int  # of the system
    launched: int  # when the launch began
    returned: int  # when the call returned
    begin: int  # of the work itself
    end: int
    bytes: int  # read and written; 0: not known


class ProfileRow(NamedTuple):
    """All launches of an operator on a device."""

    name: str
    device: Any
    calls: int
    total: float  # seconds
    mean: float  # seconds
    share: float  # of the time of all operators, 0 to 1
    bytes: int  # read and written; 0: not known


class profile:  # noqa: N801 - used as a function
    """Times every operator that runs inside a `with` block, on any device and in any thread.

    `print(p)` shows a line for each operator, longest first; `p.rows` has the same data, `p.events`
    the individual launches. `p.save("trace.json")` writes a trace for Perfetto
    (https://ui.perfetto.dev) or chrome://tracing: the threads of the host, and below them the
    streams of each device.

    Work on the CPU is timed in the thread that runs it. On other devices two events in the stream
    enclose each launch; the end of the block waits for them. Fused operators share a line
    ("add+gelu"). Running a graph is one entry, "graph replay"; `Graph.profile` times its launches.
    While a graph is recorded nothing runs, so nothing is timed. Blocks may be nested, and an
    exception ends them as usual. Operators called through `infinicore.op` are not recorded.

    >>> with infinicore.profile() as p:
    ...     y = infinicore.ones(2, 2) @ infinicore.ones(2, 2)
    >>> [row.name for row in p.rows if row.name == "gemm"]
    ['gemm']
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self.events: list[ProfileEvent] = []

    def __enter__(self) -> profile:
        if self._number is not None:
            raise RuntimeError("profile: this profile is on already: expected another one")
        self._number = _core.start_profile()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._number is not None:
            number, self._number = self._number, None
            self.events = [ProfileEvent(*each) for each in _core.stop_profile(number)]

    @property
    def rows(self) -> list[ProfileRow]:
        """One row for each operator and device, longest first."""
        groups: dict[tuple[str, Any], list[ProfileEvent]] = defaultdict(list)
        for event in self.events:
            groups[event.name, event.device].append(event)
        times = {key: sum(each.end - each.begin for each in group) for key, group in groups.items()}
        whole = sum(times.values()) or 1
        rows = []
        for key in sorted(groups, key=lambda key: -times[key]):
            count, total = len(groups[key]), times[key]
            size = sum(each.bytes for each in groups[key])
            rows.append(
                ProfileRow(*key, count, total / 1e9, total / 1e9 / count, total / whole, size)
            )
        return rows

    def __str__(self) -> str:
        if self._number is not None:
            return "profile: still on; leave the block to see it"
        lines = [_COLUMNS, *(_line(row) for row in self.rows)]
        total = sum(row.total for row in self.rows)
        lines.append(("all", "", str(len(self.events)), f"{total * 1e3:.3f}", "", "100.0%", "", ""))
        widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
        made = []
        for line in lines:
            left = [cell.ljust(width) for cell, width in zip(line[:2], widths, strict=False)]
            right = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
            made.append("  ".join(left + right).rstrip())
        return "\n".join(made)

    def __repr__(self) -> str:
        return f"<profile of {len(self.events)} launches>"

    def save(self, path: Any) -> None:
        """Writes the trace as JSON, in Chrome's trace event format."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": _trace(self.events), "displayTimeUnit": "ns"}, file)


def _line(row: ProfileRow) -> tuple[str, ...]:
    speed = row.bytes / row.total / 1e9 if row.bytes and row.total else 0.0
    return (
        row.name,
        str(row.device),
        str(row.calls),
        f"{row.total * 1e3:.3f}",
        f"{row.mean * 1e6:.1f}",
        f"{row.share:.1%}",
        str(row.bytes) if row.bytes else "-",
        f"{speed:.1f}" if speed else "-",
    )


# ---- Traces -------------------------------------------------------------------------------------


def _trace(events: list[ProfileEvent]) -> list[dict[str, Any]]:
    """Host threads are threads of process 0; devices are processes whose threads are streams."""
    start = min((each.launched for each in events), default=0)
    main = threading.main_thread().native_id
    names: dict[tuple[int, int], str] = {}
    devices: dict[str, int] = {}
    streams: dict[tuple[str, int], int] = {}
    made = []
    for event in events:
        device = str(event.device)
        does_itself = (event.begin, event.end) == (event.launched, event.returned)
        is_main = event.thread == main
        names[0, event.thread] = "main thread" if is_main else f"thread {event.thread}"
        arguments = {"device": device, "stream": hex(event.stream)}
        if event.bytes:
            arguments["bytes"] = str(event.bytes)
        host = event.name if does_itself else f"launch {event.name}"
        times = (event.launched, event.returned)
        made.append(_complete(host, (0, event.thread), times, start, arguments))
        if does_itself:
            continue
        process = devices.setdefault(device, len(devices) + 1)
        stream = streams.setdefault((device, event.stream), len(streams) + 1)
        names[process, stream] = f"stream {event.stream:#x}"
        times = (event.begin, event.end)
        made.append(_complete(event.name, (process, stream), times, start, arguments))
    labels = [_label("process_name", 0, 0, f"host (process {os.getpid()})")]
    labels += [_label("process_name", number, 0, name) for name, number in devices.items()]
    labels += [_label("thread_name", *place, name) for place, name in names.items()]
    return labels + made


def _complete(
    name: str, place: tuple[int, int], times: tuple[int, int], start: int, arguments: dict[str, str]
) -> dict[str, Any]:
    begin, end = times
    return {
        "name": name,
        "ph": "X",
        "pid": place[0],
        "tid": place[1],
        "ts": (begin - start) / 1e3,
        "dur": (end - begin) / 1e3,
        "args": arguments,
    }


def _label(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
