"""Graphs: operations recorded once, fused, with their memory planned, and replayed.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from infinicore import _core
from infinicore._device import device as Device  # noqa: N812
from infinicore._dtype import get_default_dtype
from infinicore._tensor import Tensor

__all__ = ["Graph", "graph", "record"]


class Node(NamedTuple):
    """One launch of a graph: an operator, or several that were fused ("add+gelu")."""

    name: str
    arguments: tuple[Argument | None, ...]  # None: an absent one


class Argument(NamedTuple):
    memory: str  # a name for the memory it lies in: i0 an input, c0 a constant, t0 inside the graph
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
    """Recorded operations. `run()` does them again, with the tensors that they were recorded with.

    `inputs` are the tensors that the graph reads and does not make, in the order of their first
    use; write new values into them (`copy_`) before a run. `outputs` are tensors that were made
    while recording and are still held, and tensors that the graph only writes: they have the
    results after it. All memory that a run needs is kept by the graph.
    """

    def __init__(self, native: Any) -> None:
        if not isinstance(native, _core.Graph):
            raise TypeError(
                f"Graph: expected what stop_graph_recording gives, got {type(native).__name__}"
            )
        self._native = native
        self._constants: list[int] = list(native.constants)  # memories of numbers

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
        """Memory for what lives only inside a run: tensors not alive together share it."""
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
        """The graph in the language of Graphviz: boxes are launches, ellipses memory."""
        from infinicore._graph_tools import to_dot

        return to_dot(self)

    def save(self, path: Any) -> None:
        """Write the operators and the contents of all inputs to a file.

        `Graph.load` reads it in another process or on another device, `infiniGraphLoad` from C.
        The file has the bytes that the inputs refer to, and none that lie beside them.
        """
        self._native.save(os.fspath(path))

    @staticmethod
    def load(path: Any, device: Any = None) -> Graph:
        """Read a graph that `save` wrote; `inputs` and `outputs` have its tensors, by name.

        A file that is broken is a ValueError that names the file and the field.
        """
        where = Device(device) if device is not None else _core.get_device()
        return Graph(_core.load_graph(os.fspath(path), where))

    def profile(self, runs: int = 10, trace: Any = None) -> Any:
        """Time each launch. `trace` names a file for a trace that Chrome and Perfetto show."""
        from infinicore._graph_tools import profile

        return profile(self, runs, trace)


class NamedTensors(Sequence[Tensor]):
    """Tensors that a graph reads or makes, by number or by name."""

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
    """What `record` gives: `graph` is set when the block has ended."""

    graph: Graph

    def run(self) -> None:
        self.graph.run()


@contextmanager
def record(device: Any = None) -> Iterator[Recording]:
    """Record what the block does.

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


class RecordedFunction:
    """A function that is recorded for each new set of shapes, and replayed ever after."""

    def __init__(self, body: Callable[..., Any], static: bool, bound: tuple[str, ...]) -> None:
        import inspect

        functools.update_wrapper(self, body)
        self._body, self._static, self._bound = body, static, set(bound)
        self._signature = inspect.signature(body)
        self._replays: dict[Any, _Replay] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if _core.is_graph_recording() or _core.is_tracing():
            return self._body(*args, **keywords)
        given = self._signature.bind(*args, **keywords)
        given.apply_defaults()
        arguments = dict(given.arguments)
        key = (
            get_default_dtype(),
            _core.get_device(),
            *(_key(n, v, n in self._bound) for n, v in arguments.items()),
        )
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays[key] = _Replay(self, given)
        return replay(arguments)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def graphs(self) -> list[Graph]:
        """The graphs recorded so far."""
        return [replay.graph for replay in self._replays.values()]


class _Replay:
    """One graph of a recorded function, with buffers for its arguments."""

    def __init__(self, owner: RecordedFunction, given: Any) -> None:
        self.static = owner._static
        self.buffers = {
            name: value if name in owner._bound else _map(value, Tensor.clone)
            for name, value in given.arguments.items()
        }
        copied = {name for name in self.buffers if name not in owner._bound}
        given.arguments.update(self.buffers)
        self.first_device = _first_device(self.buffers)
        with record(self.first_device) as made:
            self.result = owner._body(*given.args, **given.kwargs)
        self.graph = made.graph
        self.graph._native.name_inputs(_leaves(self.buffers))
        results = self.result if isinstance(self.result, dict) else {"output": self.result}
        self.graph._native.name_outputs(_leaves(results))
        written = {
            place[0]
            for _, places in self.graph._native.recorded
            for place in places
            if place is not None and place[5]
        }
        self.copied = [(n, b) for n, b in self.buffers.items() if n in copied]
        self.written = written

    def __call__(self, arguments: dict[str, Any]) -> Any:
        for name, buffer in self.copied:
            _each(buffer, arguments[name], lambda to, source: to.copy_(source))
        self.graph.run()
        for name, buffer in self.copied:  # arguments that the function writes into
            _each(
                buffer,
                arguments[name],
                lambda to, source: source.copy_(to) if to._memory in self.written else None,
            )
        return self.result if self.static else _map(self.result, Tensor.clone)


def graph(
    body: Callable[..., Any] | None = None, *, static: bool = False, bound: tuple[str, ...] = ()
) -> Any:
    """Turn a function into a recorded one: each new combination of shapes, types and other values
    of its arguments is recorded at the first call, later calls replay.

    Arguments are copied into the graph's own tensors and results are copied out. With `static` the
    results are the graph's own, which the next call overwrites. Arguments named in `bound` (say, a
    cache) are used where they lie: another tensor is another graph.

    >>> @infinicore.graph
    ... def step(x):
    ...     return infinicore.nn.functional.silu(x) * 2
    """
    if body is None:
        return functools.partial(graph, static=static, bound=bound)
    return RecordedFunction(body, static, bound)


def _key(name: str, value: Any, is_bound: bool) -> Any:
    if isinstance(value, Tensor):
        if is_bound:
            return (value._memory, value._offset, value.shape, value.stride(), value.dtype)
        return (value.shape, value.dtype, value.device)
    if isinstance(value, (tuple, list)):
        return (type(value), *(_key(name, each, is_bound) for each in value))
    if isinstance(value, dict):
        return tuple((k, _key(name, each, is_bound)) for k, each in value.items())
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"graph: argument {name!r} is {type(value).__name__}: expected tensors, or values that"
            " can be told apart (hashed)"
        ) from None
    # 1, 1.0 and True are equal, 0.0 and -0.0 too: their types and texts are not.
    return type(value), repr(value) if isinstance(value, float) else value


def _map(value: Any, change: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _map(each, change) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        made = [_map(each, change) for each in value]
        if hasattr(value, "_make"):
            return value._make(made)
        return type(value)(made)
    return value


def _leaves(value: Any, name: str = "") -> dict[str, Tensor]:
    """Tensors in nested values, by their path: `x`, `cache.0`, `cache.1`."""
    if isinstance(value, Tensor):
        return {name: value}
    if isinstance(value, dict):
        entries = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, (tuple, list)):
        entries = [(str(i), each) for i, each in enumerate(value)]
    else:
        return {}
    found: dict[str, Tensor] = {}
    for key, each in entries:
        found |= _leaves(each, f"{name}.{key}" if name else key)
    return found


def _each(one: Any, other: Any, do: Callable[[Tensor, Tensor], Any]) -> None:
    if isinstance(one, Tensor):
        do(one, other)
    elif isinstance(one, dict):
        for key in one:
            _each(one[key], other[key], do)
    elif isinstance(one, (tuple, list)):
        for a, b in zip(one, other, strict=True):
            _each(a, b, do)


def _first_device(buffers: dict[str, Any]) -> Any:
    for value in buffers.values():
        if isinstance(value, Tensor):
            return value.device
    return None
