"""Layouts of quantised weights, written from the formats' public descriptions and not from our own
definitions: what AutoAWQ, AutoGPTQ, Marlin and the OCP Microscaling specification store.

Codes are matrices [K, N] (rows meet the activations' columns) of whole numbers. Loops go element by
element, so that each line can be held against the description.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

# ---- Words --------------------------------------------------------------------------------------


def _words(count: tuple[int, ...]) -> Array:
    return np.zeros(count, np.uint32)


def _put(words: Array, at: tuple[int, ...], code: int, place: int, bits: int) -> None:
    """One code into a word; place 0 is the lowest."""
    words[at] |= np.uint32(int(code) << (bits * place))


# ---- AWQ (AutoAWQ, version GEMM) ----------------------------------------------------------------

# AutoAWQ packs the columns of a word in this order: place i takes column order[i]. It is the order
# in which a kernel gets pairs of halves from a word.
AWQ_COLUMNS = {4: (0, 2, 4, 6, 1, 3, 5, 7), 8: (0, 2, 1, 3)}


def pack_awq(codes: Array, bits: int = 4) -> Array:
    """qweight int32 [K, N / (32 / bits)]; the zero points [G, N] are packed in the same way."""
    order = AWQ_COLUMNS[bits]
    rows, columns = codes.shape
    words = _words((rows, columns // len(order)))
    for row in range(rows):
        for word in range(words.shape[1]):
            for place, column in enumerate(order):
                _put(words, (row, word), codes[row, word * len(order) + column], place, bits)
    return words.view(np.int32)


def dequantise_awq(codes: Array, zeros: Array, scales: Array) -> Array:
    """(code - zero point) * scale, with one of both for each group of K / G rows."""
    made = np.zeros(codes.shape)
    group_size = codes.shape[0] // scales.shape[0]
    for row, column in np.ndindex(*codes.shape):
        group = row // group_size
        made[row, column] = (int(codes[row, column]) - int(zeros[group, column])) * float(
            scales[group, column]
        )
    return made


# ---- GPTQ (AutoGPTQ, checkpoint format "gptq") --------------------------------------------------


def pack_gptq(codes: Array, bits: int = 4) -> Array:
    """qweight int32 [K / (32 / bits), N]: consecutive rows in a word, the first in the lowest
    bits."""
    count = 32 // bits
    rows, columns = codes.shape
    words = _words((rows // count, columns))
    for row, column in np.ndindex(rows, columns):
        _put(words, (row // count, column), codes[row, column], row % count, bits)
    return words.view(np.int32)


def pack_gptq_zeros(zeros: Array, bits: int = 4) -> Array:
    """qzeros int32 [G, N / (32 / bits)]: consecutive columns in a word. What is stored is the zero
    point less one."""
    count = 32 // bits
    groups, columns = zeros.shape
    words = _words((groups, columns // count))
    for group, column in np.ndindex(groups, columns):
        stored = int(zeros[group, column]) - 1
        _put(words, (group, column // count), stored & (2**bits - 1), column % count, bits)
    return words.view(np.int32)


def dequantise_gptq(codes: Array, zeros: Array, scales: Array, g_idx: Array) -> Array:
    """(code - zero point) * scale of the group that g_idx names for the row."""
    made = np.zeros(codes.shape)
    for row, column in np.ndindex(*codes.shape):
        group = int(g_idx[row])
        made[row, column] = (int(codes[row, column]) - int(zeros[group, column])) * float(
            scales[group, column]
        )
    return made


# ---- Marlin -------------------------------------------------------------------------------------

# Places in a word of the values that a thread holds, such that the values 2i and 2i + 1 come out of
# one mask and shift as two halves of a register: value 0 is in place 0, value 1 in the upper half.
MARLIN_PLACES = {4: (0, 4, 1, 5, 2, 6, 3, 7), 8: (0, 2, 1, 3)}


def pack_marlin(codes: Array, bits: int = 4) -> Array:
    """int32 [K / 16, N * bits / 2]: tiles of 16 rows and 64 columns, as the threads of a warp load
    them, one vector of words each. In the PTX manual the B fragment of mma.m16n8k16 gives lane t of
    a warp the column t / 4 of eight, and the rows 2 (t % 4), 2 (t % 4) + 1 and the same plus 8. A
    thread's values of two neighbouring fragments (16 columns) stand together."""
    rows, columns = codes.shape
    per_word, row_words = 32 // bits, columns * bits // 2
    words = _words((rows // 16, row_words))
    for tile_row in range(rows // 16):
        at = 0  # of the next word in the row
        for first_column in range(0, columns, 64):
            for lane in range(32):
                values = []
                for block in range(4):  # of 16 columns
                    for fragment in range(2):  # of 8 columns
                        column = first_column + 16 * block + 8 * fragment + lane // 4
                        for row in (0, 1, 8, 9):
                            values.append(codes[16 * tile_row + 2 * (lane % 4) + row, column])
                for start in range(0, len(values), per_word):
                    for i in range(per_word):
                        place = MARLIN_PLACES[bits][i]
                        _put(words, (tile_row, at), values[start + i], place, bits)
                    at += 1
        assert at == row_words
    return words.view(np.int32)


def permute_marlin_scales(scales: Array, group_size: int, rows: int) -> Array:
    """Scales [G, N] in the order of the columns that a thread multiplies. With groups of rows, the
    64 columns of a tile are taken as 8 by 8 and transposed; with one group, the epilogue needs of
    each 32 columns two neighbours of every fragment of 8."""
    made = np.array(scales)
    if group_size < rows:
        for first in range(0, scales.shape[1], 64):
            part = scales[:, first : first + 64]
            made[:, first : first + 64] = part.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 64)
        return made
    for first in range(0, scales.shape[1], 32):
        part = scales[:, first : first + 32].reshape(-1, 4, 4, 2)  # fragment, pair, neighbour
        made[:, first : first + 32] = part.transpose(0, 2, 1, 3).reshape(-1, 32)
    return made


def pack_marlin_zeros(zeros: Array, bits: int = 4) -> Array:
    """Zero points [G, N] in the order of grouped scales, then as the weights in words."""
    count = 32 // bits
    ordered = permute_marlin_scales(zeros, 1, 2)
    words = _words((zeros.shape[0], zeros.shape[1] // count))
    for group, column in np.ndindex(*zeros.shape):
        place = MARLIN_PLACES[bits][column % count]
        _put(words, (group, column // count), ordered[group, column], place, bits)
    return words.view(np.int32)


def scalar_type(bits: int, bias: int) -> int:
    """The number of an unsigned integer type with a bias, as vLLM's ScalarType counts: 8 bits of
    exponent, 8 of mantissa, signed, 32 of bias, finite only, 8 of how NaN is written (1)."""
    return bits << 8 | bias << 17 | 1 << 50


# ---- MXFP4 (OCP Microscaling formats, version 1.0) ----------------------------------------------


def e2m1_value(code: int) -> float:
    """A sign, two bits of exponent with bias 1, one bit of mantissa; exponent 0 is subnormal."""
    sign, exponent, mantissa = code >> 3, code >> 1 & 3, code & 1
    size = mantissa * 0.5 if exponent == 0 else (1 + mantissa * 0.5) * 2.0 ** (exponent - 1)
    return -size if sign else size


def e8m0_value(code: int) -> float:
    """A power of two with bias 127."""
    return float("nan") if code == 255 else 2.0 ** (code - 127)


def pack_mxfp4(codes: Array) -> Array:
    """uint8 [..., K / 2]: the even element in the lower four bits."""
    made = np.zeros((*codes.shape[:-1], codes.shape[-1] // 2), np.uint8)
    for at in np.ndindex(*codes.shape):
        made[(*at[:-1], at[-1] // 2)] |= int(codes[at]) << (4 * (at[-1] % 2))
    return made


def dequantise_mxfp4(codes: Array, scales: Array) -> Array:
    """Elements times the scale of their block of 32."""
    made = np.zeros(codes.shape)
    for at in np.ndindex(*codes.shape):
        made[at] = e2m1_value(int(codes[at])) * e8m0_value(int(scales[(*at[:-1], at[-1] // 32)]))
    return made
