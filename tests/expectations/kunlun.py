"""Kunlun. Streams, events and memory are XRE's; pools, captures and graphs the core's."""

from expectations import own_runtime
from expectations.own_runtime import EXPECTED_FAILURES, TAGS

EXCLUDED = {
    **own_runtime.EXCLUDED,
    "[gemm-BF16": "XPU BLAS takes F16 and F32 only",
}

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
