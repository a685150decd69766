"""Random choice."""

from __future__ import annotations

from typing import Any

from .expression import Array
from .model import operator


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
