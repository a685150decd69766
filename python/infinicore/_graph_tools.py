"""Looking at graphs from outside: pictures, files, times."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infinicore import _core
from infinicore._dtype import ALL
from infinicore._tensor import Tensor

if TYPE_CHECKING:
    from infinicore._graph import Graph

_FORMAT = 1

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
    """The time of each launch; printed as a table, the longest first."""

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


# ---- Files --------------------------------------------------------------------------------------
#
# A zip: graph.json with the operators as they were recorded, and one member of bytes for each
# memory whose contents the graph does not make itself.


def save(graph: Graph, path: Any) -> None:
    constants = set(graph._constants)
    inputs = {tensor._memory for tensor in graph.inputs} | constants
    named = {tensor._memory: name for name, tensor in graph.inputs._named.items()}
    memories: dict[int, dict[str, Any]] = {}
    nodes = []
    contents: dict[int, bytes] = {}
    for n, (name, places, origin) in enumerate(graph._native.recorded):
        if origin is None:
            raise ValueError(f"save: step {n} ({name}) is the program's own work, not an operator")
        rows: list[Any] = []
        for p, place in enumerate(places):
            if place is None:
                rows.append(None)
                continue
            address, offset, kind, shape, strides, _ = place
            tensor = graph._native.tensor_at(n, p, True)
            if address not in memories:
                memories[address] = {"bytes": tensor._memory_size, "name": named.get(address, "")}
                if address in inputs:
                    contents[address] = _bytes_of(tensor)
                    memories[address]["saved"] = True
                if address in constants:
                    memories[address]["constant"] = True
            rows.append([list(memories).index(address), offset, kind._code, shape, strides])
        nodes.append([origin[0], _plain(origin[1]), _plain(origin[2]), rows])
    document = {
        "format": _FORMAT,
        "memories": list(memories.values()),
        "nodes": nodes,
        "outputs": graph._native.outputs,
    }
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("graph.json", json.dumps(document))
        for address, data in contents.items():
            file.writestr(f"memory/{list(memories).index(address)}", data)


def _plain(values: Any) -> Any:
    """Values as JSON has them."""
    if isinstance(values, (tuple, list)):
        return [_plain(each) for each in values]
    if isinstance(values, (bool, float, str)) or values is None:
        return values
    return int(values)


def _bytes_of(tensor: Tensor) -> bytes:
    size = tensor._memory_size
    whole = _core.view_as(tensor, (size,), (1,), -tensor._offset, ALL["U8"])
    return bytes(whole.cpu().numpy().tobytes())


def load(path: Any, device: Any, stop: Callable[[], Graph]) -> Graph:
    """The graph of a file; `stop` ends a recording."""
    from infinicore._creation import empty
    from infinicore._device import device as Device  # noqa: N812

    where = Device(device) if device is not None else _core.get_device()
    with zipfile.ZipFile(path) as file:
        document = json.loads(file.read("graph.json"))
        if document.get("format") != _FORMAT:
            raise ValueError(f"load: {path} is no graph of format {_FORMAT}")
        saved: dict[int, Tensor] = {}
        for i, row in enumerate(document["memories"]):
            if row.get("saved"):
                saved[i] = empty((row["bytes"],), dtype=ALL["U8"], device=where)
                _fill(saved[i], file.read(f"memory/{i}"))
    _core.start_graph_recording()
    try:
        results = _note_down(document, saved, where)
    except BaseException:
        _core.cancel_graph_recording()
        raise
    graph = stop()
    del results
    rows = document["memories"]
    graph._constants += [saved[i]._memory for i in saved if rows[i].get("constant")]
    views = {tensor._memory: tensor for tensor in graph.inputs}
    graph._names = {
        rows[i]["name"]: views[memory._memory]
        for i, memory in saved.items()
        if rows[i]["name"] and memory._memory in views
    }
    graph.__dict__.pop("inputs", None)
    graph.outputs = [graph._native.tensor_at(n, p, True) for n, p in document["outputs"]]
    return graph


def _note_down(document: Any, saved: dict[int, Tensor], where: Any) -> list[Tensor]:
    """Records all operators. What it returns must be held until the recording ends: those are
    results; all other memory that the graph makes is its own."""
    from infinicore._creation import empty
    from infinicore._emit import _step
    from infinicore.op._operator import function

    memories = [
        saved[i] if i in saved else empty((row["bytes"],), dtype=ALL["U8"], device=where)
        for i, row in enumerate(document["memories"])
    ]
    for name, attributes, scalars, rows in document["nodes"]:
        places = [
            row
            and _core.view_as(memories[row[0]], tuple(row[3]), tuple(row[4]), row[1], ALL[row[2]])
            for row in rows
        ]
        _replay(function(name), places, attributes, scalars, _step)
    return [memories[document["nodes"][n][3][p][0]] for n, p in document["outputs"]]


def _replay(this: Any, places: list[Any], attributes: Any, scalars: Any, step: Any) -> None:
    """Notes down one operator; the places are those of the run function, arrays spread out."""
    tensors: list[Any] = [None] * this.place_count
    left = list(places)
    for i, (_, tensor, letter) in enumerate(this.pointers):
        at = tensor if tensor >= 0 else len(this.tensors) + i
        if letter == "a":
            # An array takes all that the other pointers leave.
            count = len(left) - (len(this.pointers) - i - 1)
            tensors[at] = [left.pop(0) for _ in range(count)]
        else:
            tensors[at] = left.pop(0)
    values = {a.name: v for a, v in zip(this.attributes, attributes, strict=True)}
    values |= dict(zip(this.scalars, scalars, strict=True))
    step(this, tensors, values)


def _fill(memory: Tensor, data: bytes) -> None:
    source = _core.from_object(memoryview(bytearray(data)), "load")
    _core.copy_from(memory, source)
