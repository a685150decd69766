"""Streams: queues of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from infinicore import _rt
from infinicore._rt_enums import StreamCaptureStatus, StreamNonBlocking
from infinicore.rt._device import Device

if TYPE_CHECKING:
    from infinicore.rt._event import Event


class Stream(_rt._Owner):
    """A queue whose work runs in order, concurrently with other streams. A `nonblocking` stream
    does not synchronize with the null stream. Smaller numbers of `priority` go first. `with` waits
    for the work at the end and closes the stream; closing alone does not wait, and work in the
    stream still completes.

    >>> with rt.Stream() as stream:
    ...     memory.fill(0, stream=stream)
    ...     event = stream.record()
    """

    __slots__ = ()

    def __init__(self, nonblocking: bool = False, priority: int = 0) -> None:
        flags = StreamNonBlocking if nonblocking else 0
        super().__init__("Stream", _rt.StreamCreateWithPriority(flags, priority))

    @classmethod
    def from_handle(cls, handle: int) -> Stream:
        """A non-owning object for an existing stream.

        >>> null = rt.Stream.from_handle(0)
        """
        stream = cls.__new__(cls)
        _rt._Owner.__init__(stream, "", handle)
        return stream

    def synchronize(self) -> None:
        """Wait until all work now in the stream is done; other Python threads continue.

        >>> stream.synchronize()
        """
        _rt.StreamSynchronize(self)

    def query(self) -> bool:
        """Whether the stream has nothing left to do.

        >>> stream.query()
        True
        """
        return _rt.StreamQuery(self)

    def wait(self, event: Event) -> None:
        """Make all later work in the stream wait for an event, possibly of another device.

        >>> b.wait(a.record())
        """
        _rt.StreamWaitEvent(self, event)

    def record(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after the work now in the stream.

        >>> event = stream.record()
        """
        from infinicore.rt._event import Event

        return (Event() if event is None else event).record(self)

    def launch(self, function: Callable[[], object]) -> None:
        """Call a Python function after the work now in the stream; later work waits for it.

        It must not call the runtime. An exception in it goes to `sys.unraisablehook`. If the
        stream is being captured, each launch of the graph calls it.

        >>> stream.launch(lambda: print("copied"))
        """
        _rt.LaunchHostFunc(self, function)

    @property
    def device(self) -> Device:
        """The device that the stream belongs to."""
        return Device(_rt.StreamGetDevice(self), self.kind)

    @property
    def priority(self) -> int:
        """The priority; smaller numbers go first."""
        return _rt.StreamGetPriority(self)

    @property
    def nonblocking(self) -> bool:
        """Whether the stream does not synchronize with the null stream."""
        return bool(_rt.StreamGetFlags(self) & StreamNonBlocking)

    @property
    def capturing(self) -> bool:
        """Whether work is recorded into a graph instead of running."""
        return _rt.StreamIsCapturing(self) != StreamCaptureStatus.StreamCaptureStatusNone

    def __exit__(self, *error: object) -> None:
        if error == (None, None, None):
            self.synchronize()
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Stream, closed>"
        return f"<Stream {self.handle:#x} on {self.kind}>"
