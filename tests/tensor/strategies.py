"""Arrays, and keys to index them with, for tests of tensors against NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np

DTYPES = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


@st.composite
def shapes(draw: Any, least: int = 0, most: int = 4, size: int = 5) -> tuple[int, ...]:
    rank = draw(st.integers(least, most))
    return tuple(draw(st.integers(0 if rank else 1, size)) for _ in range(rank))


@st.composite
def arrays(draw: Any, least: int = 0, most: int = 4, dtypes: Any = DTYPES) -> np.ndarray:
    """Ascending values, so that every element is distinct."""
    shape = draw(shapes(least, most))
    dtype = draw(st.sampled_from(dtypes))
    count = int(np.prod(shape))
    values = np.arange(count) % 2 if dtype == "bool" else np.arange(count) % 120
    return values.astype(dtype).reshape(shape)


@st.composite
def layouts(draw: Any, least: int = 0, most: int = 4, dtypes: Any = DTYPES) -> np.ndarray:
    """An array with any strides: transposed, with steps, backwards."""
    array = draw(arrays(least, most, dtypes))
    order = draw(st.permutations(range(array.ndim)))
    array = array.transpose(order)
    steps = tuple(slice(None, None, draw(st.sampled_from((1, 1, 2, -1, -2)))) for _ in array.shape)
    return array[steps]


def _slices(size: int) -> st.SearchStrategy[slice]:
    bound = st.none() | st.integers(-size - 2, size + 2)
    return st.builds(slice, bound, bound, st.sampled_from((None, 1, 2, -1, -2, 3)))


@st.composite
def basic_keys(draw: Any, shape: tuple[int, ...]) -> Any:
    count = draw(st.integers(0, len(shape)))
    dots = draw(st.booleans())
    split = draw(st.integers(0, count)) if dots else count
    key: list[Any] = []
    for i in range(count):
        dim = i if i < split else len(shape) - count + i
        if i == split and dots:
            key.append(Ellipsis)
        size = shape[dim]
        if size and draw(st.booleans()):
            key.append(draw(st.integers(-size, size - 1)))
        else:
            key.append(draw(_slices(size)))
        if draw(st.integers(0, 4)) == 0:
            key.append(None)
    if dots and split == count:
        key.append(Ellipsis)
    return key[0] if len(key) == 1 and draw(st.booleans()) else tuple(key)


@st.composite
def advanced_keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """Integers, slices, None, `...`, index arrays that broadcast, and masks, in any mix."""
    result = draw(shapes(0, 3, 4))
    key: list[Any] = []
    dim, has_index, dots = 0, False, False
    while dim < len(shape):
        size = shape[dim]
        kind = draw(
            st.sampled_from(("int", "slice", "none", "index", "index", "mask", "dots", "end"))
        )
        if kind == "end":
            break
        if kind == "none":
            key.append(None)
            continue
        if kind == "dots" and not dots:
            dots = True
            skipped = draw(st.integers(0, len(shape) - dim))
            key.append((Ellipsis, skipped))
            dim += skipped
            continue
        if kind == "index" and size:
            # Any shape that broadcasts with the others.
            front = draw(st.integers(0, len(result)))
            part = tuple(1 if draw(st.booleans()) else n for n in result[front:])
            count = int(np.prod(part))
            values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
            key.append(np.array(values, draw(st.sampled_from(("int64", "int32")))).reshape(part))
            has_index = True
        elif kind == "mask" and not has_index:
            # At most one mask: its count must be compatible with the other indices.
            rank = draw(st.integers(1, min(2, len(shape) - dim)))
            sizes = shape[dim : dim + rank]
            count = int(np.prod(sizes))
            values = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            key.append(np.array(values, bool).reshape(sizes))
            dim += rank - 1
            result = ()
            has_index = True
        elif kind == "int" and size:
            key.append(draw(st.integers(-size, size - 1)))
        else:
            key.append(draw(_slices(size)))
        dim += 1
    # `...` must stand for the skipped dimensions: the rest is filled up.
    if dots:
        key += [slice(None)] * (len(shape) - dim)
    return tuple(Ellipsis if isinstance(item, tuple) else item for item in key)
