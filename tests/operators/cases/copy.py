"""Cases of copies."""

from __future__ import annotations

from kit.drawing import Draw, Rules, Shape


def blocks_of(draw: Draw) -> list[Shape]:
    return [(int(draw.integers(1, 5)), int(draw.integers(1, 6))) for _ in range(draw["num_inputs"])]


def around_blocks(draw: Draw) -> Shape:
    found = blocks_of(draw)
    draw.shapes["x"] = found
    return sum(s[0] for s in found), sum(s[1] for s in found)


def some_dims(draw: Draw) -> list[int]:
    rank = len(draw["*S"])
    if not rank:
        return []
    chosen = draw.rng.permutation(rank)[: int(draw.integers(0, rank + 1))]
    return [int(d) - rank * int(draw.integers(0, 2)) for d in chosen]


def padded(draw: Draw) -> Shape:
    sizes = list(draw["*X"])
    pairs = draw["pad"]
    for i in range(len(pairs) // 2):
        sizes[-1 - i] += pairs[2 * i] + pairs[2 * i + 1]
    return tuple(sizes)


def pads(draw: Draw) -> list[int]:
    count = 2 * int(draw.integers(1, len(draw["*X"]) + 1))
    return [int(n) for n in draw.integers(-1, 3, count)]


CASES: dict[str, Rules] = {
    "block_diag": Rules(
        attributes={"num_inputs": (1, 2, 5)},
        shapes={"y": around_blocks, "x": lambda draw: draw.shapes["x"]},
        kinds=("usual",),
    ),
    "flip": Rules(attributes={"dim": some_dims, "n": lambda draw: len(draw["dim"])}, large={}),
    "roll": Rules(
        attributes={
            "dim": some_dims,
            "n": lambda draw: len(draw["dim"]),
            "shifts": lambda draw: [int(s) for s in draw.integers(-9, 9, len(draw["dim"]))],
        },
        large={},
    ),
    "flipud": Rules(symbols={"*S": ((), (3,), (2, 5))}, large={"R": (300,), "*S": ((301,),)}),
    "pad": Rules(
        symbols={"*X": ((5,), (4, 6), (3, 5, 7)), "*Y": lambda draw: draw["*X"]},
        attributes={
            "pad": pads,
            "pad_size": lambda draw: 4 * len(draw["pad"]),
            "mode": ("constant", "reflect", "replicate", "circular", "other"),
            "value": (0.0, 1.5),
        },
        shapes={"y": padded},
        kinds=("usual", "large"),
        large={"*X": ((300, 301),), "*Y": lambda draw: draw["*X"]},
    ),
    "pixel_shuffle": Rules(
        symbols={"N": (1, 2), "C": (1, 3), "H": (1, 4), "W": (1, 5)},
        attributes={"upscale_factor": (1, 2, 3)},
        large={"N": (2,), "C": (4,), "H": (30,), "W": (31,)},
    ),
}
