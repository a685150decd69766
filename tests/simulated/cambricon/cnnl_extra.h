/* Replaces the SDK's cnnl_extra.h, as cnnl.h here replaces its cnnl.h. */
#pragma once

typedef enum {
    CNNL_ATTN_MASK_NONE = 81,
    CNNL_ATTN_MASK_CAUSAL,
} cnnlAttentionMaskMode_t;
