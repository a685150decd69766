"""Events: markers in streams, to wait for and to measure time with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infinicore import _rt
from infinicore._rt_enums import EventBlockingSync, EventDisableTiming, EventInterprocess

if TYPE_CHECKING:
    from infinicore.rt._stream import Stream


class Event(_rt._Owner):
    """A point in a stream. Before its first record it counts as complete.

    Without `timing` it is cheaper. With `blocking`, waiting threads sleep instead of polling. An
    `interprocess` event, which has no timing, can be opened by other processes.

    >>> start = stream.record()
    >>> copy.copy_from(memory, stream=stream)
    >>> end = stream.record()
    >>> end.synchronize()
    >>> milliseconds = end - start
    """

    __slots__ = ()

    def __init__(
        self, timing: bool = True, blocking: bool = False, interprocess: bool = False
    ) -> None:
        flags = EventBlockingSync if blocking else 0
        if interprocess:
            flags |= EventInterprocess | EventDisableTiming
        elif not timing:
            flags |= EventDisableTiming
        super().__init__("Event", _rt.EventCreateWithFlags(flags))

    @classmethod
    def open(cls, handle: _rt.IpcEventHandle) -> Event:
        """Open another process's event.

        >>> event = rt.Event.open(pickle.loads(message))
        """
        event = cls.__new__(cls)
        _rt._Owner.__init__(event, "Event", _rt.IpcOpenEventHandle(handle))
        return event

    def share(self) -> _rt.IpcEventHandle:
        """Export an interprocess event for other processes; the result can be pickled.

        >>> message = pickle.dumps(event.share())
        """
        return _rt.IpcGetEventHandle(self)

    def record(self, stream: Stream | None = None) -> Event:
        """Record the event after the work now in a stream, by default the null stream. Returns the
        event.

        >>> event = rt.Event().record(stream)
        """
        _rt.EventRecord(self, stream)
        return self

    def query(self) -> bool:
        """Whether the latest record has been reached.

        >>> event.query()
        True
        """
        return _rt.EventQuery(self)

    def synchronize(self) -> None:
        """Wait until the latest record has been reached; other Python threads continue.

        >>> event.synchronize()
        """
        _rt.EventSynchronize(self)

    def elapsed(self, since: Event) -> float:
        """Milliseconds from another event to this one; both must have been reached.

        >>> end.elapsed(since=start)
        """
        return _rt.EventElapsedTime(since, self)

    def __sub__(self, since: Event) -> float:
        if not isinstance(since, Event):
            return NotImplemented
        return self.elapsed(since)

    def __repr__(self) -> str:
        if self.closed:
            return "<Event, closed>"
        return f"<Event {self.handle:#x} on {self.kind}>"
