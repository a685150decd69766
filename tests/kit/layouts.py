"""Layouts for tests of a tensor. The declaration's requirements (`inner1`, `dense`) are
respected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .operators import Layout

Rule = Callable[[tuple[int, ...], str], Layout]


def ordered(shape: Sequence[int], order: Sequence[int], gap: int = 0, inner: int = 1) -> Layout:
    """Dimensions from the outermost to the innermost in memory, `gap` elements behind each row, and
    `inner` from one element to the next."""
    strides = [0] * len(shape)
    step = inner
    for position, dim in enumerate(reversed(order)):
        strides[dim] = step
        step = step * max(shape[dim], 1) + (gap if position == 0 else 0)
    return Layout(tuple(shape), tuple(strides))


def contiguous(shape: tuple[int, ...], demand: str) -> Layout:
    return ordered(shape, range(len(shape)))


def strided(shape: tuple[int, ...], demand: str) -> Layout:
    if demand == "dense":
        return contiguous(shape, demand)
    inner = 1 if demand == "inner1" else 2
    return ordered(shape, range(len(shape)), gap=3, inner=inner)


def transposed(shape: tuple[int, ...], demand: str) -> Layout:
    if demand == "dense":
        return contiguous(shape, demand)
    order = list(range(len(shape)))
    free = order[:-1] if demand == "inner1" else order
    return ordered(shape, free[::-1] + order[len(free) :])


def broadcast(shape: tuple[int, ...], demand: str) -> Layout:
    """For inputs: every second free dimension, starting with the first, has stride 0."""
    if demand == "dense":
        return contiguous(shape, demand)
    free = len(shape) - (demand == "inner1")
    kept = [1 if dim < free and dim % 2 == 0 else size for dim, size in enumerate(shape)]
    layout = contiguous(tuple(kept), demand)
    strides = [
        0 if kept[dim] != shape[dim] else stride for dim, stride in enumerate(layout.strides)
    ]
    return Layout(shape, tuple(strides))


def unaligned(shape: tuple[int, ...], demand: str) -> Layout:
    layout = contiguous(shape, demand)
    return Layout(layout.shape, layout.strides, offset=1)
