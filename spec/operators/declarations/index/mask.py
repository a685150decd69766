"""Elements selected by a mask, in results whose sizes are given. The positions of selected elements
follow from the number of those in the chunks before."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator

CHUNK = 4096  # elements; as kMaskChunk of csrc/base/mask_case.h


@operator(
    "MaskCounts(!counts, mask)",
    """
    out counts  I64   [K]   dense
    mask        BOOL  [*S]  dense
    """,
    kernel="masks",
)
def mask_counts(mask: Array, *, shapes: dict[str, tuple[int, ...]]) -> Array:
    """The number of true elements before each chunk of 4096 elements in row-major order, and their
    total: K is the number of chunks plus 1."""
    import numpy as np

    before = np.cumsum(np.append(0, mask.astype(bool).reshape(-1)))
    return before[np.minimum(np.arange(shapes["counts"][0]) * CHUNK, mask.size)]


@operator(
    "MaskRows(!rows, mask, counts, int64_t fill)",
    """
    out rows  I64   [M, R]
    mask      BOOL  [*S]    dense
    counts    I64   [K]     dense
    """,
    where="R == len(S)",
    kernel="masks",
)
def mask_rows(
    mask: Array, counts: Array, *, fill: int, shapes: dict[str, tuple[int, ...]]
) -> Array:
    """The coordinates of the first M true elements in row-major order, as rows; `fill` in the rows
    that are left. `counts` are those of `mask_counts`."""
    import numpy as np

    rows = np.full(shapes["rows"], fill)
    found = np.argwhere(mask.astype(bool))[: len(rows)]
    rows[: len(found)] = found
    return rows


@operator(
    "MaskTake(!y, x, mask, counts)",
    """
    out y   ANY   [M]   dense
    x       =y    [*S]
    mask    BOOL  [*S]  dense
    counts  I64   [K]   dense
    """,
    kernel="masks",
)
def mask_take(x: Array, mask: Array, counts: Array, *, shapes: dict[str, tuple[int, ...]]) -> Array:
    """The first M elements where the mask is true, in row-major order; 0 if there are fewer.
    `counts` are those of `mask_counts`."""
    import numpy as np

    found = x[mask.astype(bool)][: shapes["y"][0]]
    return np.append(found, np.zeros(shapes["y"][0] - len(found), x.dtype))


@operator(
    "MaskPut(!y, x, mask, source, counts)",
    """
    out y   ANY   [*S]  dense
    x       =y    [*S]
    mask    BOOL  [*S]  dense
    source  =y    [M]   dense
    counts  I64   [K]   dense
    """,
    kernel="masks",
)
def mask_put(x: Array, mask: Array, source: Array, counts: Array) -> Array:
    """x with the elements of the source, in order, where the mask is true, as long as there are
    any. `counts` are those of `mask_counts`."""
    y, place = x.reshape(-1).copy(), mask.astype(bool).reshape(-1).nonzero()[0][: len(source)]
    y[place] = source[: len(place)]
    return y.reshape(x.shape)
