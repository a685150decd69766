"""How many threads of the host work on an operator of the CPU."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def _library() -> ctypes.CDLL:
    from infinicore import rt

    # It is always there, and has been opened: this is the same library once more.
    return ctypes.CDLL(next(each.path for each in rt.backends() if each.name == "cpu"))


def get_num_threads() -> int:
    """How many threads work on an operator of the CPU.

    >>> infinicore.get_num_threads() >= 1
    True
    """
    return int(_library().infini_cpu_threads(0))


def set_num_threads(threads: int) -> None:
    """Let so many threads work on an operator of the CPU. INFINI_NUM_THREADS, or the processors of
    this process, are the most: with a larger number these work.

    >>> infinicore.set_num_threads(infinicore.get_num_threads())
    """
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(f"set_num_threads: threads is {threads!r}: expected an integer")
    number = threads.__index__()
    if number < 1:
        raise ValueError(f"set_num_threads: threads is {number}: expected 1 or more")
    _library().infini_cpu_threads(min(number, 1 << 20))
