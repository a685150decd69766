"""Cases of language models: attention, caches, recurrences."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .cases import below, between, distinct, prefix_sums, spread

# ---- Rotary embedding and caches ----------------------------------------------------------------


def mrope_sections(draw: Draw) -> int:
    return int(draw["rotary_dim"] // 2 - draw["section_t"] - draw["section_h"])


ROTARY = {
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
    "kv_caching": Rules(
        symbols={"S": (1, 3), "M": (5, 9)},
        values={"past_kv_lengths": below("M", -2, 2)},
        kinds=("usual", "one", "empty", "large"),
        large={"B": (3,), "H": (8,), "S": (60,), "M": (70,), "D": (64,)},
    ),
    "paged_caching": Rules(
        symbols={"N": (1, 4), "R": (2, 5), "T": (1, 3, 7)},
        values={"slot_mapping": distinct(lambda draw: draw["N"] * draw["R"] + 1)},
        kinds=("usual", "one", "empty", "large"),
        large={"N": (40,), "H": (8,), "R": (16,), "D": (128,), "E": (64,), "T": (300,)},
    ),
}

# ---- Attention ----------------------------------------------------------------------------------


def tables(draw: Draw, shape: Shape) -> Any:
    """Pages that exist, and now and then one that does not."""
    low = 0 if draw.dtypes["block_tables"].startswith("U") else -1
    pages = draw.integers(0, max(draw["N"], 1), shape)
    return np.where(draw.rng.random(shape) < 0.05, low or draw["N"] + 3, pages)


def lengths(draw: Draw, shape: Shape) -> Any:
    return draw.integers(0, draw["M"] * draw["R"] + 1, shape)


# Slopes times distances make scores of some hundreds, of which F32 keeps a few 1e-5.
SLOPES = 512.0
HEADS = {"Hkv": (1, 2, 3), "Hq": lambda draw: draw["Hkv"] * draw.choose((1, 2, 4))}

ATTENTION = {
    "attention": Rules(
        symbols={**HEADS, "S": (1, 3, 17), "D": (1, 16, 40), "M": (1,), "N": (1,)},
        attributes={"pos": (0, 1, 9)},
        tolerance=1.0,
        large={"Hkv": (2,), "Hq": (6,), "S": (130,), "D": (64,)},
    ),
    "flash_attention": Rules(
        symbols={**HEADS, "B": (1, 2), "Lq": (1, 5, 19), "Lk": (1, 7, 40), "D": (16, 64)},
        attributes={"is_causal": (0, 1), "scale": (0.25, 0.125)},
        values={"total_kv_len": below("Lk", -1, 2)},
        tolerance=1.0,
        large={"Hkv": (2,), "Hq": (4,), "B": (1,), "Lq": (150,), "Lk": (300,), "D": (64,)},
    ),
    "paged_attention": Rules(
        symbols={
            **HEADS,
            "D": (16, 64, 576),
            "E": lambda draw: 512 if draw["D"] == 576 else draw["D"],
            "N": (3, 8),
            "R": (4, 16),
            "M": (1, 3),
        },
        attributes={"scale": (0.125,)},
        values={"block_tables": tables, "seq_lens": lengths},
        tolerance=1.0,
        noise=SLOPES,
        large={
            "Hkv": (2,),
            "Hq": (8,),
            "S": (5,),
            "D": (128,),
            "E": (128,),
            "M": (20,),
            "N": (60,),
        },
    ),
    "paged_attention_prefill": Rules(
        symbols={
            **HEADS,
            "D": (16, 64),
            "E": lambda draw: draw["D"],
            "N": (3, 8),
            "R": (4, 16),
            "M": (1, 3),
            "S": (1, 2, 4),
            "T": (1, 7, 20),
        },
        attributes={"scale": (0.125,)},
        values={
            "block_tables": tables,
            "seq_lens": lengths,
            "cum_seq_lens_q": prefix_sums(lambda draw: draw["T"]),
        },
        tolerance=1.0,
        noise=SLOPES,
        large={"Hkv": (2,), "Hq": (8,), "T": (150,), "D": (64,), "M": (20,), "N": (60,)},
    ),
    "nsa_compress_paged_cache": Rules(
        symbols={"N": (2, 5), "H": (1, 2), "R": (8, 16), "M": (1, 3), "S": (1, 2), "C": (1,)},
        attributes={"nsa_block_size": (4, 8), "update_last_only": (0, 1)},
        values={
            "block_tables": distinct(lambda draw: draw["N"]),
            "seq_lens": lengths,
        },
        dtypes={"block_tables": ("I32", "I64")},
        kinds=("usual",),
    ),
    "nsa_paged_attention": Rules(
        symbols={**HEADS, "N": (2, 5), "R": (8, 16), "M": (1, 3), "S": (1, 2), "C": (1,)},
        attributes={
            "nsa_block_size": (4, 8),
            "window_size": (0, 5, 30),
            "select_blocks": (0, 1, 2),
            "scale": (0.0883,),
        },
        dtypes={"gates": lambda draw: draw.choose((draw.main, "F32"))},
        values={"block_tables": tables, "seq_lens": lengths},
        tolerance=2.0,
        kinds=("usual", "one"),
    ),
}

# ---- Sparse attention in e4m3 -------------------------------------------------------------------


def indexer_pages(draw: Draw, shape: Shape) -> Any:
    """Random bytes of e4m3 without NaN, and scales behind them."""
    pages, rows, _ = shape
    codes = (
        draw.integers(0, 0x7F, (pages, rows * 128)) | draw.integers(0, 2, (pages, rows * 128)) << 7
    )
    scales = np.exp2(draw.integers(-3, 3, (pages, rows))).astype(np.float32)
    return np.concatenate([codes.astype(np.uint8), scales.view(np.uint8)], axis=1).reshape(shape)


def latent_entries(draw: Draw, shape: Shape) -> Any:
    rows = shape[0] * shape[1]
    codes = draw.integers(0, 0x7F, (rows, 512)) | draw.integers(0, 2, (rows, 512)) << 7
    scales = (draw.rng.random((rows, 4)) * 0.01).astype(np.float32)
    rotary = (draw.normal((rows, 64)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    parts = [codes.astype(np.uint8), scales.view(np.uint8), rotary.view(np.uint8)]
    return np.concatenate(parts, axis=1).reshape(shape)


def codes_close(limit: int) -> Any:
    """e4m3 results may differ by one code where a rounding went the other way, in few places."""

    def check(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
        for name, result in got.items():
            if result is None:
                continue
            wanted = np.asarray(expected[name]).reshape(result.shape)
            off = result.astype(np.float64) != wanted
            near = np.abs(result.astype(np.float64) - wanted) <= 0.13 * np.abs(wanted) + 1e-2
            if draw.dtypes[name] == "U8":
                near = np.abs(result.astype(int) - wanted.astype(int)) <= 1
            assert (near | ~off).all(), f"{name} is wrong"
            assert off.sum() * 1000 <= limit * off.size, f"{name}: {off.sum()} of {off.size} differ"

    return check


FP8 = {
    "fp8_indexer_quant": Rules(symbols={"D": (1, 64, 128)}, compare=None),
    "fused_fp8_indexer": Rules(
        symbols={"N": (1, 3), "R": (2, 8), "P": (5,), "T": (1, 4), "H": (1, 3)},
        attributes={"rope_dim": (0, 64, 128), "eps": (1e-6,), "weights_scale": (0.25, 0.3)},
        values={
            "positions": below("P", -1, 1),
            "slot_mapping": distinct(lambda draw: draw["N"] * draw["R"] + 1),
            "k_cache": indexer_pages,
        },
        compare=codes_close(20),
        kinds=("usual", "empty"),
    ),
    "fp8_indexer_logits": Rules(
        symbols={"N": (1, 3), "R": (1, 2), "M": (1, 2), "T": (1, 4), "H": (1, 3), "C": (40, 100)},
        values={
            "positions": between(-1, 130),
            "request_ids": below("R", -1, 1),
            "block_tables": below("N", -1, 1),
            "kv_cache": indexer_pages,
        },
        noise=64.0,
        kinds=("usual", "empty"),
    ),
    "fp8_mla_rmsnorm_cache": Rules(
        symbols={"N": (1, 3), "R": (2, 8), "T": (1, 4)},
        attributes={"eps": (1e-6,)},
        values={
            "slot_mapping": distinct(lambda draw: draw["N"] * draw["R"] + 1),
            "cache": latent_entries,
        },
        compare=codes_close(20),
        kinds=("usual", "empty"),
    ),
    "fp8_sparse_mla": Rules(
        symbols={"N": (4, 20), "T": (1, 3), "H": (1, 4), "K": (1, 9)},
        attributes={"scale": (0.02,)},
        values={
            "indices": below("N", -1, 1),
            "topk_lens": below("K", -1, 1),
            "kv_cache": latent_entries,
        },
        tolerance=1.0,
        kinds=("usual", "empty", "large"),
        large={"N": (300,), "T": (9,), "H": (16,), "K": (200,)},
    ),
}

# ---- Recurrences --------------------------------------------------------------------------------

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
        # Each request writes where it has read: another one's slot would be a race.
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
    "k": spread(0.3),
}

RECURRENCES = {
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
        values={"a_log": spread(0.5)},
        tolerance=0.5,
        large={"B": (2,), "T": (30,), "I": (200,), "N": (16,)},
    ),
    "rwkv5_wkv": Rules(
        symbols={"T": (1, 9), "H": (1, 2), "S": (1, 8, 20)},
        tolerance=0.5,
        large={"B": (1,), "T": (30,), "H": (4,), "S": (64,)},
    ),
}
