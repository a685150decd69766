"""Groups: what one thread does together, and what cannot be done inside them."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

from infinicore import _core
from infinicore.ccl._library import CclError, call

NOT_YET = ctypes.c_void_p(-1).value  # a handle of none
_open = threading.local()


def is_open() -> bool:
    """Is the calling thread in a group?"""
    return getattr(_open, "depth", 0) > 0


@contextlib.contextmanager
def group() -> Iterator[None]:
    """Operations inside are enqueued together: needed where one thread serves several ranks, and
    for sends and receives that depend on each other. In a recorded graph they are one step.

    >>> with ccl.group():
    ...     comm.send(x, to=1)
    ...     comm.recv(y, source=1)
    """
    if _core.is_graph_recording():
        _core.start_collective_group()
        try:
            yield
        except BaseException:
            _core.drop_collective_group()
            raise
        _core.end_collective_group()
        return
    call("GroupStart", None)
    _open.depth = getattr(_open, "depth", 0) + 1
    try:
        yield
    except BaseException:
        spoil()  # half a group leaves ranks waiting
        with contextlib.suppress(CclError):
            call("GroupEnd", None)
        raise
    finally:
        _open.depth -= 1
    call("GroupEnd", None)


def spoil() -> None:
    """A call that is refused, so that nothing of the group that this thread is in is enqueued."""
    with contextlib.suppress(CclError):
        call("CommCount", None, None)


def made_now(what: str, handle: int | None) -> int | None:
    """What the library made: inside a group, nothing yet."""
    if handle != NOT_YET:
        return handle
    spoil()  # its end would write to memory that is gone by then
    raise RuntimeError(
        f"{what}: inside ccl.group() a communicator is made when the group ends, too late for the"
        " result: make it before the group; several for one thread: ccl.init_all()"
    )
