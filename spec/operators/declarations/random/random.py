"""Random choice, and random numbers."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator


def _draw(logits: Array, random_val: float, topp: float, topk: int, temperature: float) -> int:
    import numpy as np

    order = np.argsort(-logits, kind="stable")
    if random_val == 0 or topp == 0 or topk == 1 or temperature == 0:
        return int(order[0])
    weights = np.exp((logits[order] - logits[order[0]]) / np.float32(temperature))
    sums = np.cumsum(weights)
    k = len(sums) if topk < 1 else min(topk, len(sums))
    threshold = random_val * min(topp * sums[-1], sums[k - 1])
    return int(order[min(np.searchsorted(sums, threshold), k - 1)])


@operator(
    "RandomSample(result, probs)"
    " -> (!result, probs, float random_val, float topp, int topk, float temperature)",
    """
    out result  I*  [] or [B]
    probs       F+  [V] or [B, V]  inner1
    """,
    where="V > 0; rank(result) + 1 == rank(probs)",
    variants=(
        "CreateRandomSampleBatchDescriptor(result, probs)",
        "RandomSampleBatch(!result, probs, const float *random_val[batch_size],"
        " const float *topp[batch_size], const int *topk[batch_size],"
        " const float *temperature[batch_size], int batch_size)",
    ),
    run_counts={"batch_size": "result"},
    kernel=True,
)
def random_sample(
    probs: Array,
    *,
    random_val: Any,
    topp: Any,
    topk: Any,
    temperature: Any,
    batch_size: int | None = None,
) -> Array:
    """An index drawn from logits by a random number in [0, 1), among the most probable ones.

    With p = exp((l - max l) / temperature) in descending order and C its running sums, it is the
    first index whose C reaches random_val * min(topp * C[last], C[topk - 1]). It is the first
    maximum when random_val, topp or temperature is 0 or topk is 1; a topk below 1 takes all.
    For rows of logits the batch function takes host arrays with one entry for each row."""
    import numpy as np

    if probs.ndim == 1:
        return np.array(_draw(probs, random_val, topp, topk, temperature))
    parameters = np.broadcast_arrays(random_val, topp, topk, temperature, np.zeros(len(probs)))
    rows = zip(probs, *(each.tolist() for each in parameters[:4]), strict=True)
    return np.array([_draw(*row) for row in rows])


# ---- Numbers by a counter -----------------------------------------------------------------------


def philox(seed: int, block: int, count: int) -> Array:
    """`count` words of 32 bits from Philox 4x32-10, four for each block from number `block` on.

    The seed is the key, and the block's number the lower half of the counter."""
    import numpy as np

    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    with np.errstate(over="ignore"):
        blocks = np.uint64(block % 2**64) + np.arange(-(-count // 4), dtype=np.uint64)
    c = [blocks & low, blocks >> shift, np.zeros_like(blocks), np.zeros_like(blocks)]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        keys = [np.uint64(k) for k in key]
        c = [(b >> shift) ^ c[1] ^ keys[0], b & low, (a >> shift) ^ c[3] ^ keys[1], a & low]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return np.stack(c, axis=-1).reshape(-1)[:count].astype(np.uint32)


def _words(seed: int, offset: int, count: int, wide: bool) -> Array:
    """Words of 32 bits, or of 64: the second of two is the upper half. All as uint64."""
    import numpy as np

    if not wide:
        return philox(seed, offset, count).astype(np.uint64)
    pairs = philox(seed, offset, 2 * count).astype(np.uint64).reshape(-1, 2)
    return pairs[:, 0] | pairs[:, 1] << np.uint64(32)


def _size(shapes: dict[str, tuple[int, ...]]) -> int:
    import math

    return math.prod(shapes["y"])


_DIGITS = {"F16": 11, "BF16": 8, "F32": 24, "F64": 53}


@operator(
    "RandomUniform(y) -> (!y, uint64_t seed, uint64_t offset, double low, double high)",
    """
    out y  F+  [*S]
    """,
    run_where="low <= high",
    defaults={"offset": "0", "low": "0.0", "high": "1.0"},
    kernel="random_fill",
)
def random_uniform(
    *,
    seed: int,
    offset: int,
    low: float,
    high: float,
    dtypes: dict[str, str],
    shapes: dict[str, tuple[int, ...]],
) -> Array:
    """Random numbers from the uniform distribution on [low, high): low + (high - low) u, where u is
    at least 0, less than 1, and a multiple of 2^-24 (F16: 2^-11, BF16: 2^-8, F64: 2^-53).

    The numbers are the words of Philox 4x32-10 in row-major order, of which the topmost bits are
    taken: one of 32 bits for each element, for F64 one of 64. The seed is the key, and the counter
    of the first block of four words is `offset`, so that n elements use up (n + 3) / 4 blocks, of
    F64 (n + 1) / 2. The result does not depend on the number of threads or the strides."""
    import numpy as np

    digits, wide = _DIGITS[dtypes["y"]], dtypes["y"] == "F64"
    words = _words(seed, offset, _size(shapes), wide)
    u = (words >> np.uint64((64 if wide else 32) - digits)).astype(np.float64) * 2.0**-digits
    return (low + (high - low) * u).reshape(shapes["y"])


@operator(
    "RandomNormal(y) -> (!y, uint64_t seed, uint64_t offset, double mean, double std)",
    """
    out y  F+  [*S]
    """,
    run_where="std >= 0",
    defaults={"offset": "0", "mean": "0.0", "std": "1.0"},
    kernel="random_fill",
)
def random_normal(
    *,
    seed: int,
    offset: int,
    mean: float,
    std: float,
    dtypes: dict[str, str],
    shapes: dict[str, tuple[int, ...]],
) -> Array:
    """Random numbers from a normal distribution: mean + std z, by the method of Box and Muller.

    From two words of Philox 4x32-10 come a u above 0 and at most 1 and a v from 0 and below 1, both
    multiples of 2^-24; two elements, one after the other, are sqrt(-2 log u) times cos(2 pi v) and
    sin(2 pi v). F64 has words of 64 bits and multiples of 2^-53. What the seed and the offset are,
    and how many blocks are used up, is as for random_uniform."""
    import numpy as np

    wide = dtypes["y"] == "F64"
    digits, count = 53 if wide else 24, 2 * -(-_size(shapes) // 2)
    words = _words(seed, offset, count, wide) >> np.uint64((64 if wide else 32) - digits)
    u, v = (words.astype(np.float64) * 2.0**-digits).reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log(u + 2.0**-digits)), 2 * np.pi * v
    z = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)
    return (mean + std * z[: _size(shapes)]).reshape(shapes["y"])


@operator(
    "RandomIntegers(y) -> (!y, uint64_t seed, uint64_t offset, int64_t low, int64_t high)",
    """
    out y  I*|BOOL|F+  [*S]
    """,
    run_where="low < high",
    defaults={"offset": "0", "low": "0"},
    kernel="random_fill",
)
def random_integers(
    *,
    seed: int,
    offset: int,
    low: int,
    high: int,
    dtypes: dict[str, str],
    shapes: dict[str, tuple[int, ...]],
) -> Array:
    """Random integers from low to high - 1: low + floor((high - low) w / 2^64), where w are the
    words of 64 bits of Philox 4x32-10. Values out of range of the element type wrap around.

    What the seed and the offset are is as for random_uniform; n elements use up (n + 1) / 2 blocks.
    """
    import numpy as np

    words = _words(seed, offset, _size(shapes), wide=True).astype(object)
    drawn, kind = words * (high - low) // 2**64 + low, dtypes["y"]
    if kind == "BOOL":
        result = drawn != 0
    elif kind in _DIGITS:
        result = drawn.astype(np.float64)
    else:
        signed = "u" if kind[0] == "U" else ""
        wrapped = drawn % 2 ** int(kind[1:])
        result = wrapped.astype(f"uint{kind[1:]}").astype(f"{signed}int{kind[1:]}")
    return result.reshape(shapes["y"])
