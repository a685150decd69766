"""Cases of caches of keys and values."""

from __future__ import annotations

from kit.drawing import Rules

from .values import below, codes_close, distinct, latent_entries, lengths

CASES: dict[str, Rules] = {
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
}
