"""Cases of norms."""

from __future__ import annotations

from kit.drawing import Draw, Rules

from .values import normal


def same_or_f32(draw: Draw) -> str:
    """The dtype of a norm's weight: that of the activations; for 16-bit ones also the others."""
    if draw.main in ("F16", "BF16"):
        return str(draw.choose(("F16", "BF16", "F32")))
    return draw.main


CASES: dict[str, Rules] = {
    "rms_norm": Rules(dtypes={"w": same_or_f32}),
    "add_rms_norm": Rules(
        dtypes={"weight": same_or_f32},
        tolerance=0.6,
    ),
    "batch_norm": Rules(
        dtypes={"mean": same_or_f32},
        values={"variance": normal(1.0, least=0.5)},
        attributes={"eps": (1e-5, 0.1)},
    ),
    "channel_norm": Rules(dtypes={"weight": same_or_f32}),
    "causal_softmax": Rules(large={"*B": ((3,),), "L": (200,), "T": (517,)}),
    "lp_norm": Rules(attributes={"p": (1, 2, 3)}),
}
