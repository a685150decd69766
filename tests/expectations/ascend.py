"""Huawei Ascend. Streams, events and memory are CANN's; pools, captures and graphs the core's."""

from expectations.own_runtime import EXPECTED_FAILURES, TAGS, excluded

EXCLUDED = excluded(
    *("rearrange", "embedding", "rope", "causal_softmax", "sort", "topk"),
    *("flash_attention", "attention", "paged_attention", "paged_attention_prefill"),
    *("paged_attention_varlen", "paged_caching", "kv_caching", "argmax", "argmin", "cumsum"),
    *("index_select", "gather", "take", "int8_gemm", "per_tensor_dequant_int8"),
)

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
