"""Functions that are recorded at their first call, and replayed from then on:

@infinicore.graph
def step(x): ...
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from infinicore import _core
from infinicore._dtype import get_default_dtype
from infinicore._graph import Graph, record
from infinicore._graph_guards import Guards
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect

_MANY_RECORDINGS = 16  # of one function, for tensors of the same shapes


class RecordedFunction:
    """A function that is recorded for each new combination of shapes, and replayed from then on."""

    def __init__(
        self, body: Callable[..., Any], static: bool, bound: tuple[str, ...], limit: int
    ) -> None:
        import inspect

        functools.update_wrapper(self, body)
        self._body, self._static, self._bound = body, static, set(bound)
        self._signature = inspect.signature(body)
        self._limit = limit
        self._replays: dict[Any, _Replay] = {}
        self._recordings: dict[Any, int] = {}  # by the signature of a call

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if _core.is_graph_recording() or _core.is_tracing():
            return self._body(*args, **keywords)
        given = self._signature.bind(*args, **keywords)
        given.apply_defaults()
        arguments = dict(given.arguments)
        key = (
            get_default_dtype(),
            _core.get_device(),
            _core.is_batch_invariant(),
            _core.allows_tf32(),
            *(_key(n, v, n in self._bound) for n, v in arguments.items()),
        )
        replay = self._replays.get(key)
        if replay is None:
            self._warn_of_values(arguments)
            replay = self._record(key, given)
        elif replay.guards.changed():
            replay = self._record(key, given)
        return replay(arguments)

    def _record(self, key: Any, given: Any) -> _Replay:
        self._replays.pop(key, None)
        while len(self._replays) >= self._limit:
            self._replays.pop(next(iter(self._replays)))  # the oldest
        replay = self._replays[key] = _Replay(self, given)
        return replay

    def _warn_of_values(self, arguments: dict[str, Any]) -> None:
        """Numbers that change from call to call cause a new graph each."""
        values = [name for name, value in arguments.items() if not _leaves(value)]
        if not values:
            return
        tensors = {n: v for n, v in arguments.items() if n not in values}
        same = tuple(_key(n, v, n in self._bound) for n, v in tensors.items())
        if len(self._recordings) > self._limit:
            self._recordings.clear()
        count = self._recordings[same] = self._recordings.get(same, 0) + 1
        if count == _MANY_RECORDINGS:
            import warnings

            warnings.warn(
                f"graph: {getattr(self._body, '__name__', type(self._body).__name__)} was recorded"
                f" {count} times for the same tensors,"
                f" because other values were passed for {', '.join(values)}: a value that changes"
                " often should be a tensor",
                stacklevel=4,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Copies record their own graphs."""
        return {**self.__dict__, "_replays": {}, "_recordings": {}}

    def clear(self) -> None:
        """Forget all graphs: the next call is recorded."""
        self._replays.clear()
        self._recordings.clear()

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
        self.graph._native.name_outputs(_leaves(self.buffers))  # only written
        results = self.result if isinstance(self.result, dict) else {"output": self.result}
        self.graph._native.name_outputs(_leaves(results))
        buffers = {tensor._memory for tensor in _leaves(self.buffers).values()}
        memories = {tensor._memory for tensor in self.graph.inputs} - buffers
        self.guards = Guards(owner._body, given.arguments, memories)
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
    body: Callable[..., Any] | None = None,
    *,
    static: bool = False,
    bound: tuple[str, ...] = (),
    limit: int = 64,
) -> Any:
    """Turn a function into a recorded one: each new combination of shapes, types and other values
    of its arguments is recorded at the first call, later calls replay.

    Arguments are copied into the graph's own tensors, and results are copied out. With `static` the
    graph's own result tensors are returned, which the next call overwrites. Arguments named in
    `bound` (a cache, for example) are used in place: a different tensor causes a new graph.

    Tensors and modules that the function reads from outside are checked in every call: if one was
    replaced, the function is recorded again. At most `limit` graphs are kept; `step.clear()`
    forgets them.

    >>> @infinicore.graph
    ... def step(x):
    ...     return infinicore.nn.functional.silu(x) * 2
    """
    if body is None:
        return functools.partial(graph, static=static, bound=bound, limit=limit)
    expect(limit >= 1, "graph", "limit", limit, "1 or more")
    return RecordedFunction(body, static, bound, limit)


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
    # 1, 1.0 and True compare equal, as do 0.0 and -0.0, so types and texts are compared too.
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
