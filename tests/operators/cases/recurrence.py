"""Cases of recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules

from .values import below, distinct, normal, prefix_sums

POOL = ({"initial_state_indices", "final_state_indices", "cu_seqlens"}, {"FINAL", "cu_seqlens"})

RAGGED = ({"initial_state_indices", "final_state_indices"}, {"FINAL"})


def requests(draw: Draw) -> int:
    return draw["R1"] - 1 if draw.present("cu_seqlens") and "R1" in draw.symbols else draw["B"]


def state_rules(final: str, ragged: bool, **more: Any) -> Rules:
    choices = [*POOL, *(RAGGED if ragged else ())]
    named = [{final if name == "FINAL" else name for name in choice} for choice in choices]
    if not ragged:
        named = [choice - {"cu_seqlens"} for choice in named]
    symbols = {
        "B": lambda draw: 1 if ragged and draw.present("cu_seqlens") else draw.choose((1, 2, 3)),
        **({"R1": (1, 2, 4, 5)} if ragged else {}),
        **more.pop("symbols"),
    }
    if ragged:
        symbols["R"] = requests
    symbols["P"] = lambda draw: requests(draw) + (2 if draw.present("initial_state_indices") else 0)
    values = {
        "cu_seqlens": prefix_sums(lambda draw: draw["T"]),
        "initial_state_indices": distinct(lambda draw: draw["P"], -1),
        # Each request writes to the slot that it has read: another one's slot would be a race.
        "final_state_indices": lambda draw, shape: np.where(
            draw.rng.random(shape) < 0.2, -1, draw.inputs["initial_state_indices"]
        ),
        **more.pop("values", {}),
    }
    return Rules(
        symbols=symbols, values=values, absent=tuple(named), kinds=("usual", "large"), **more
    )


DELTA = {
    "T": (1, 5, 19),
    "Hk": (1, 2),
    "Hv": lambda draw: draw["Hk"] * draw.choose((1, 2)),
    "Dk": (4, 20, 64),
    "Dv": (1, 6, 32),
}

GATES: dict[str, Any] = {
    "g": lambda draw, shape: -np.abs(draw.normal(shape, 0.3)),
    "beta": lambda draw, shape: draw.rng.random(shape),
    "k": normal(0.3),
}


CASES: dict[str, Rules] = {
    "ctc_loss": Rules(
        symbols={"T": (0, 1, 9), "N": (1, 3), "C": (1, 3, 30), "S": (0, 2, 7)},
        values={
            "log_probs": lambda draw, shape: -np.abs(draw.normal(shape, 2.0)),
            "targets": below("C", -1, 1),
            "input_lengths": below("T", 0, 2),
            "target_lengths": below("S", -1, 2),
        },
        attributes={"blank": lambda draw: int(draw.integers(0, draw["C"]))},
        noise=64.0,
        large={"T": (40,), "N": (3,), "C": (50,), "S": (20, 600)},
    ),
    "recurrent_gated_delta_rule": state_rules(
        "final_state", False, symbols={**DELTA, "T": (1,)}, values=GATES, tolerance=0.5
    ),
    "chunk_gated_delta_rule": state_rules(
        "final_state",
        True,
        symbols=DELTA,
        values=GATES,
        attributes={"chunk_size": (1, 64)},
        tolerance=0.5,
    ),
    "kimi_delta_attention": state_rules(
        "final_state",
        True,
        symbols={"T": (1, 5, 19), "H": (1, 3), "D": (4, 20, 32)},
        values=GATES,
        attributes={"scale": (0.25,), "lower_bound": (-5.0,)},
        tolerance=0.5,
    ),
    "causal_conv1d": state_rules(
        "final_conv_state", True, symbols={"T": (1, 2, 9), "C": (1, 5, 130)}
    ),
    "mamba_selective_scan": Rules(
        symbols={"T": (1, 9), "I": (1, 16, 37), "N": (1, 4, 16)},
        values={"a_log": normal(0.5)},
        tolerance=0.5,
        large={"B": (2,), "T": (30,), "I": (200,), "N": (16,)},
    ),
    "rwkv5_wkv": Rules(
        symbols={"T": (1, 9), "H": (1, 2), "S": (1, 8, 20)},
        tolerance=0.5,
        large={"B": (1,), "T": (30,), "H": (4,), "S": (64,)},
    ),
}
