"""Rotary position embeddings."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator


def rows(table: Array, positions: Array) -> Array:
    """The rows of a table for positions; row 0 for positions that it does not have."""
    import numpy as np

    known = (positions >= 0) & (positions < len(table))
    return table[np.where(known, positions, 0).astype(np.int64)]


def rotate(first: Array, second: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
    return first * cos - second * sin, first * sin + second * cos


@operator(
    "RoPE(!y, x, pos_ids, sin_table, cos_table, infiniopRoPEAlgo_t algo)",
    """
    out y      F+  [*B, T, H, D]     inner1
    x          =y  [*B, T, H, D]     inner1
    pos_ids    I*  [T] or [*B, T]    dense
    sin_table  =y  [P, D // 2]       dense
    cos_table  =y  [P, D // 2]       dense
    """,
    where="D % 2 == 0; P > 0; algo >= 0; algo <= 1",
    kernel=True,
    in_place={"y": "x"},
)
def rope(x: Array, pos_ids: Array, sin_table: Array, cos_table: Array, *, algo: int) -> Array:
    """Rotates pairs of each head by the angles of the token's position, in place if wanted.

    `algo` 0 (GPT-J) pairs the elements 2i and 2i + 1, 1 (GPT-NeoX) pairs i and i + D/2. `x` is
    [T, H, D] or [B, T, H, D]; positions [T] serve the whole batch. Positions that the tables do not
    have use row 0.
    """
    import numpy as np

    sin = rows(sin_table, pos_ids)[..., None, :]
    cos = rows(cos_table, pos_ids)[..., None, :]
    half = x.shape[-1] // 2
    y = np.empty_like(x)
    if algo == 0:
        y[..., 0::2], y[..., 1::2] = rotate(x[..., 0::2], x[..., 1::2], sin, cos)
    else:
        y[..., :half], y[..., half:] = rotate(x[..., :half], x[..., half:], sin, cos)
    return y


@operator(
    "MRoPE(!q_out, !k_out, q, k, cos, sin, positions, int head_size, int rotary_dim, "
    "int section_t, int section_h, int section_w, bool interleaved)",
    """
    out q_out  F+   [T, Q]                inner1
    out k_out  =q_out  [T, K]             inner1
    q          =q_out  [T, Q]             inner1
    k          =q_out  [T, K]             inner1
    cos        =q_out  [P, rotary_dim // 2]
    sin        =q_out  [P, rotary_dim // 2]
    positions  IDX  [T] or [3, T]
    """,
    where="P > 0; head_size > 0; rotary_dim >= 0; rotary_dim % 2 == 0; rotary_dim <= head_size; "
    "section_t >= 0; section_h >= 0; section_w >= 0; "
    "section_t + section_h + section_w == rotary_dim // 2; "
    "Q % head_size == 0; K % head_size == 0",
    kernel="rope",
    in_place={"q_out": "q", "k_out": "k"},
)
def mrope(
    q: Array,
    k: Array,
    cos: Array,
    sin: Array,
    positions: Array,
    *,
    head_size: int,
    rotary_dim: int,
    section_t: int,
    section_h: int,
    section_w: int,
    interleaved: bool,
) -> tuple[Array, Array]:
    """Rotary embedding with three positions (time, height, width) for each token.

    Pairs are (i, i + rotary_dim/2) within each head; elements after rotary_dim are copied. The
    pairs take their angles from time, height and width in three sections, or interleaved if
    `interleaved`. Positions that the tables do not have use row 0.
    """
    import numpy as np

    half = rotary_dim // 2
    tokens = len(q)
    place = np.broadcast_to(positions, (3, tokens))
    i = np.arange(half)
    if interleaved:
        height = (i % 3 == 1) & (i < 3 * section_h)
        width = (i % 3 == 2) & (i < 3 * section_w)
    else:
        height = (i >= section_t) & (i < section_t + section_h)
        width = i >= section_t + section_h
    axis = np.where(height, 1, np.where(width, 2, 0))
    sines = rows(sin, place)[axis, :, i].T[:, None, :]  # [tokens, 1, half]
    cosines = rows(cos, place)[axis, :, i].T[:, None, :]

    def turn(x: Array) -> Array:
        heads = x.reshape(tokens, x.shape[1] // head_size, head_size).copy()
        first, second = heads[..., :half].copy(), heads[..., half:rotary_dim].copy()
        heads[..., :half], heads[..., half:rotary_dim] = rotate(first, second, sines, cosines)
        return heads.reshape(x.shape)

    return turn(q), turn(k)
