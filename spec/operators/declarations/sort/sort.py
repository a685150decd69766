"""Order along a dimension, and counts by value."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator


def _order(lines: Array, descending: bool) -> Array:
    """Where the elements of each line stand in order; equal ones in theirs, NaN as the largest."""
    import numpy as np

    if not descending:
        return np.argsort(lines, axis=-1, kind="stable")
    places = lines.shape[-1] - 1 - np.argsort(lines[..., ::-1], axis=-1, kind="stable")
    return places[..., ::-1]


@operator(
    "TopK(values_output_desc, indices_output_desc, input_desc,"
    " size_t k, size_t dim, bool largest, bool sorted)"
    " -> (!values_output, !indices_output, input,"
    " size_t k, size_t dim, bool largest, bool sorted)",
    """
    out values_output   F+|I*|BOOL      [*V]
    out indices_output  IDX             [*V]
    input               =values_output  [*S]
    """,
    where="len(V) == len(S); dim < len(S); k <= S[dim]",
    kernel=True,
    sizes={"V": "replaced(S, dim, k)"},
)
def topk(input: Array, *, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """The k largest (else smallest) elements along a dimension, and their indices.

    NaN counts as the largest number; of equal elements the earlier comes first. They are in order
    when `sorted`, else in any order."""
    import numpy as np

    places = np.moveaxis(_order(np.moveaxis(input, dim, -1), largest)[..., :k], -1, dim)
    return np.take_along_axis(input, places, axis=dim), places


@operator(
    "Kthvalue(!values, !indices, input, int k, int dim, int keepdim)",
    """
    out values   F+|I32|I64|U32|U64  [*S, -dim]  dense
    out indices  IDX                 [*S, -dim]  dense
    input        =values             [*S]        dense
    """,
    where="dim >= -max(len(S), 1); dim < max(len(S), 1); k >= 1",
    kernel="topk",
)
def kthvalue(
    input: Array,
    *,
    k: int,
    dim: int,
    keepdim: int,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The k-th smallest element along a dimension (k counts from 1), and the index of one such
    element.

    NaN counts as the largest number. `keepdim` says that the dimension stays with size 1, which the
    outputs' shapes show."""
    import numpy as np

    places = np.argsort(input, axis=dim, kind="stable")
    places = np.take(places, [k - 1], axis=dim)
    values = np.take_along_axis(input, places, axis=dim)
    return values.reshape(shapes["values"]), places.reshape(shapes["indices"])


@operator(
    "LowerMedian(!values, !indices, input, int skips, int dim, int keepdim)",
    """
    out values   F+|I32|I64|U32|U64  [*S, -dim]  dense
    out indices  IDX                 [*S, -dim]  dense
    input        =values             [*S]        dense
    """,
    where="dim >= -max(len(S), 1); dim < max(len(S), 1)",
    kernel="lower_median",
    umbrella=False,
)
def lower_median(
    input: Array,
    *,
    skips: int,
    dim: int,
    keepdim: int,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The lower median along a dimension, and the index of one such element: of the elements that
    are not NaN if `skips`, else the first NaN if there is one. `keepdim`: as for kthvalue."""
    import numpy as np

    places = np.argsort(input, axis=dim, kind="stable")
    held = np.sum(input == input, axis=dim, keepdims=True)
    rank = np.maximum(held - 1, 0) // 2
    if not skips:
        rank = np.where(held < input.shape[dim], held, rank)
    places = np.take_along_axis(places, rank, axis=dim)
    values = np.take_along_axis(input, places, axis=dim)
    return values.reshape(shapes["values"]), places.reshape(shapes["indices"])


@operator(
    "Histc(!y, x, int64_t bins, double min_val, double max_val)",
    """
    out y  F32  [bins]
    x      F+   [N]
    """,
    where="bins > 0; min_val < max_val",
    kernel=True,
)
def histc(x: Array, *, bins: int, min_val: float, max_val: float) -> Array:
    """How many elements fall into each of `bins` bins of equal width between min_val and max_val.

    max_val itself belongs to the last bin; values outside, and NaN, are not counted."""
    import numpy as np

    inside = x[(x >= min_val) & (x <= max_val)]
    bin = np.floor((inside - min_val) / ((max_val - min_val) / bins)).astype(np.int64)
    return np.bincount(np.minimum(bin, bins - 1), minlength=bins).astype(np.float64)


@operator(
    "Sort(!values, !indices, input, int dim, bool descending, bool stable)",
    """
    out values  F+|I*|BOOL [*S]
    out indices I64        [*S]
    input       =values    [*S]
    """,
    where="dim >= -max(len(S), 1); dim < max(len(S), 1)",
    kernel=True,
    defaults={"descending": "False", "stable": "False"},
)
def sort(input: Array, *, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    """The elements sorted along a dimension, and their indices.

    NaN counts as the largest number. Equal elements keep their order, whatever `stable` is."""
    import numpy as np

    shape = np.shape(input)
    lines = np.moveaxis(np.atleast_1d(input), dim, -1)
    places = _order(lines, descending)
    values = np.moveaxis(np.take_along_axis(lines, places, -1), -1, dim)
    return values.reshape(shape), np.moveaxis(places, -1, dim).reshape(shape)


@operator(
    "SearchSorted(!output, sorted_sequence, values, bool right)",
    """
    out output      I64              [] or [*B, V]
    sorted_sequence F+|I*            [N] or [*B, N]
    values          =sorted_sequence [] or [*B, V]
    """,
    where="rank(output) == rank(values);"
    " rank(sorted_sequence) == 1 or rank(sorted_sequence) == rank(values)",
    kernel=True,
    defaults={"right": "False"},
)
def searchsorted(sorted_sequence: Array, values: Array, *, right: bool) -> Array:
    """How many elements of an ascending sequence are smaller than each value, or with `right` not
    larger: the position at which it would be inserted. All of them for a NaN.

    Each row of values has its own sequence, or all share one."""
    import numpy as np

    side: Any = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        found: Any = np.searchsorted(sorted_sequence, values, side)
    else:
        found = np.empty(values.shape, np.int64)
        for row in np.ndindex(values.shape[:-1]):
            found[row] = np.searchsorted(sorted_sequence[row], values[row], side)
    return np.where(values != values, sorted_sequence.shape[-1], found)


@operator(
    "BinCount(!output, input, weights, int64_t length)",
    """
    out output I64|F32|F64 [length]
    input      I*          [N]
    weights?   =output     [N]
    """,
    where="length >= 0",
    kernel=True,
)
def bincount(input: Array, weights: Array | None, *, length: int) -> Array:
    """How often each number below `length` occurs, or the sum of the weights where it does. Other
    numbers are not counted."""
    import numpy as np

    counted = (input >= 0) & (input < max(length, 0))
    result = np.zeros(length, np.int64 if weights is None else weights.dtype)
    np.add.at(result, input[counted].astype(np.int64), 1 if weights is None else weights[counted])
    return result
