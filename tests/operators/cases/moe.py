"""Cases of mixtures of experts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Extra, Rules, Shape

from .values import below, normal, separated


def gate_rules(**more: Any) -> Rules:
    return Rules(
        symbols={"E": (4, 16, 64), "K": (1, 2, 4), **more.pop("symbols", {})},
        values={
            "gating_output": separated,
            "input": separated,
            "x": separated,
            "correction_bias": normal(1e-4),
            "bias": normal(1e-4),
            **more.pop("values", {}),
        },
        kinds=("usual", "empty", "one", "large"),
        large={"T": (300,), "N": (300,), "E": (64,)},
        **more,
    )


def aligned_pairs(draw: Draw) -> int:
    pairs, experts, block = draw["T"] * draw["K"], draw["num_experts"], draw["block_size"]
    return pairs * block if pairs < experts + 1 else pairs + (experts + 1) * (block - 1)


def aligned(draw: Draw, what: int) -> Any:
    """The results of moe_align for the ids of this case."""
    from spec.operators.declarations.moe.moe import moe_align

    size = draw["S"]
    block = max(1, -(-size // max(1, draw["B"])))
    shapes = {"sorted_token_ids": (size,), "expert_ids": (draw["B"],)}
    made = moe_align(
        draw.inputs["topk_ids"],
        num_experts=draw["E"],
        block_size=block,
        pad_sorted_token_ids=1,
        shapes=shapes,
    )
    return made[what]


def check_align(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """Any order is valid inside a group; without padding the elements after the blocks are
    arbitrary."""
    total = int(expected["num_tokens_post_padded"][0])
    assert int(got["num_tokens_post_padded"][0]) == total
    block = draw["block_size"]
    assert np.array_equal(
        got["expert_ids"][: total // block], expected["expert_ids"][: total // block]
    )
    ours, theirs = got["sorted_token_ids"], np.asarray(expected["sorted_token_ids"])
    start = 0
    labels = expected["expert_ids"][: total // block]
    for end in range(1, len(labels) + 1):
        if end == len(labels) or labels[end] != labels[start]:
            part = slice(start * block, end * block)
            assert np.array_equal(np.sort(ours[part]), np.sort(theirs[part]))
            start = end
    if draw.scalars["pad_sorted_token_ids"]:
        assert (ours[total:] == theirs[total:]).all()


def check_permutation(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    """The rows of one expert may be in any order."""
    for name in ("expert_offsets", "blockscale_offsets", "problem_sizes1", "problem_sizes2"):
        if got[name] is not None:
            assert np.array_equal(got[name], expected[name]), name
    ids = inputs["topk_ids"].reshape(-1)
    place = got["output_permutation"].astype(int)
    width = max(inputs["topk_ids"].shape[1], 1)
    for expert in range(draw["num_experts"]):
        pairs = np.flatnonzero(ids == expert)
        begin = int(expected["expert_offsets"][expert])
        assert set(place[pairs]) == set(range(begin, begin + pairs.size))
        assert np.array_equal(got["input_permutation"][place[pairs]], pairs // width)


def experts(name: str) -> Any:
    return below(name, -1, 1)


def weights(draw: Draw, shape: Shape) -> Any:
    return draw.normal(shape, 1 / np.sqrt(max(shape[-1], 1)))


def matrices(draw: Draw, rows: int, columns: int) -> Extra:
    """One for each expert."""
    return Extra(draw.main, (draw["num_experts"], rows, columns), "in", weights)


def e8m0(draw: Draw, shape: Shape) -> Any:
    return draw.integers(122, 127, shape)


CASES: dict[str, Rules] = {
    "topksoftmax": gate_rules(
        extra={
            "values": lambda draw: Extra("F32", (draw["N"], draw.scalars["topk"]), "out"),
            "indices": lambda draw: Extra("I32", (draw["N"], draw.scalars["topk"]), "out"),
        },
        scalars={"topk": lambda draw: min(3, draw["E"]), "norm": (0, 1)},
    ),
    "topkrouter": gate_rules(
        extra={
            "values": lambda draw: Extra("F32", (draw["N"], draw.scalars["topk"]), "out"),
            "indices": lambda draw: Extra("I32", (draw["N"], draw.scalars["topk"]), "out"),
        },
        scalars={"topk": (1, 8), "routed_scaling_factor": (2.5,)},
        full=("N",),
        values={"x": lambda draw, shape: separated(draw, shape) / 4},
    ),
    "moe_topk_softmax": gate_rules(attributes={"moe_softcapping": (0.0, 30.0)}),
    "moe_topk_sigmoid": gate_rules(),
    "moe_fused_gate": Rules(
        symbols={"E": (32, 64), "K": (2, 4, 5), "T": (1, 3, 9)},
        attributes={
            "num_expert_group": (2, 4),
            "topk_group": (1, 2),
            "num_fused_shared_experts": (0, 1),
            "routed_scaling_factor": (2.5,),
        },
        values={"input": separated, "bias": normal(1e-4)},
        kinds=("usual", "large"),
        large={"T": (300,)},
    ),
    "moe_align": Rules(
        symbols={"T": (1, 5, 20), "K": (1, 2, 4), "S": (1,), "B": (1,)},
        attributes={"num_experts": (2, 8), "block_size": (1, 4, 16)},
        shapes={
            "sorted_token_ids": lambda draw: (aligned_pairs(draw),),
            "expert_ids": lambda draw: (-(-aligned_pairs(draw) // draw["block_size"]),),
        },
        scalars={"pad_sorted_token_ids": (0, 1)},
        values={"topk_ids": below("num_experts", -1)},
        compare=check_align,
        kinds=("usual", "large"),
        large={"T": (3000,), "K": (4,), "S": (1,), "B": (1,)},
    ),
    "prepare_moe_input": Rules(
        symbols={"T": (1, 5, 20), "K": (1, 2, 4)},
        attributes={"num_experts": (2, 8), "n": (16,), "k": (32,)},
        values={"topk_ids": below("num_experts")},
        compare=check_permutation,
        kinds=("usual", "large"),
        large={"T": (3000,), "K": (4,)},
    ),
    "moe_sum": Rules(large={"T": (100,), "K": (4,), "D": (1000,)}, tolerance=0.6),
    "fused_ffn": Rules(
        symbols={
            "T": (1, 3, 9),
            "D": (8, 24),
            "G1": (64,),
            "G2": lambda draw: draw["D"],
            "D1": lambda draw: draw["D"],
            "D2": (32,),
        },
        dtypes={
            "norm_weight": lambda draw: draw.choose((draw.main, "F32")),
            "gate_up_weight": lambda draw: draw.choose((draw.main, "F32")),
            "down_weight": lambda draw: draw.choose((draw.main, "F32")),
        },
        values={"gate_up_weight": weights, "down_weight": weights},
        tolerance=3.0,
        kinds=("usual", "large"),
        large={
            "T": (40,),
            "D": (136,),
            "G1": (512,),
            "G2": lambda draw: draw["D"],
            "D1": lambda draw: draw["D"],
            "D2": (256,),
        },
    ),
    "fused_moe": Rules(
        symbols={
            "N": (1, 6),
            "D": (8, 24),
            "I": (16, 40),
            "E": (1, 4),
            "K": (1, 2),
            "C": (1,),
        },
        attributes={"activation": (0, 1, 2)},
        shapes={
            "w1": lambda draw: (draw["E"], draw["I"] * (1 + (draw["activation"] > 0)), draw["D"]),
            "b1": lambda draw: (draw["E"], draw["I"] * (1 + (draw["activation"] > 0))),
        },
        values={"token_selected_experts": experts("E"), "w1": weights, "w2": weights},
        tolerance=3.0,
        kinds=("usual", "large"),
        large={"N": (60,), "D": (128,), "I": (192,), "E": (8,), "K": (2,), "C": (1,)},
    ),
    "fused_moe_mxfp4": Rules(
        symbols={
            "N": (1, 6),
            "D": (32, 64),
            "S": (1, 2),
            "J": lambda draw: 16 * draw["S"],
            "C": lambda draw: 64 * draw["S"],
            "E": (1, 4),
            "K": (1, 2),
        },
        values={"selected_experts": experts("E"), "w13_scale": e8m0, "w2_scale": e8m0},
        attributes={"activation": (1, 2)},
        tolerance=3.0,
        kinds=("usual",),
    ),
    "moe_fused_dense": Rules(
        symbols={
            "T": (1, 6),
            "D": (8, 24),
            "I": (16, 40),
            "E": (1, 4),
            "K": (1, 2),
            "B": lambda draw: draw["T"] * draw["K"] + draw["E"] + 1,
            "S": lambda draw: draw["B"] * 4,
        },
        values={
            "topk_ids": below("E"),
            "w13": weights,
            "w2": weights,
            "sorted_token_ids": lambda draw, shape: aligned(draw, 0),
            "expert_ids": lambda draw, shape: aligned(draw, 1),
            "num_tokens_post_padded": lambda draw, shape: aligned(draw, 2),
        },
        tolerance=3.0,
        kinds=("usual",),
    ),
    "deepseek_moe": Rules(
        symbols={"T": (1, 6), "D": (8, 24), "K": (1, 2)},
        attributes={"intermediate_size": (16, 40), "num_experts": (1, 4)},
        values={"topk_indices": experts("num_experts")},
        extra={
            "gate_weights": lambda draw: matrices(draw, draw["intermediate_size"], draw["D"]),
            "up_weights": lambda draw: matrices(draw, draw["intermediate_size"], draw["D"]),
            "down_weights": lambda draw: matrices(draw, draw["D"], draw["intermediate_size"]),
        },
        tolerance=3.0,
        kinds=("usual",),
    ),
}
