"""Graphs: operations recorded once, fused, planned in memory, and replayed.

    infinicore.start_graph_recording()
    y = model(x)                       # nothing runs
    graph = infinicore.stop_graph_recording()
    x.copy_(new); graph.run()          # y has the result

or, of a whole function:

    @infinicore.graph
    def step(x): ...
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from infinicore import _core
from infinicore._device import device as Device  # noqa: N812
from infinicore._tensor import Tensor

__all__ = ["Graph", "record"]


class Node(NamedTuple):
    """One launch of a graph: an operator, or several that were fused ("add+gelu")."""

    name: str
    arguments: tuple[Argument | None, ...]  # None: an absent operand


class Argument(NamedTuple):
    memory: str  # the name of its memory: i0 an input, c0 a constant, t0 a temporary
    offset: int
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_written: bool

    @property
    def text(self) -> str:
        """Memory, element type and shape: i0:float32[2x3]."""
        sizes = "x".join(map(str, self.shape or ()))
        kind = self.dtype._name if self.dtype is not None else "bytes"
        return f"{self.memory}:{kind}[{sizes}]"


class Graph:
    """Recorded operations. `run()` replays them on the tensors that they were recorded with.

    `inputs` are the tensors that the graph reads but does not produce, in the order of their first
    use; write new values into them (`copy_`) before a run. `outputs` are the tensors that were
    created while recording and are still referenced, and those that the graph only writes: they
    hold the results after a run. The graph keeps all memory alive that a run needs.
    """

    def __init__(self, native: Any) -> None:
        if not isinstance(native, _core.Graph):
            raise TypeError(
                f"Graph: expected what stop_graph_recording gives, got {type(native).__name__}"
            )
        self._native = native
        self._constants: list[int] = list(native.constants)  # memory that holds scalar values

    def run(self) -> None:
        """Replay, in the order of the current stream."""
        self._native.run()

    __call__ = run

    @functools.cached_property
    def inputs(self) -> NamedTensors:
        return NamedTensors("input", self._native.inputs)

    @functools.cached_property
    def outputs(self) -> NamedTensors:
        return NamedTensors("output", self._native.outputs)

    @functools.cached_property
    def nodes(self) -> list[Node]:
        """What a run launches, after fusing."""
        return self._read(self._native.nodes)

    @property
    def recorded(self) -> list[Node]:
        """The operators as they were recorded, before fusing."""
        return self._read(self._native.recorded)

    @property
    def arena_bytes(self) -> int:
        """Bytes of memory for temporaries: those that are not alive at the same time share it."""
        return self._native.arena_bytes

    def _read(self, rows: Any) -> list[Node]:
        read = dict.fromkeys(tensor._memory for tensor in self.inputs)
        names = {memory: f"i{i}" for i, memory in enumerate(read)}
        constants = set(self._constants)
        nodes = []
        for name, places in rows:
            arguments: list[Argument | None] = []
            for place in places:
                if place is None:
                    arguments.append(None)
                    continue
                memory, offset, dtype, shape, strides, written = place
                letter = "c" if memory in constants else "t"
                label = names.setdefault(memory, f"{letter}{len(names)}")
                arguments.append(Argument(label, offset, dtype, shape, strides, written))
            nodes.append(Node(name, tuple(arguments)))
        return nodes

    def __repr__(self) -> str:
        lines = [
            f"Graph: {len(self.nodes)} launches of {len(self._native.recorded)} operators,"
            f" {self.arena_bytes} bytes inside"
        ]
        for i, node in enumerate(self.nodes):
            written = [a.text for a in node.arguments if a is not None and a.is_written]
            read = [a.text for a in node.arguments if a is not None and not a.is_written]
            lines.append(f"  {i:3} {', '.join(written)} = {node.name}({', '.join(read)})")
        return "\n".join(lines)

    def to_dot(self) -> str:
        """The graph in the DOT language of Graphviz: boxes are launches, ellipses are memory."""
        from infinicore._graph_tools import to_dot

        return to_dot(self)

    def save(self, path: Any) -> None:
        """Write the operators and the contents of all inputs to a file.

        `Graph.load` reads it in another process or on another device, `infiniGraphLoad` from C.
        The file contains the bytes that the inputs refer to, and no others of their memory.
        """
        self._native.save(os.fspath(path))

    @staticmethod
    def load(path: Any, device: Any = None) -> Graph:
        """Read a graph that `save` wrote; `inputs` and `outputs` hold its tensors, by name. A
        damaged file raises a ValueError that names the file and the field.
        """
        where = Device(device) if device is not None else _core.get_device()
        return Graph(_core.load_graph(os.fspath(path), where))

    def profile(self, runs: int = 10, trace: Any = None) -> Any:
        """Time each launch. `trace` names a file for a trace that Chrome and Perfetto show."""
        from infinicore._graph_tools import profile

        return profile(self, runs, trace)


class NamedTensors(Sequence[Tensor]):
    """Tensors that a graph reads or produces, by index or by name."""

    def __init__(self, kind: str, tensors: list[tuple[str, Tensor]]) -> None:
        self._kind = kind
        self._tensors = [tensor for _, tensor in tensors]
        self._named = dict(tensors)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._named:
                known = ", ".join(map(repr, self._named)) or "none"
                raise KeyError(f"the graph has no {self._kind} {key!r}: expected one of {known}")
            return self._named[key]
        return self._tensors[key]

    def __len__(self) -> int:
        return len(self._tensors)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._tensors)

    def keys(self) -> list[str]:
        return list(self._named)

    def __repr__(self) -> str:
        shapes = (f"{name}: {tuple(tensor.shape)}" for name, tensor in self._named.items())
        return f"{self._kind}s({', '.join(shapes)})"


# ---- Recording ----------------------------------------------------------------------------------


def start(device: Any = None) -> None:
    if device is not None:
        _core.set_device(Device(device))
    _core.start_graph_recording()


def stop() -> Graph:
    return Graph(_core.stop_graph_recording())


class Recording:
    """The result of `record`: `graph` is set at the end of the block."""

    graph: Graph

    def run(self) -> None:
        self.graph.run()


@contextmanager
def record(device: Any = None) -> Iterator[Recording]:
    """Record the operations of the block.

    >>> with infinicore.record() as made:
    ...     y = x * 2
    >>> made.graph.run()
    """
    made = Recording()
    start(device)
    try:
        yield made
    except BaseException:
        _core.cancel_graph_recording()
        raise
    made.graph = stop()
