"""Graphs: work recorded once and launched any number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from infinicore import _rt
from infinicore import _rt_enums as enums
from infinicore.rt._error import InfiniRTError
from infinicore.rt._event import Event
from infinicore.rt._memory import Memory, _size
from infinicore.rt._stream import Stream

if TYPE_CHECKING:
    from infinicore.rt._memory import Source

_MODES = {
    "global": enums.StreamCaptureModeGlobal,
    "thread_local": enums.StreamCaptureModeThreadLocal,
    "relaxed": enums.StreamCaptureModeRelaxed,
}


class Node:
    """One piece of work in a graph. Nodes compare equal when they are the same node.

    >>> node = graph.add_memset(memory, 0)
    >>> node.type
    <GraphNodeType.GraphNodeTypeMemset: 2>
    """

    __slots__ = ("graph", "handle")

    def __init__(self, graph: Graph, handle: int) -> None:
        self.graph = graph
        self.handle = handle

    @property
    def type(self) -> enums.GraphNodeType:
        """What the node does."""
        return _rt.GraphNodeGetType(self)

    @property
    def dependencies(self) -> list[Node]:
        """The nodes that it waits for."""
        return [Node(self.graph, node) for node in _rt.GraphNodeGetDependencies(self)]

    @property
    def dependents(self) -> list[Node]:
        """The nodes that wait for it."""
        return [Node(self.graph, node) for node in _rt.GraphNodeGetDependentNodes(self)]

    def __eq__(self, other: object) -> bool:
        return self.handle == other.handle if isinstance(other, Node) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Node {self.type.name.removeprefix('GraphNodeType')} {self.handle:#x}>"


class Graph(_rt._Owner):
    """Work with its order, captured from streams or built node by node.

    The graph and its instances keep the memory, events and functions alive that its nodes use. The
    caller must keep memory alive that is passed as a plain address.

    >>> graph = rt.Graph()
    >>> filled = graph.add_memset(a, 7)
    >>> graph.add_memcpy(b, a, after=[filled])
    >>> graph.launch(stream)
    """

    __slots__ = ("_exec",)

    _exec: GraphExec | None  # instantiated by launch(), until the graph changes

    def __init__(self) -> None:
        self._adopt(_rt.GraphCreate())

    def _adopt(self, handle: int) -> None:
        super().__init__("Graph", handle)
        self._exec = None

    # ---- Running --------------------------------------------------------------------------------

    def instantiate(self, auto_free: bool = False) -> GraphExec:
        """Create an executable copy. With `auto_free` a launch frees what the previous one left
        allocated.

        >>> exec = graph.instantiate()
        """
        flags = enums.GraphInstantiateFlagAutoFreeOnLaunch if auto_free else 0
        return GraphExec(_rt.GraphInstantiate(self, flags))

    def launch(self, stream: Stream | None = None) -> None:
        """Run the graph in stream order. It is instantiated at the first launch, and again after a
        node was added with a method of this object. After other changes call `instantiate()`.

        >>> for _ in range(1000):
        ...     graph.launch(stream)
        """
        if self._exec is None:
            self._exec = self.instantiate()
        self._exec.launch(stream)

    # ---- Building -------------------------------------------------------------------------------

    def _add(self, handle: int, *kept: object) -> Node:
        self._exec = None
        for thing in kept:
            _rt._keep(self, thing)
        return Node(self, handle)

    def add_memcpy(
        self, dst: Source, src: Source, nbytes: int | None = None, after: Iterable[Node] = ()
    ) -> Node:
        """Add a copy of bytes, by default as many as the source has.

        >>> node = graph.add_memcpy(b, a)
        """
        nbytes = _size(src) if nbytes is None else nbytes
        if not 0 <= nbytes <= min(_size(dst), _size(src)):
            raise ValueError(f"cannot copy {nbytes} bytes from {_size(src)} to {_size(dst)}")
        node = _rt.GraphAddMemcpyNode1D(self, after, dst, src, nbytes, enums.MemcpyDefault)
        return self._add(node, _pinned(dst), _pinned(src))

    def add_memset(
        self,
        dst: Memory,
        value: int,
        nbytes: int | None = None,
        element: int = 1,
        after: Iterable[Node] = (),
    ) -> Node:
        """Add a fill with a value of 1, 2 or 4 bytes.

        >>> node = graph.add_memset(memory, 0xFFFF, element=2)
        """
        nbytes = dst.nbytes if nbytes is None else nbytes
        if not 0 <= nbytes <= dst.nbytes or nbytes % element:
            raise ValueError(f"cannot fill {nbytes} of {dst.nbytes} bytes by {element}")
        params = _rt.MemsetParams(
            dst=dst, value=value, elementSize=element, width=nbytes // element, height=1
        )
        return self._add(_rt.GraphAddMemsetNode(self, after, params), dst)

    def add_host(self, function: Callable[[], object], after: Iterable[Node] = ()) -> Node:
        """Add a call of a Python function, which must not call the runtime.

        >>> node = graph.add_host(lambda: print("done"))
        """
        return self._add(_rt.GraphAddHostNode(self, after, function))

    def add_empty(self, after: Iterable[Node] = ()) -> Node:
        """Add a node that does nothing, to join several others.

        >>> join = graph.add_empty(after=[a, b])
        """
        return self._add(_rt.GraphAddEmptyNode(self, after))

    def add_child(self, graph: Graph, after: Iterable[Node] = ()) -> Node:
        """Add a copy of another graph as one node.

        >>> node = graph.add_child(inner)
        """
        # The copy keeps the inner graph's user objects alive; the node needs nothing more.
        return self._add(_rt.GraphAddChildGraphNode(self, after, graph))

    def add_record(self, event: Event, after: Iterable[Node] = ()) -> Node:
        """Add a record of an event.

        >>> node = graph.add_record(event, after=[copy])
        """
        return self._add(_rt.GraphAddEventRecordNode(self, after, event), event)

    def add_wait(self, event: Event, after: Iterable[Node] = ()) -> Node:
        """Add a wait for an event.

        >>> node = graph.add_wait(event)
        """
        return self._add(_rt.GraphAddEventWaitNode(self, after, event), event)

    def add_alloc(self, nbytes: int, after: Iterable[Node] = ()) -> tuple[Node, Memory]:
        """Add an allocation; its address stays the same in every launch, until the graph is closed.

        >>> node, scratch = graph.add_alloc(4096)
        >>> graph.add_free(scratch, after=[graph.add_memset(scratch, 0, after=[node])])
        """
        place = _rt.MemLocation(type=enums.MemLocationTypeDevice, id=_rt.GetDevice())
        props = _rt.MemPoolProps(allocType=enums.MemAllocationTypePinned, location=place)
        params = _rt.MemAllocNodeParams(poolProps=props, bytesize=nbytes)
        handle = _rt.GraphAddMemAllocNode(self, after, params)
        return self._add(handle), Memory._of_graph(params.dptr, nbytes, self.kind)

    def add_free(self, memory: Memory, after: Iterable[Node] = ()) -> Node:
        """Add a node that frees an allocation of `add_alloc`.

        >>> node = graph.add_free(scratch, after=[last_use])
        """
        return self._add(_rt.GraphAddMemFreeNode(self, after, memory))

    def add_dependencies(self, edges: Iterable[tuple[Node, Node]]) -> None:
        """Add edges: the second node of each pair waits for the first.

        >>> graph.add_dependencies([(a, b)])
        """
        pairs = list(edges)
        _rt.GraphAddDependencies(self, [a for a, _ in pairs], [b for _, b in pairs])
        self._exec = None

    # ---- Inspection
    # --------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        """All nodes, in the order in which they were made."""
        return [Node(self, node) for node in _rt.GraphGetNodes(self)]

    @property
    def roots(self) -> list[Node]:
        """The nodes that wait for none."""
        return [Node(self, node) for node in _rt.GraphGetRootNodes(self)]

    @property
    def edges(self) -> list[tuple[Node, Node]]:
        """All edges as pairs: the second waits for the first."""
        pairs = zip(*_rt.GraphGetEdges(self), strict=True)
        return [(Node(self, a), Node(self, b)) for a, b in pairs]

    def clone(self) -> Graph:
        """A copy with all nodes.

        >>> copy = graph.clone()
        """
        graph = Graph.__new__(Graph)
        graph._adopt(_rt.GraphClone(self))
        return graph

    def to_dot(self, verbose: bool = False) -> str:
        """The graph in the DOT language of Graphviz.

        >>> print(graph.to_dot())
        """
        import tempfile  # slow to import, and rarely needed

        flags = enums.GraphDebugDotFlagsVerbose if verbose else 0
        with tempfile.NamedTemporaryFile("r", suffix=".dot") as file:
            _rt.GraphDebugDotPrint(self, file.name, flags)
            return file.read()

    def close(self) -> None:
        """Destroy the graph now; its instances remain valid. A second call has no effect."""
        self._exec = None
        super().close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Graph, closed>"
        return f"<Graph {self.handle:#x} of {len(_rt.GraphGetNodes(self))} nodes>"


class GraphExec(_rt._Owner):
    """A graph that is ready to launch; made by `Graph.instantiate`.

    >>> exec = graph.instantiate()
    >>> exec.launch(stream)
    """

    __slots__ = ()

    def __init__(self, handle: int) -> None:
        super().__init__("GraphExec", handle)

    def launch(self, stream: Stream | None = None) -> None:
        """Run it in stream order, after its earlier launches.

        >>> exec.launch(stream)
        """
        _rt.GraphLaunch(self, stream)

    def upload(self, stream: Stream | None = None) -> None:
        """Upload to the device, in stream order, what the first launch would otherwise have to
        upload.

        >>> exec.upload(stream)
        """
        _rt.GraphUpload(self, stream)

    def update(self, graph: Graph) -> None:
        """Update to the parameters of a graph with the same topology; raises ValueError if it
        differs.

        >>> exec.update(changed)
        """
        info = _rt.GraphExecUpdate(self, graph)
        if info.result != enums.GraphExecUpdateSuccess:
            raise ValueError(
                f"the graph cannot be updated: {info.result.name} ({_rt._last_error_message()})"
            )

    def __repr__(self) -> str:
        return "<GraphExec, closed>" if self.closed else f"<GraphExec {self.handle:#x}>"


def _pinned(what: Source) -> object:
    return what if isinstance(what, Memory) else memoryview(what)


@contextmanager
def capture(stream: Stream, mode: str = "global") -> Iterator[Graph]:
    """Record the work submitted to a stream as nodes of a new graph, without running it.

    Other streams join by waiting for an event of a capturing one, and must be joined again before
    the end. `mode` selects which calls that could invalidate a capture are refused meanwhile:
    "global": those of all threads; "thread_local": those of this thread; "relaxed": none.

    >>> with rt.capture(stream) as graph:
    ...     a.fill(7, stream=stream)
    ...     b.copy_from(a, stream=stream)
    >>> graph.launch(stream)
    """
    if mode not in _MODES:
        raise ValueError(f"capture: expected a mode of {', '.join(_MODES)}; got {mode!r}")
    graph = Graph()
    _rt.StreamBeginCaptureToGraph(stream, graph, [], None, _MODES[mode])
    try:
        yield graph
    except BaseException:
        with suppress(InfiniRTError):  # the body's own exception says more
            _rt.StreamEndCapture(stream)
        graph.close()
        raise
    _rt.StreamEndCapture(stream)
