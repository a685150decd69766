"""Marlin: 4- and 8-bit weights in tiles that matrix units read without shuffling.

A weight matrix q [K, N] of codes is cut into tiles, tile after tile along N, row-major inside;
every 1024 codes are permuted and packed into 32-bit words, the first code in the lowest bits.
"""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator

RUN = 1024  # codes that are permuted together
AWQ_ORDER = {4: (0, 4, 1, 5, 2, 6, 3, 7), 8: (0, 2, 1, 3)}  # code of column j in an AWQ word
INTERLEAVE = {4: (0, 2, 4, 6, 1, 3, 5, 7), 8: (0, 2, 1, 3)}
INTERLEAVE_A8 = {4: (0, 4, 1, 5, 2, 6, 3, 7), 8: (0, 1, 2, 3)}

UINT4, UINT4B8, UINT8, UINT8B128 = (
    1125899906843648,
    1125899907892224,
    1125899906844672,
    1125899923621888,
)
RUN_TYPES = (
    f"b_q_type_id in ({UINT4}, {UINT4B8}) if W == N * 2 else"
    f" b_q_type_id in ({UINT8}, {UINT8B128}); is_zp_float == 0"
)


def marlin_order(bits: int, is_a_8bit: bool) -> Array:
    """Where in a run of the tiled matrix each packed code comes from."""
    import numpy as np

    order = []
    for lane in range(32):
        if is_a_8bit:
            rows = [4 * (lane % 4 + half) + r for half in (0, 4) for r in range(4)]
        else:
            rows = [2 * (lane % 4 + half) + r for half in (0, 4) for r in range(2)]
        base = [16 * row + lane // 4 + 8 * half for half in (0, 1) for row in rows]
        for start in range(0, RUN, 512 if is_a_8bit else 256):
            order += [start + at for at in base]
    interleave = (INTERLEAVE_A8 if is_a_8bit else INTERLEAVE)[bits]
    return np.array(order).reshape(-1, len(interleave))[:, list(interleave)].reshape(-1)


def unpack_words(words: Array, bits: int) -> Array:
    """The codes of 32-bit words, along the last axis, lowest first."""
    import numpy as np

    shifts = bits * np.arange(32 // bits)
    codes = np.asarray(words).astype(np.int64)[..., None] >> shifts & ((1 << bits) - 1)
    return codes.reshape(*codes.shape[:-2], -1)


def pack_words(codes: Array, bits: int) -> Array:
    import numpy as np

    grouped = np.asarray(codes, np.int64).reshape(*codes.shape[:-1], -1, 32 // bits)
    words = (grouped << bits * np.arange(32 // bits)).sum(axis=-1)
    return words.astype(np.uint32).view(np.int32)


def marlin_pack(codes: Array, bits: int, is_a_8bit: bool = False) -> Array:
    """Codes [K, N] as Marlin's words [K / 16, N * bits / 2]."""
    k, n = codes.shape
    tile = 32 if is_a_8bit else 16
    tiled = codes.reshape(k // tile, tile, n // 16, 16).transpose(0, 2, 1, 3)
    run = tiled.reshape(-1, RUN)[:, marlin_order(bits, is_a_8bit)]
    return pack_words(run.reshape(k // 16, n * 16), bits)


def marlin_unpack(words: Array, n: int, bits: int, is_a_8bit: bool = False) -> Array:
    """The other way round."""
    import numpy as np

    packed = unpack_words(words, bits).reshape(-1, RUN)
    run = np.empty_like(packed)
    run[:, marlin_order(bits, is_a_8bit)] = packed
    tile = 32 if is_a_8bit else 16
    return run.reshape(-1, n // 16, tile, 16).transpose(0, 2, 1, 3).reshape(-1, n)


def scale_order(groups: int) -> list[int]:
    """Where each scale of a stretch of columns comes from."""
    if groups > 1:
        return [i + 8 * j for i in range(8) for j in range(8)]
    return [2 * i + j for i in range(4) for j in (0, 1, 8, 9, 16, 17, 24, 25)]


def unpermute(stored: Array, order: list[int]) -> Array:
    """Undoes `plain[..., order]` on every stretch of columns."""
    import numpy as np

    plain = np.empty_like(stored).reshape(*stored.shape[:-1], -1, len(order))
    plain[..., order] = stored.reshape(plain.shape)
    return plain.reshape(stored.shape)


def marlin_zeros(words: Array, bits: int) -> Array:
    """Zero points [G, N] from Marlin's words."""
    codes = unpermute(unpack_words(words, bits), list(INTERLEAVE[bits]))
    return unpermute(codes, scale_order(2))


@operator(
    "AwqMarlinRepack(!output_desc, input_desc, int64_t num_bits, bool is_a_8bit)",
    """
    out output I32 [K // 16, C * 16] dense
    input      I32 [K, C]            dense
    """,
    where="num_bits in (4, 8); K % 16 == 0; C % 8 == 0",
    umbrella=False,
    kernel="marlin_repack",
)
def awq_marlin_repack(input: Array, *, num_bits: int, is_a_8bit: bool) -> Array:
    """AWQ's words [K, N / codes per word] as Marlin's."""
    codes = unpack_words(input, num_bits)
    order = list(AWQ_ORDER[num_bits])
    codes = codes.reshape(len(codes), -1, len(order))[..., order].reshape(codes.shape)
    return marlin_pack(codes, num_bits, is_a_8bit)


@operator(
    "GptqMarlinRepack(!output_desc, input_desc, perm_desc, int64_t num_bits, bool is_a_8bit)",
    """
    out output I32 [C * 2 // num_bits, N * num_bits // 2] dense
    input      I32 [C, N]                                 dense
    perm?      I32 [P]                                    dense
    """,
    where="num_bits in (4, 8); C % 2 == 0; N % 64 == 0",
    umbrella=False,
    kernel="marlin_repack",
)
def gptq_marlin_repack(input: Array, perm: Array, *, num_bits: int, is_a_8bit: bool) -> Array:
    """GPTQ's words [K / codes per word, N] as Marlin's; `perm` names the row that each comes from.
    A row that does not exist is 0."""
    import numpy as np

    codes = unpack_words(np.asarray(input).T, num_bits).T
    if perm is not None and perm.size:
        known = (perm >= 0) & (perm < len(codes))
        codes = np.where(known[:, None], codes[np.where(known, perm, 0)], 0)
    return marlin_pack(codes, num_bits, is_a_8bit)


def _marlin_gemm(
    a: Array,
    b: Array,
    scales: Array,
    zeros: Array,
    g_idx: Array,
    perm: Array,
    type_id: int,
    is_a_8bit: bool = False,
) -> Array:
    import numpy as np

    exponent, mantissa, bias = type_id & 255, type_id >> 8 & 255, type_id >> 17 & 0xFFFFFFFF
    if exponent or mantissa not in (4, 8):
        raise ValueError(f"no integer type of 4 or 8 bits: {type_id}")
    k, n, groups = a.shape[1], scales.shape[1], len(scales)
    group = np.arange(k) // (k // groups)
    if g_idx is not None and g_idx.size:
        group = np.asarray(g_idx)
    known = (group >= 0) & (group < groups)
    group = np.where(known, group, 0)
    codes = marlin_unpack(b, n, mantissa, is_a_8bit).astype(np.float64)
    offset = bias
    if zeros is not None and zeros.size:
        offset = offset + marlin_zeros(zeros, mantissa)[group]
    weights = (codes - offset) * unpermute(scales, scale_order(groups))[group] * known[:, None]
    if perm is not None and perm.size:
        inside = (perm >= 0) & (perm < k)
        a = np.where(inside, a[:, np.where(inside, perm, 0)], 0)
    return a @ weights


@operator(
    "GptqMarlinGemm(out_desc, a_desc, b_desc, b_scales_desc, global_scales_desc, b_zeros_desc,"
    " g_idx_desc, perm_desc) -> (!out, a, b, !b_scales, !global_scales, !b_zeros, !g_idx, !perm,"
    " int64_t b_q_type_id, bool is_k_full, bool use_atomic_add, bool use_fp32_reduce,"
    " bool is_zp_float)",
    """
    out out        H16  [M, N]  inner1
    a              =out [M, K]  inner1
    b              I32  [R, W]  dense
    b_scales       =out [G, N]  dense
    global_scales? ANY  [*S]
    b_zeros?       I32  [*Z]    dense
    g_idx?         I32  [*Q]    dense
    perm?          I32  [*P]    dense
    """,
    where="R * 16 == K; N % 64 == 0; G > 0; K % G == 0; W == N * 2 or W == N * 4",
    run_where=RUN_TYPES,
    kernel="marlin_gemm",
)
def gptq_marlin_gemm(
    a: Array,
    b: Array,
    b_scales: Array,
    global_scales: Array,
    b_zeros: Array,
    g_idx: Array,
    perm: Array,
    *,
    b_q_type_id: int,
    is_k_full: bool,
    use_atomic_add: bool,
    use_fp32_reduce: bool,
    is_zp_float: bool,
) -> Array:
    """a @ w, where w = (codes - zero points) * scales by group of rows. With `g_idx` each row names
    its group, and `perm` the column of a that meets it. The type's bias is a zero point for all.
    Absent tensors may also come empty; global scales must."""
    return _marlin_gemm(a, b, b_scales, b_zeros, g_idx, perm, b_q_type_id)


@operator(
    "AwqMarlinGemm(out_desc, a_desc, b_desc, b_bias_desc, b_scales_desc, a_scales_desc,"
    " global_scales_desc, b_zeros_desc, g_idx_desc, perm_desc) -> (!c=out, a, b, !b_bias,"
    " !b_scales, !a_scales, !global_scales, !b_zeros, !g_idx, !perm, int64_t b_q_type_id,"
    " bool is_k_full, bool use_atomic_add, bool use_fp32_reduce, bool is_zp_float)",
    """
    out out        H16    [M, N]  inner1
    a              H16|I8 [M, K]  inner1
    b              I32    [R, W]  dense
    b_bias?        =out   [*V]    dense
    b_scales       =out   [G, N]  dense
    a_scales?      F32    [*U]    dense
    global_scales? ANY    [*S]
    b_zeros?       I32    [*Z]    dense
    g_idx?         I32    [*Q]    dense
    perm?          I32    [*P]    dense
    """,
    where="R * 16 == K; N % 64 == 0; G > 0; K % G == 0; W == N * 2 or W == N * 4",
    run_where=RUN_TYPES,
    kernel="marlin_gemm",
)
def awq_marlin_gemm(
    a: Array,
    b: Array,
    b_bias: Array,
    b_scales: Array,
    a_scales: Array,
    global_scales: Array,
    b_zeros: Array,
    g_idx: Array,
    perm: Array,
    *,
    b_q_type_id: int,
    is_k_full: bool,
    use_atomic_add: bool,
    use_fp32_reduce: bool,
    is_zp_float: bool,
    dtypes: dict[str, str],
) -> Array:
    """gptq_marlin_gemm with a bias for the columns and, for 8-bit activations (whose weights were
    packed for them), scales for the rows."""
    y = _marlin_gemm(a, b, b_scales, b_zeros, g_idx, perm, b_q_type_id, dtypes["a"] == "I8")
    if a_scales is not None and a_scales.size:
        y = y * a_scales.reshape(-1, 1)
    return y if b_bias is None or b_bias.size == 0 else y + b_bias.reshape(-1)


@operator(
    "GptqQyblasGemm(out_desc, a_desc, b_desc, b_scales_desc, b_zeros_desc) -> (!out, a, b,"
    " !b_scale=b_scales, !b_zero=b_zeros, int64_t quant_type, int64_t bit)",
    """
    out out   H16  [M, N]
    a         =out [M, K]
    b         ANY  [*B]
    b_scales? ANY  [*S]
    b_zeros?  ANY  [*Z]
    """,
    unsupported="its weights are in the private layout of QY's library; use gptq_marlin_gemm",
    kernel=True,
)
def gptq_qyblas_gemm(
    a: Array, b: Array, b_scales: Array, b_zeros: Array, *, quant_type: int, bit: int
) -> Array:
    """A product with quantised weights that only QY's devices offer."""
    raise NotImplementedError("the layout of the weights is private to QY's library")
