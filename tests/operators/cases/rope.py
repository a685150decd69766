"""Cases of rotary embedding."""

from __future__ import annotations

from kit.drawing import Draw, Rules

from .values import below


def mrope_sections(draw: Draw) -> int:
    return int(draw["rotary_dim"] // 2 - draw["section_t"] - draw["section_h"])


CASES: dict[str, Rules] = {
    "rope": Rules(
        symbols={"*B": ((), (2,)), "D": (2, 8, 64), "P": (5, 40)},
        attributes={"algo": (0, 1)},
        dtypes={"pos_ids": ("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")},
        values={"pos_ids": below("P")},
        kinds=("usual", "one", "empty", "large"),
        large={"*B": ((2,),), "T": (70,), "H": (9,), "D": (128,), "P": (100,)},
    ),
    "mrope": Rules(
        symbols={
            "P": (5, 40),
            "Q": lambda draw: 16 * int(draw.integers(1, 4)),
            "K": lambda draw: 16 * int(draw.integers(1, 3)),
        },
        attributes={
            "head_size": (8, 16),
            "rotary_dim": lambda draw: draw.choose((0, 4, draw["head_size"])),
            "section_t": lambda draw: int(draw.integers(0, draw["rotary_dim"] // 2 + 1)),
            "section_h": lambda draw: int(
                draw.integers(0, draw["rotary_dim"] // 2 - draw["section_t"] + 1)
            ),
            "section_w": mrope_sections,
        },
        values={"positions": below("P", -1, 1)},
        kinds=("usual", "empty", "large"),
        large={"T": (300,), "Q": (512,), "K": (128,), "P": (64,)},
    ),
}
