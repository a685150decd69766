"""Why rows of benchmarks/operators.py are slower than torch: patterns of titles ('group/name shape
type') and the reason. The first that fits is printed next to the row.

Only what the code or a measurement shows belongs here. A row without a known reason has none.
"""

NOTES: dict[str, str] = {
    "gemv/linear_mxfp4*": "torch gets weights that were expanded before; we unpack 4-bit codes",
    "gemv/int8_gemm*": "torch gets activations that were dequantized before",
}
