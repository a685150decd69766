"""Order along a dimension, and counts by value."""

from __future__ import annotations

from .expression import Array
from .model import operator


@operator(
    "TopK(values_output_desc, indices_output_desc, input_desc,"
    " size_t k, size_t dim, bool largest, bool sorted)"
    " -> (!values_output, !indices_output, input,"
    " size_t k, size_t dim, bool largest, bool sorted)",
    """
    out values_output   F               [*V]
    out indices_output  I32             [*V]
    input               =values_output  [*S]
    """,
    where="len(V) == len(S); dim < len(S); k <= S[dim]",
    kernel=True,
)
def topk(input: Array, *, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """The k largest (else smallest) elements along a dimension, and where they stood.

    NaN counts as the largest number; of equal elements the earlier comes first. They are in order
    when `sorted`, else in any order."""
    import numpy as np

    keys = np.where(np.isnan(input), np.inf, input)
    # Infinity and NaN differ only in this second key.
    nan = np.isnan(input).astype(int)
    sign = -1 if largest else 1
    order = np.lexsort((sign * keys, sign * nan), axis=dim)
    places = np.take(order, range(k), axis=dim)
    return np.take_along_axis(input, places, axis=dim), places


@operator(
    "Kthvalue(!values, !indices, input, int k, int dim, int keepdim)",
    """
    out values   F+|I32|I64|U32|U64  [*S, -dim]  dense
    out indices  IDX                 [*S, -dim]  dense
    input        =values             [*S]        dense
    """,
    where="dim >= -max(len(S), 1); dim < max(len(S), 1); k >= 1",
    kernel=True,
)
def kthvalue(
    input: Array,
    *,
    k: int,
    dim: int,
    keepdim: int,
    shapes: dict[str, tuple[int, ...]],
) -> tuple[Array, Array]:
    """The k-th smallest element along a dimension (k counts from 1), and where one such stood.

    NaN counts as the largest number. `keepdim` says that the dimension stays with size 1, which the
    outputs' shapes show."""
    import numpy as np

    places = np.argsort(input, axis=dim, kind="stable")
    places = np.take(places, [k - 1], axis=dim)
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

    max_val itself belongs to the last bin; what lies outside, and NaN, is not counted."""
    import numpy as np

    inside = x[(x >= min_val) & (x <= max_val)]
    bin = np.floor((inside - min_val) / ((max_val - min_val) / bins)).astype(np.int64)
    return np.bincount(np.minimum(bin, bins - 1), minlength=bins).astype(np.float64)
