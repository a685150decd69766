"""linear_gguf on the CPU: `benchmarks/packed_products.py [--rows 1,4,512] [--formats 2,3,8]`.

Random blocks stand for the weights of SmolLM2-135M, one layer after the other so that they come
from memory as they do in a model, and interleaved as infinicore.llm has them. Prints the time of
all products of a token or a prompt, the rate at which packed weights were read, and that of
multiplications; the number of threads is INFINI_NUM_THREADS. The best of several rounds counts:
other programs disturb.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import infinicore
from infinicore.nn.functional import interleave_gguf

BLOCKS = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34)}
NAMES = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0"}
# Columns and depth of a layer's matrices: query, key, value, output, gate, up, down.
LAYER = [(576, 576), (192, 576), (192, 576), (576, 576), (1536, 576), (1536, 576), (576, 1536)]
LAYERS, HEAD = 30, (49152, 576)


def weight(rng: np.random.Generator, shape: tuple[int, int], format: int) -> np.ndarray:
    elements, size = BLOCKS[format]
    columns, depth = shape
    blocks = rng.integers(0, 256, (columns, depth // elements, size), dtype=np.uint8)
    blocks[..., :4].view(np.float16)[...] = 0.01  # scale and minimum; codes where there is none
    return blocks.reshape(columns, -1)


def measure(format: int, rows: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    shapes = LAYER * LAYERS + ([HEAD] if rows == 1 else [])  # a prompt needs its last logits only
    packed = [weight(rng, shape, format) for shape in shapes]
    inputs = {depth: rng.standard_normal((rows, depth), np.float32) for depth in (576, 1536)}
    plans = []
    for (columns, depth), bytes_ in zip(shapes, packed, strict=True):
        out = np.empty((rows, columns), np.float32)
        rows_of_8 = interleave_gguf(infinicore.from_numpy(bytes_), format).numpy()
        given = (inputs[depth], rows_of_8, None)
        options = {"format": format, "interleaved": True}
        plan = infinicore.op.describe("linear_gguf", *given, **options, out=out)
        plans.append((plan, out, given))
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for plan, out, given in plans:
            plan(out, *given)
        best = min(best, time.perf_counter() - began)
    read = sum(each.nbytes for each in packed)
    products = rows * sum(columns * depth for columns, depth in shapes)
    print(
        f"{NAMES[format]} {rows:5} rows {best * 1e3:9.2f} ms {rows / best:9.1f} rows/s"
        f" {read / best / 1e9:7.2f} GB/s {products / best / 1e9:7.1f} GMAC/s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1,4,512")
    parser.add_argument("--formats", default="2,3,8")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    for format in map(int, options.formats.split(",")):
        for rows in map(int, options.rows.split(",")):
            measure(format, rows, options.rounds if rows < 64 else max(options.rounds // 4, 2))


if __name__ == "__main__":
    main()
