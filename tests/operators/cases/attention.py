"""Cases of attention and its index."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape

from .values import below, between, codes_close, distinct, latent_entries, lengths, prefix_sums


def tables(draw: Draw, shape: Shape) -> Any:
    """Pages that exist, and occasionally one that does not."""
    low = 0 if draw.dtypes["block_tables"].startswith("U") else -1
    pages = draw.integers(0, max(draw["N"], 1), shape)
    return np.where(draw.rng.random(shape) < 0.05, low or draw["N"] + 3, pages)


def bounded(draw: Draw) -> bool:
    """Whether sequences may have any number of queries instead of one."""
    return draw.present("cum_seq_lens_q")


# Slopes times distances give scores of some hundreds, with F32 errors of a few 1e-5.
SLOPES = 512.0

HEADS = {"Hkv": (1, 2, 3), "Hq": lambda draw: draw["Hkv"] * draw.choose((1, 2, 4))}


def indexer_pages(draw: Draw, shape: Shape) -> Any:
    """Random bytes of e4m3 without NaN, followed by scales."""
    pages, rows, _ = shape
    codes = (
        draw.integers(0, 0x7F, (pages, rows * 128)) | draw.integers(0, 2, (pages, rows * 128)) << 7
    )
    scales = np.exp2(draw.integers(-3, 3, (pages, rows))).astype(np.float32)
    return np.concatenate([codes.astype(np.uint8), scales.view(np.uint8)], axis=1).reshape(shape)


CASES: dict[str, Rules] = {
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
    "paged_attention_varlen": Rules(
        symbols={
            **HEADS,
            "D": (16, 64),
            "E": (16, 40, 64),
            "N": (3, 8),
            "R": (4, 16),
            "M": (1, 3),
            "S": (1, 2, 4),
            "T": lambda draw: draw.choose((1, 7, 20)) if bounded(draw) else draw["S"],
        },
        attributes={"scale": (0.125,), "window": (0, 1, 5, 30), "softcap": (0.0, 2.0)},
        absent=((), ("alibi_slopes",), ("cum_seq_lens_q", "alibi_slopes"), ("cum_seq_lens_q",)),
        values={
            "block_tables": tables,
            "seq_lens": lengths,
            "cum_seq_lens_q": prefix_sums(lambda draw: draw["T"]),
        },
        tolerance=1.0,
        noise=SLOPES,
        large={
            "Hkv": (2,),
            "Hq": (8,),
            "S": (4,),
            "T": lambda draw: 150 if bounded(draw) else draw["S"],
            "D": (64,),
            "E": (32,),
            "M": (20,),
            "N": (60,),
        },
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
