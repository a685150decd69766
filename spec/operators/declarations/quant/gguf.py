"""Weights in the block formats of GGUF files, in the bytes of the file.

A row of a matrix is a sequence of blocks of 32 elements, or of 256 for formats with a K. `format`
is GGML's number of the type.

| format | number | elements | bytes | an element |
|---|---|---|---|---|
| Q4_0 | 2 | 32 | 18 | d * (q - 8) |
| Q4_1 | 3 | 32 | 20 | d * q + m |
| Q5_0 | 6 | 32 | 22 | d * (q - 16) |
| Q5_1 | 7 | 32 | 24 | d * q + m |
| Q8_0 | 8 | 32 | 34 | d * q |
| Q4_K | 12 | 256 | 144 | d * scale * q - dmin * minimum, scale and minimum for each 32 |
| Q5_K | 13 | 256 | 176 | the same |
| Q6_K | 14 | 256 | 210 | d * scale * (q - 32), scale for each 16 |
"""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from ...language.numeric import round_to

# Number: elements of a block, its bytes.
GGUF_BLOCKS = {
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
}
_KNOWN = f"format in ({', '.join(map(str, GGUF_BLOCKS))})"
_LENGTH = "(32 if format < 12 else 256)"
_BYTES = (
    "("
    + " else ".join(
        [f"{size} if format == {number}" for number, (_, size) in list(GGUF_BLOCKS.items())[:-1]]
        + [str(list(GGUF_BLOCKS.values())[-1][1])]
    )
    + ")"
)
_WHERE = f"{_KNOWN}; K % {_LENGTH} == 0; R * {_LENGTH} == K * {_BYTES}"


def _halves(bytes_: Array) -> Array:
    """Float16 numbers, from their bytes along the last axis."""
    import numpy as np

    return np.ascontiguousarray(bytes_).view("<f2").astype(np.float64)


def _nibbles(bytes_: Array) -> Array:
    """The lower four bits of all bytes along the last axis, then the upper ones."""
    import numpy as np

    return np.concatenate([bytes_ & 15, bytes_ >> 4], axis=-1)


def _k_scales(packed: Array) -> tuple[Array, Array]:
    """The 8 scales and 8 minima of 6 bits in 12 bytes: [..., 8, 1]."""
    import numpy as np

    low, middle, high = packed[..., 0:4], packed[..., 4:8], packed[..., 8:12]
    scales = np.concatenate([low & 63, high & 15 | low >> 6 << 4], axis=-1)
    minima = np.concatenate([middle & 63, high >> 4 | middle >> 6 << 4], axis=-1)
    return scales[..., None], minima[..., None]


def _blocks_of_32(blocks: Array, format: int) -> Array:
    import numpy as np

    d = _halves(blocks[..., 0:2])
    if format == 8:
        return d * blocks[..., 2:].view(np.int8)
    has_minimum = format in (3, 7)
    at = 4 if has_minimum else 2
    codes = _nibbles(blocks[..., -16:]).astype(np.int64)
    if format in (6, 7):
        codes |= np.unpackbits(blocks[..., at : at + 4], axis=-1, bitorder="little") << 4
    if has_minimum:
        return d * codes + _halves(blocks[..., 2:4])
    return d * (codes - (8 if format == 2 else 16))


def _blocks_of_256(blocks: Array, format: int) -> Array:
    import numpy as np

    lead = blocks.shape[:-1]
    if format == 14:
        low = _nibbles(blocks[..., 0:128].reshape(*lead, 2, 64)).reshape(*lead, 2, 4, 32)
        pairs = blocks[..., 128:192].reshape(*lead, 2, 1, 32)
        high = pairs >> np.array([0, 2, 4, 6], np.uint8).reshape(4, 1) & 3
        codes = (low | high << 4).reshape(*lead, 16, 16).astype(np.int64)
        scales = blocks[..., 192:208].view(np.int8)[..., None]
        d = _halves(blocks[..., 208:210])[..., None]
        return (d * scales * (codes - 32)).reshape(*lead, 256)
    d, dmin = _halves(blocks[..., 0:2])[..., None], _halves(blocks[..., 2:4])[..., None]
    scales, minima = _k_scales(blocks[..., 4:16])
    codes = _nibbles(blocks[..., -128:].reshape(*lead, 4, 32)).reshape(*lead, 8, 32)
    if format == 13:
        bits = blocks[..., None, 16:48] >> np.arange(8, dtype=np.uint8).reshape(8, 1) & 1
        codes = codes | bits << 4
    return (d * scales * codes - dmin * minima).reshape(*lead, 256)


def gguf_values(packed: Array, format: int) -> Array:
    """What rows of packed bytes mean, in float64."""
    import numpy as np

    length, size = GGUF_BLOCKS[format]
    packed = np.ascontiguousarray(packed, np.uint8)
    count = packed.shape[-1] // size
    blocks = packed.reshape(*packed.shape[:-1], count, size)
    values = (_blocks_of_32 if length == 32 else _blocks_of_256)(blocks, format)
    return values.reshape(*packed.shape[:-1], count * length)


def interleaved_rows(packed: Array, format: int, *, inverse: bool = False) -> Array:
    """Rows of packed bytes, interleaved in groups of 8; or `inverse`, such rows one by one."""
    import numpy as np

    _, size = GGUF_BLOCKS[format]
    first, last = (0, 208) if format == 14 else (4 if format in (3, 7, 12, 13) else 2, size)
    starts = [*range(0, first, 2), *range(first, last, 4), *range(last, size, 2)]
    place = np.empty((8, size), np.int64)  # in the group's block, of a row's byte
    for start, end in zip(starts, [*starts[1:], size], strict=True):
        place[:, start:end] = 8 * start + np.arange(8 * (end - start)).reshape(8, end - start)
    rows, width = packed.shape
    groups = np.ascontiguousarray(packed, np.uint8).reshape(rows // 8, 8, width // size, size)
    if inverse:
        blocks = groups.reshape(rows // 8, width // size, 8 * size)
        return blocks[..., place].transpose(0, 2, 1, 3).reshape(rows, width)
    made = np.empty((rows // 8, width // size, 8 * size), np.uint8)
    made[..., place] = groups.transpose(0, 2, 1, 3)
    return made.reshape(rows, width)


def int8_rounded(x: Array) -> Array:
    """Rows with each 32 elements rounded to 8-bit integers times a scale; every step is in F32."""
    import numpy as np

    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // 32, 32)
    with np.errstate(all="ignore"):
        scale = round_to(np.abs(blocks).max(axis=-1, keepdims=True) / 127, "F32")
        inverse = np.where(scale < 2.0**-126, 0.0, round_to(1 / scale, "F32"))
        codes = np.rint(np.nan_to_num(round_to(blocks * inverse, "F32")))
        rounded = np.where(np.isfinite(scale), codes * scale, np.nan)
    return rounded.reshape(x.shape)


@operator(
    "DequantizeGguf(!output_desc, packed_desc, int64_t format)",
    """
    out output  F   [*B, K]  inner1
    packed      U8  [*B, R]  inner1
    """,
    where=_WHERE,
    sizes={"K": f"R // {_BYTES} * {_LENGTH}"},
    kernel=True,
)
def dequantize_gguf(packed: Array, *, format: int) -> Array:
    """Rows of a GGUF file as numbers. `format` is GGML's number of the type: Q4_0 2, Q4_1 3,
    Q5_0 6, Q5_1 7, Q8_0 8, Q4_K 12, Q5_K 13 or Q6_K 14; `packed` has the bytes of the file."""
    return gguf_values(packed, format)


@operator(
    "LinearGguf(!output_desc, input_desc, weight_desc, bias_desc, int64_t format,"
    " bool quantize_input, bool interleaved)",
    """
    out output  F        [*B, N]  dense
    input       =output  [*B, K]  dense
    weight      U8       [N, R]   dense
    bias?       =output  [N]      dense
    """,
    where=f"len(B) >= 1; {_WHERE}; N % (8 if interleaved else 1) == 0",
    defaults={"quantize_input": "True", "interleaved": "False"},
    kernel=True,
)
def linear_gguf(
    input: Array,
    weight: Array,
    bias: Array,
    *,
    format: int,
    quantize_input: bool,
    interleaved: bool,
) -> Array:
    """input @ W^T + bias with the rows of W [N, K] packed as in a GGUF file; `format` is GGML's
    number of the type, as in dequantize_gguf.

    With `quantize_input` each 32 elements of the input are first rounded to 8-bit integers:
    `scale = amax / 127`, `code = x * (1 / scale)` to the nearest, ties to even, each step in F32.
    A scale below 2^-126 gives zeros; a NaN or an infinity among the 32 makes the row's results
    NaN. On the CPU a row's result then has the same bits whatever rows are beside it and however
    many threads there are.

    With `interleaved` the rows come in groups of 8: the first number of two bytes or word of four
    of the first block of each row, then the second of each, and so on, then the second block; see
    `nn.functional.interleave_gguf`. The CPU reads these faster."""
    x = int8_rounded(input) if quantize_input else input
    weight = interleaved_rows(weight, format, inverse=True) if interleaved else weight
    product = x @ gguf_values(weight, format).T
    return product if bias is None else product + bias
