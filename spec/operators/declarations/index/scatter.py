"""Elements selected by indices along a dimension, and updates combined into the elements that they
name.

Out-of-range indices are never followed: reads give 0, writes are ignored. Negative indices are
valid only for index_reduce.
"""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator

_DIM = "dim >= -len(S); dim < len(S)"
_REDUCE = "reduce >= 0; reduce <= 4"
SUM, PROD, MEAN, AMAX, AMIN = range(5)


def _picked(input: Array, places: list[Any], dim: int) -> Array:
    """Elements at the places, 0 where the one along `dim` is out of range."""
    import numpy as np

    size = input.shape[dim]
    inside = (places[dim] >= 0) & (places[dim] < size)
    shape = np.broadcast_shapes(*(place.shape for place in places))
    if size == 0:
        return np.zeros(shape, input.dtype)
    places[dim] = np.clip(places[dim], 0, size - 1)
    return np.where(inside, input[tuple(places)], np.zeros((), input.dtype))


@operator(
    "Gather(!output, input, index, int64_t dim)",
    """
    out output  ANY      [*I]
    input       =output  [*S]
    index       IDX      [*I]
    """,
    where=f"len(I) == len(S); {_DIM}",
    kernel=True,
)
def gather(input: Array, index: Array, *, dim: int) -> Array:
    """The element at place index[..] along a dimension, for each entry of the index.

    Along the other dimensions the index may be shorter than the input, not longer. An index out of
    range gives 0; so does a negative one."""
    import numpy as np

    places: list[Any] = list(np.ogrid[tuple(slice(0, size) for size in index.shape)])
    places[dim] = index.astype(np.int64)
    return _picked(input, places, dim % input.ndim)


@operator(
    "IndexSelect(!output, input, index, int64_t dim)",
    """
    out output  ANY      [*O]
    input       =output  [*S]
    index       IDX      [N]
    """,
    where=f"len(O) == len(S); {_DIM}",
    sizes={"O": "replaced(S, dim, N)"},
    kernel="gather",
)
def index_select(input: Array, index: Array, *, dim: int) -> Array:
    """The slices of the input at the given indices along a dimension, in the order of the index.

    An index out of range gives zeros; so does a negative one."""
    import numpy as np

    rows = np.moveaxis(input, dim, 0)
    inside = (index >= 0) & (index < len(rows))
    result = np.zeros((len(index), *rows.shape[1:]), input.dtype)
    result[inside] = rows[index[inside]]
    return np.moveaxis(result, 0, dim)


def _least(dtype: Any) -> Any:
    import numpy as np

    if dtype.kind == "b":
        return False
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: Any) -> Any:
    import numpy as np

    if dtype.kind == "b":
        return True
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _folded(input: Array, places: Any, updates: Array, reduce: int, include_self: bool) -> Array:
    """The input with the updates folded into the elements at the places."""
    import numpy as np

    kind = input.dtype
    fold: Any = (np.add, np.multiply, np.add, np.maximum, np.minimum)[reduce]
    neutral = (0, 1, 0, _least(kind), _most(kind))[reduce]
    if reduce == MEAN and kind.kind == "b":
        fold, neutral = np.minimum, True  # rounded down: true when all of them are
    counts = np.zeros(input.shape, np.int64)
    np.add.at(counts, places, 1)
    touched = counts > 0
    result = np.where(touched, neutral, input).astype(kind) if not include_self else input.copy()
    fold.at(result, places, updates)
    if reduce == MEAN and kind.kind != "b":
        counts = np.where(touched, counts + include_self, 1)
        divide: Any = np.true_divide if kind.kind == "f" else np.floor_divide
        wide = np.uint64 if kind.kind == "u" else np.int64
        counts = counts if kind.kind == "f" else counts.astype(wide)
        result = divide(result if kind.kind == "f" else result.astype(wide), counts).astype(kind)
    return result


def _named(index: Array, dim: int, size: int) -> tuple[Array, Any]:
    """Which entries name a place, and their coordinates there."""
    import numpy as np

    inside = (index >= 0) & (index < size)
    places = [place[inside] for place in np.indices(index.shape)]
    places[dim] = index[inside].astype(np.int64)
    return inside, tuple(places)


@operator(
    "ScatterAdd(!output, input, index, src, int64_t dim)",
    """
    out output  F+|I*|BOOL  [*S]
    input       =output     [*S]
    index       IDX         [*U]
    src         =output     [*U]
    """,
    where=f"len(U) == len(S); {_DIM}",
    lowered=True,
    in_place={"output": "input"},
    complex_as="parts",
)
def scatter_add(input: Array, index: Array, src: Array, *, dim: int) -> Array:
    """The input with every element of src added at the given index along a dimension.

    Along the other dimensions the index may be shorter than the input, not longer. Indices out of
    range, including negative ones, are ignored. Sums of 16-bit floats are rounded once, integers
    wrap around, and the sum of booleans is true when one of them is."""
    inside, places = _named(index, dim, input.shape[dim])
    return _folded(input, places, src[inside], SUM, True)


@operator(
    "ScatterReduce(!output, input, index, src,"
    " int64_t dim, infiniopScatterReduction_t reduce, bool include_self)",
    """
    out output  F+|I*|BOOL  [*S]
    input       =output     [*S]
    index       IDX         [*U]
    src         =output     [*U]
    """,
    where=f"len(U) == len(S); {_DIM}; {_REDUCE}",
    defaults={"include_self": "True"},
    kernel="scatter",
    in_place={"output": "input"},
)
def scatter_reduce(
    input: Array, index: Array, src: Array, *, dim: int, reduce: int, include_self: bool
) -> Array:
    """The input with the elements of src combined into the elements at the given indices along a
    dimension: their sum, product, mean, largest or smallest.

    The input's own element is one of them with `include_self`, else it is replaced; elements that
    no index names stay. Along the other dimensions the index may be shorter than the input, not
    longer. Indices out of range, including negative ones, are ignored. 16-bit floats are rounded
    once, NaN is the largest and the smallest, integers wrap around, and their means are rounded
    down."""
    inside, places = _named(index, dim, input.shape[dim])
    return _folded(input, places, src[inside], reduce, include_self)


@operator(
    "IndexReduce(!output, input, index, source,"
    " int64_t dim, infiniopScatterReduction_t reduce, bool include_self)",
    """
    out output  F+|I*|BOOL  [*S]  dense
    input       =output     [*S]  dense
    index       IDX         [N]
    source      =output     [*U]  dense
    """,
    where=f"{_DIM}; len(U) == len(S); {_REDUCE}",
    defaults={"include_self": "True"},
    kernel="index_update",
    in_place={"output": "input"},
)
def index_reduce(
    input: Array, index: Array, source: Array, *, dim: int, reduce: int, include_self: bool
) -> Array:
    """The input with slice i of the source folded into slice index[i], along a dimension: their
    sum, product, mean, largest or smallest.

    The input's own slice is one of them with `include_self`, else it is replaced; slices that no
    index names stay. Negative indices count from the end, others out of range are ignored. 16-bit
    floats are rounded once, NaN is the largest and the smallest, integers wrap around, and their
    means are rounded down."""
    import numpy as np

    rows, source = np.moveaxis(input, dim, 0), np.moveaxis(source, dim, 0)
    index = np.where(index < 0, index + len(rows), index).astype(np.int64)
    inside = (index >= 0) & (index < len(rows))
    named = index[inside]
    return np.moveaxis(_folded(rows, named, source[inside], reduce, include_self), 0, dim)
