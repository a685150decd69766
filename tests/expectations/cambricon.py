"""Cambricon. Streams, events and memory are Neuware's; pools, captures and graphs the core's."""

from expectations.own_runtime import EXPECTED_FAILURES, TAGS, excluded

EXCLUDED = excluded(
    *("rearrange", "embedding", "causal_softmax", "sort", "topk", "rope", "flash_attention"),
    *("paged_caching", "kv_caching"),
)

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
