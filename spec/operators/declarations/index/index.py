"""Rows and elements named by indices."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.gather import Out, gather
from ...language.model import operator


@operator(
    "Embedding(!output_desc, input_desc, weight_desc)",
    """
    out output  ANY      [*I, D]
    input       IDX      [*I]
    weight      =output  [V, D]  dense
    """,
    workspace=False,
    kernel=True,
)
def embedding(input: Array, weight: Array) -> Array:
    """Row input[..] of the weight for each index.

    An out-of-range index leaves its row of the output unchanged (in the reference: 0)."""
    import numpy as np

    inside = (input >= 0) & (input < weight.shape[0])
    rows = np.zeros((*input.shape, weight.shape[1]), weight.dtype)
    rows[inside] = weight[input[inside]]
    return rows


@operator(
    "SelectLastTokenHidden(!output_desc, hidden_states_desc, input_offsets_desc)",
    """
    out output     F        [1, R, D]
    hidden_states  =output  [A, T, D]  dense
    input_offsets  I32      [R + 1]
    """,
    workspace=False,
    kernel="embedding",
)
def select_last_token_hidden(hidden_states: Array, input_offsets: Array) -> Array:
    """The hidden state of the last token of every sequence: row input_offsets[r + 1] - 1.

    A row that does not exist leaves the output unchanged (in the reference: 0)."""
    import numpy as np

    hidden = hidden_states.reshape(-1, hidden_states.shape[2])
    rows = input_offsets[1:].astype(np.int64) - 1
    inside = (rows >= 0) & (rows < hidden.shape[0])
    result = np.zeros((1, len(rows), hidden.shape[1]))
    result[0, inside] = hidden[rows[inside]]
    return result


def _named_rows(index: Array, rows: int) -> list[tuple[int, int]]:
    """(entry, row) for the entries that name a row; negative ones count from the end."""
    wrapped = [(entry, row + rows if row < 0 else row) for entry, row in enumerate(index.tolist())]
    return [(entry, row) for entry, row in wrapped if 0 <= row < rows]


@operator(
    "IndexAdd(!output, input, int64_t dim, index, source, float alpha)",
    """
    out output  F+|I*|BOOL  [*S]  dense
    input       =output     [*S]  dense
    index       IDX         [N]
    source      =output     [*U]  dense
    """,
    where="dim >= 0; dim < len(S); len(U) == len(S)",
    kernel="index_update",
    in_place={"output": "input"},
    complex_as="parts",
)
def index_add(input: Array, index: Array, source: Array, *, dim: int, alpha: float) -> Array:
    """Adds alpha times slice i of the source to slice index[i] of the input, along a dimension.

    Negative indices count from the end, others out of range are ignored. Sums of 16-bit floats are
    rounded once. Integers wrap around, and the sum of booleans is true when one of them is."""
    import numpy as np

    result = np.moveaxis(input.copy(), dim, 0)
    source = np.moveaxis(source, dim, 0)
    factor = alpha if input.dtype.kind == "f" else np.int64(alpha).astype(input.dtype)
    for entry, row in _named_rows(index, result.shape[0]):
        result[row] += factor * source[entry]
    return np.moveaxis(result, 0, dim)


@operator(
    "IndexCopy(!output, input, int64_t dim, index, source)",
    """
    out output  ANY      [*S]  dense
    input       =output  [*S]  dense
    index       IDX      [N]
    source      =output  [*U]  dense
    """,
    where="dim >= 0; dim < len(S); len(U) == len(S)",
    kernel="index_update",
    in_place={"output": "input"},
)
def index_copy(input: Array, index: Array, source: Array, *, dim: int) -> Array:
    """The input with slice index[i] replaced by slice i of the source, along a dimension.

    Negative indices count from the end, others out of range are ignored; of several entries with
    one index the last one wins."""
    import numpy as np

    result = np.moveaxis(input.copy(), dim, 0)
    source = np.moveaxis(source, dim, 0)
    for entry, row in _named_rows(index, result.shape[0]):
        result[row] = source[entry]
    return np.moveaxis(result, 0, dim)


@operator(
    "Scatter(!output, input, indices, updates, int axis, int reduction)",
    """
    out output  F+|I*|BOOL  [*S]
    input       =output     [*S]
    indices     IDX         [*U]
    updates     =output     [*U]
    """,
    where="len(U) == len(S); axis >= -len(S); axis < len(S); reduction >= 0; reduction <= 2",
    kernel=True,
    in_place={"output": "input"},
    complex_as="parts",
)
def scatter(input: Array, indices: Array, updates: Array, *, axis: int, reduction: int) -> Array:
    """The input with the updates written at the given indices along an axis: assigned (reduction 0;
    the last one wins), added (1) or multiplied (2).

    Indices out of range, including negative ones, are ignored. Sums and products of 16-bit floats
    are rounded once."""
    import numpy as np

    result = input.copy()
    for place in np.ndindex(indices.shape):
        row = int(indices[place])
        if not 0 <= row < result.shape[axis]:
            continue
        target = list(place)
        target[axis] = row
        if reduction == 0:
            result[tuple(target)] = updates[place]
        elif reduction == 1:
            result[tuple(target)] += updates[place]
        else:
            result[tuple(target)] *= updates[place]
    return result


@operator(
    "Argwhere(input_desc) -> (void **output=-, size_t *count=-, input)",
    """
    input  ANY  [*S]
    """,
    umbrella=False,
    host_result=True,
    kernel="masked_select",
)
def argwhere(input: Array) -> Array:
    """The coordinates of all elements that are not 0, in row-major order, as [count, ndim] of I64.

    The result is a host array that the run function allocates with C++ `new int64_t[]`; the caller
    frees it with `delete[]`."""
    import numpy as np

    return np.argwhere(input != 0)


@operator(
    "MaskedSelect(input_desc, mask_desc) "
    "-> (input, const bool *mask=mask, void **data_ptr=-, size_t *dlen=-)",
    """
    input  ANY   [*S]
    mask   BOOL  [*S]
    """,
    host_result=True,
    kernel=True,
)
def masked_select(input: Array, mask: Array) -> Array:
    """The elements where the mask is true, in row-major order.

    The run function allocates the result in memory of the device, and the caller frees it: on the
    CPU it comes from `malloc`."""
    return input[mask.astype(bool)]


@operator(
    "Take(!output, input, indices)",
    """
    out output  PLAIN|C64  [*S]  dense
    input       =output    [*X]  dense
    indices     IDX        [*S]  dense
    """,
    lowered=True,
)
@gather(flat=True)
def take(out: Out, input: Array, indices: Array) -> Any:
    """Elements of the flattened input at the given indices; 0 for invalid indices."""
    (i,) = out.at
    return input.at(indices[i])
