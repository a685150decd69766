"""The number of threads that run CPU operators."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def _library() -> ctypes.CDLL:
    from infinicore import rt

    # The library is always present and already open: this returns the same handle.
    return ctypes.CDLL(next(each.path for each in rt.backends() if each.name == "cpu"))


def get_num_threads() -> int:
    """The number of threads that run a CPU operator.

    >>> infinicore.get_num_threads() >= 1
    True
    """
    return int(_library().infini_cpu_threads(0))


def set_num_threads(threads: int) -> None:
    """Set the number of threads that run a CPU operator. Larger numbers are limited to
    INFINI_NUM_THREADS, or to the processors available to this process.

    >>> infinicore.set_num_threads(infinicore.get_num_threads())
    """
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"set_num_threads: threads is {threads!r}: expected an integer")
    number = threads.__index__()
    if number < 1:
        raise ValueError(f"set_num_threads: threads is {number}: expected 1 or more")
    _library().infini_cpu_threads(min(number, 1 << 20))
