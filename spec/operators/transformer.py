"""The operators of language models: level 4 of `infini conformance`."""

TRANSFORMER = {
    *("add", "sub", "mul", "div", "exp", "cast", "where", "sigmoid", "tanh", "relu", "silu"),
    *("gelu", "gelutanh", "quickgelu", "swiglu", "silu_and_mul", "clip", "fill", "zeros"),
    *("rms_norm", "add_rms_norm", "layer_norm", "softmax", "causal_softmax", "log_softmax"),
    *("gemm", "int8_gemm", "per_channel_quant_int8", "per_tensor_quant_int8", "linear_mxfp4"),
    *("per_tensor_dequant_int8", "dequantize_awq", "dequantize_gptq", "mxfp4_dequantize"),
    *("rope", "attention", "flash_attention", "paged_attention", "paged_attention_prefill"),
    "paged_attention_varlen",
    *("kv_caching", "paged_caching", "embedding", "index_select", "gather", "take"),
    *("sort", "topk", "argmax", "sum", "mean", "amax", "cumsum", "rearrange", "broadcast_to"),
    *("topksoftmax", "topkrouter", "random_sample"),
}
