"""Shapes that broadcast, and strides without gaps."""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that all of them broadcast to.

    >>> broadcast([(3, 1), (4,)])
    (3, 4)
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    made = []
    for sizes in zip(*padded, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise ValueError(f"shapes do not broadcast: {', '.join(map(str, shapes))}")
        made.append(others.pop() if others else 1)
    return tuple(made)
