"""Why rows miss a goal: patterns of titles ('group/name shape type') for each architecture, and the
reason. The first that fits is printed with the missed row."""

_EVERYWHERE = {
    "gemv/linear_mxfp4*": "unpacking 4-bit codes is arithmetic, not traffic",
    "gemm/gemm 8x8x8*": "the call through Python is most of it",
}
_UNKNOWN = {"*": "not looked into yet"}

NOTES: dict[str, dict[str, str]] = {
    "aarch64": {
        **_EVERYWHERE,
        "elementwise/gelu *": "erf takes 7 to 9 cycles an element",
        "elementwise/s*": "an exponential takes 3.5 to 4.2 cycles an element, not 2.6",
        "elementwise/tanh*": "as with the exponential: 6 to 7 cycles an element",
        "elementwise/gelutanh*": "as with the exponential: 6 to 7 cycles an element",
        "softmax/*": "the exponential, and three passes over a row",
        "gemv/*16": "widening 16-bit weights in registers takes longer than reading them",
        **_UNKNOWN,
    },
    "x86_64": {
        **_EVERYWHERE,
        "elementwise/add 128x4096*": "16 threads are called for 2 MiB that lie in the caches",
        **_UNKNOWN,
    },
}
