"""Huawei Ascend. Streams, events and memory are CANN's; pools, captures and graphs the core's."""

from expectations.own_runtime import EXPECTED_FAILURES, TAGS, excluded

EXCLUDED = excluded(
    *("rearrange", "embedding", "rope", "causal_softmax", "sort", "topk"),
    *("flash_attention", "attention"),
)

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
