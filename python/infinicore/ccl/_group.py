"""Groups of operations, and what is not allowed inside them."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

from infinicore import _core
from infinicore.ccl._library import CclError, call

NOT_YET = ctypes.c_void_p(-1).value  # a null handle
_open = threading.local()


def is_open() -> bool:
    """Whether the calling thread is inside a group."""
    return getattr(_open, "depth", 0) > 0


@contextlib.contextmanager
def group() -> Iterator[None]:
    """Operations inside are enqueued together. Needed if one thread drives several ranks, and for
    sends and receives that depend on each other. In a recorded graph they are one step.

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
        spoil()  # an incomplete group would leave ranks waiting
        with contextlib.suppress(CclError):
            call("GroupEnd", None)
        raise
    finally:
        _open.depth -= 1
    call("GroupEnd", None)


def spoil() -> None:
    """Makes a refused call discard the group that this thread is in, so that nothing of it is
    enqueued."""
    with contextlib.suppress(CclError):
        call("CommCount", None, None)


def made_now(what: str, handle: int | None) -> int | None:
    """Checks a result of the library: inside a group it does not exist yet."""
    if handle != NOT_YET:
        return handle
    spoil()  # the end of the group would write to memory that is freed by then
    raise RuntimeError(
        f"{what}: inside ccl.group() a communicator is made when the group ends, too late for the"
        " result: make it before the group; several for one thread: ccl.init_all()"
    )
