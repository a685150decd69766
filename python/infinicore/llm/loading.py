"""What loading a model has in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the garbage collector, which would walk through a hundred thousand new words and
    weights again and again, and find nothing. It takes 60 ms of 0.8 s of a small model."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
