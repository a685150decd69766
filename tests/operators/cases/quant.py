"""Cases of quantisation, and products with quantised weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from kit.drawing import Draw, Rules, Shape
from spec.operators.declarations.quant.gguf import GGUF_BLOCKS, interleaved_rows

from .values import below, distinct, normal, one_of

UINT4, UINT8, UINT4B8, UINT8B128 = (
    1125899906843648,
    1125899906844672,
    1125899907892224,
    1125899923621888,
)


def words(draw: Draw, shape: Shape) -> Any:
    return draw.integers(-(2**31), 2**31, shape)


def marlin_rules(bias: bool) -> Rules:
    """A case has 4 or 8 bits by the width of the packed words, zeros or none, and by its seed rows
    in another order; activations of 8 bits where there may be a bias, too."""

    def bits(draw: Draw) -> int:
        return 4 if draw["W"] == 2 * draw["N"] else 8

    def is_a_8bit(draw: Draw) -> bool:
        return bias and draw.seed % 4 == 2

    def absent(draw: Draw) -> set[str]:
        gone = {"global_scales"}
        if draw.seed % 2:
            gone |= {"b_zeros", "b_bias"}
        if draw.seed % 3 != 2:
            gone |= {"g_idx", "perm"}
        if not is_a_8bit(draw):
            gone |= {"a_scales"}
        return gone & {tensor.name for tensor in draw.operator.tensors}

    def activations(draw: Draw, shape: Shape) -> Any:
        return (codes if is_a_8bit(draw) else normal(1.0))(draw, shape)

    def type_id(draw: Draw) -> int:
        if draw.present("b_zeros"):
            return UINT4 if bits(draw) == 4 else UINT8
        return UINT4B8 if bits(draw) == 4 else UINT8B128

    return Rules(
        symbols={
            "M": (1, 3, 17),
            "K": (64, 128),
            "N": (64, 128),
            "G": (1, 2),
            "R": lambda draw: draw["K"] // 16,
            "W": lambda draw: draw["N"] * draw.choose((2, 4)),
        },
        absent=absent,
        dtypes={"a": lambda draw: "I8" if is_a_8bit(draw) else draw.dtypes["out"]},
        shapes={
            "a_scales": lambda draw: (draw["M"],),
            "g_idx": lambda draw: (draw["K"],),
            "perm": lambda draw: (draw["K"],),
            "b_zeros": lambda draw: (draw["G"], draw["N"] * bits(draw) // 32),
            "b_bias": lambda draw: (draw["N"],),
        },
        values={
            "b": words,
            "b_zeros": words,
            "b_scales": normal(0.05),
            "a": activations,
            "a_scales": scales,
            "g_idx": below("G"),
            "perm": distinct(lambda draw: draw["K"]),
        },
        scalars={
            "b_q_type_id": type_id,
            "is_k_full": (1,),
            "use_atomic_add": (0,),
            "use_fp32_reduce": (1,),
            "is_zp_float": (0,),
        },
        tolerance=1.0,
        kinds=("usual", "large"),
        large={
            "M": (40,),
            "K": (512,),
            "N": (256,),
            "G": (4,),
            "R": lambda draw: draw["K"] // 16,
            "W": lambda draw: draw["N"] * draw.choose((2, 4)),
        },
    )


def gguf_rules(**more: Any) -> Rules:
    """Rows of a multiple of 256 elements have a format with large blocks, and only those: so the
    bytes of a row tell its format."""

    def formats(draw: Draw) -> list[int]:
        length = 256 if draw["K"] % 256 == 0 else 32
        return [number for number, block in GGUF_BLOCKS.items() if block[0] == length]

    def row_bytes(draw: Draw) -> int:
        elements, size = GGUF_BLOCKS[draw.choose(formats(draw))]
        return draw["K"] // elements * size

    def format_(draw: Draw) -> int:
        def fits(number: int) -> bool:
            elements, size = GGUF_BLOCKS[number]
            return draw["K"] // elements * size == draw["R"]

        return draw.choose([number for number in formats(draw) if fits(number)])

    def packed(draw: Draw, shape: Shape) -> Any:
        made = gguf_bytes(draw.rng, shape, draw["format"])
        interleaved = "interleaved" in attributes and draw["interleaved"]
        return interleaved_rows(made, draw["format"]) if interleaved else made

    attributes = more.pop("attributes", {})
    sizes = {"K": (32, 96, 256, 512), "R": row_bytes}
    large = {**more.pop("large"), "R": row_bytes}
    return Rules(
        symbols={**more.pop("symbols"), **sizes},
        attributes={"format": format_, **attributes},
        values={"packed": packed, "weight": packed},
        large=large,
        full=("R",),
        **more,
    )


def gguf_bytes(rng: np.random.Generator, shape: Shape, format: int) -> Any:
    """Random codes, with scales and minima of a weight's size."""
    size = GGUF_BLOCKS[format][1]
    blocks = rng.integers(0, 256, (*shape[:-1], shape[-1] // size, size), dtype=np.uint8)
    by = {2: 8, 3: 8, 6: 16, 7: 16, 8: 128, 12: 500, 13: 1000, 14: 2000}[format]
    factors = (rng.uniform(0.5, 2, (*blocks.shape[:-1], 2)) / by).astype(np.float16)
    factors *= rng.choice(np.array([-1, 1], np.float16), factors.shape)
    at = size - 2 if format == 14 else 0
    count = 4 if format in (3, 7, 12, 13) else 2
    blocks[..., at : at + count] = factors.view(np.uint8)[..., :count]
    return blocks.reshape(shape)


def codes(draw: Draw, shape: Shape) -> Any:
    return draw.integers(-127, 128, shape)


def scales(draw: Draw, shape: Shape) -> Any:
    return np.abs(draw.normal(shape, 0.01)) + 0.001


CASES: dict[str, Rules] = {
    "gptq_marlin_gemm": marlin_rules(bias=False),
    "awq_marlin_gemm": marlin_rules(bias=True),
    "awq_marlin_repack": Rules(
        attributes={"num_bits": (4, 8)},
        symbols={
            "K": (32, 64),
            "C": lambda draw: 16 * draw.choose((1, 2)),
            "R": lambda draw: draw["K"] // 16,
            "W": lambda draw: draw["C"] * 16,
        },
        values={"input": words},
        kinds=("usual",),
    ),
    "gptq_marlin_repack": Rules(
        symbols={
            "R": (2, 4),
            "N": (64, 128),
            "C": lambda draw: draw["R"] * draw.choose((2, 4)),
            "W": lambda draw: draw["N"] * draw["C"] // draw["R"],
            "P": lambda draw: draw["R"] * 16,
        },
        attributes={"num_bits": lambda draw: 2 * draw["C"] // draw["R"]},
        values={"input": words, "perm": distinct(lambda draw: draw["R"] * 16)},
        kinds=("usual",),
    ),
    "mxfp4_dequantize": Rules(
        symbols={"*B": ((), (3,), (2, 5)), "K": (32, 96)}, large={"*B": ((200,),), "K": (3200,)}
    ),
    "dequantize_gguf": gguf_rules(
        symbols={"*B": ((), (3,), (2, 5))}, large={"*B": ((70,),), "K": (1536, 3232)}
    ),
    "linear_gguf": gguf_rules(
        symbols={"*B": ((1,), (3,), (2, 5)), "N": (1, 6, 16, 33)},
        attributes={
            "quantize_input": (0, 1),
            "interleaved": lambda draw: int(draw["N"] % 8 == 0 and draw.choose((0, 1))),
        },
        large={"*B": ((40,),), "N": (151, 152), "K": (512, 608)},
        noise=64.0,
        tolerance=4.0,  # devices may round weights of many rows to the result's type
        kinds=("usual", "empty", "large"),
    ),
    "dequantize_awq": Rules(
        symbols={"K": (8, 32), "N": (8, 40), "G": (1, 2, 4)},
        values={"qweight": words, "zeros": words},
        large={"K": (512,), "N": (1000,), "G": (4,)},
        kinds=("usual", "large"),
    ),
    "dequantize_gptq": Rules(
        symbols={"K": (8, 32), "N": (8, 40), "G": (1, 2, 4)},
        values={"qweight": words, "zeros": words, "g_idx": below("G", -1, 1)},
        large={"K": (512,), "N": (1000,), "G": (4,)},
        kinds=("usual", "large"),
    ),
    "per_channel_quant_int8": Rules(large={"M": (60,), "K": (5000,)}),
    "per_tensor_quant_int8": Rules(
        absent=({"x_zero"},),
        scalars={"is_static": (0, 1)},
        values={"x_scale": one_of(0.0, 0.01, 0.05)},
        large={},
    ),
    "per_tensor_dequant_int8": Rules(absent=({"x_zero"},), large={}),
    "int8_gemm": Rules(
        symbols={"M": (1, 5, 17), "N": (1, 6, 33), "K": (1, 7, 64)},
        values={"x": codes, "weights": codes, "x_scale": scales, "weights_scale": scales},
        large={"M": (130,), "N": (150,), "K": (200,)},
    ),
    "linear_mxfp4": Rules(
        symbols={"*B": ((1,), (3,), (2, 5)), "N": (1, 6, 33), "K": (32, 96)},
        values={"weight_scale": lambda draw, shape: draw.integers(122, 127, shape)},
        noise=64.0,
        kinds=("usual", "large"),
        large={"*B": ((40,),), "N": (150,), "K": (256,)},
    ),
}
