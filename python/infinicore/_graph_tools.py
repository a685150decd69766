"""Inspection of graphs: pictures and timings."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infinicore import _core

if TYPE_CHECKING:
    from infinicore._graph import Graph

# ---- Pictures -----------------------------------------------------------------------------------


def to_dot(graph: Graph) -> str:
    lines = ["digraph {", "  node [fontname=monospace]"]
    seen: set[str] = set()
    for i, node in enumerate(graph.nodes):
        lines.append(f'  n{i} [shape=box, label="{node.name}"]')
        for argument in node.arguments:
            if argument is None:
                continue
            if argument.memory not in seen:
                seen.add(argument.memory)
                lines.append(f'  {argument.memory} [label="{argument.text}"]')
            ends = (f"n{i}", argument.memory)
            lines.append("  {} -> {}".format(*(ends if argument.is_written else ends[::-1])))
    return "\n".join([*lines, "}"])


# ---- Times --------------------------------------------------------------------------------------


class Timing(NamedTuple):
    name: str
    microseconds: float  # of the fastest run
    share: float  # of all nodes together


class Profile(list[Timing]):
    """The time of each launch; prints as a table, longest first."""

    def __str__(self) -> str:
        rows = sorted(self, key=lambda row: -row.microseconds)
        lines = [f"{'us':>10}  {'share':>6}  launch"]
        lines += [f"{r.microseconds:10.1f}  {r.share:6.1%}  {r.name}" for r in rows]
        return "\n".join(lines)


def profile(graph: Graph, runs: int, trace: Any) -> Profile:
    if runs < 1:
        raise ValueError(f"profile: runs is {runs}: expected 1 or more")
    names = [node.name for node in graph.nodes]
    best = [float("inf")] * len(names)
    events = []
    begin = time.perf_counter()
    for run in range(runs):
        for i, name in enumerate(names):
            _core.sync_stream()
            start = time.perf_counter()
            graph._native.run_node(i)
            _core.sync_stream()
            took = time.perf_counter() - start
            best[i] = min(best[i], took)
            events.append(
                {
                    "name": name,
                    "ph": "X",
                    "pid": 0,
                    "tid": 0,
                    "ts": (start - begin) * 1e6,
                    "dur": took * 1e6,
                    "args": {"node": i, "run": run},
                }
            )
    if trace is not None:
        Path(trace).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    whole = sum(best) or 1.0
    return Profile(
        Timing(name, each * 1e6, each / whole) for name, each in zip(names, best, strict=True)
    )
