"""Kunlun. Streams, events and memory are XRE's; pools, captures and graphs the core's."""

from expectations.own_runtime import EXPECTED_FAILURES, TAGS, excluded

EXCLUDED = {
    **excluded("rearrange", "paged_caching", "kv_caching"),
    "[gemm-BF16": "XPU BLAS takes F16 and F32 only",
    **{
        f"[gemm-{dtype}-{layout}": "XPU BLAS takes matrices with packed rows or columns only"
        for dtype in ("F16", "F32")
        for layout in ("strided", "transposed", "stride-0", "mixed", "negative")
    },
}

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
