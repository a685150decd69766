// Parameters of the sparse attention kernels; for host and device. Strides are in elements.
#pragma once

#include "divide.h"

namespace infini {

struct SparseMlaParams {
    void *out;
    const void *q;
    const uint8_t *cache;
    const int32_t *indices, *lengths;
    int64_t out_token, out_head, q_token, q_head;
    int64_t entry;  // bytes from one entry to the next
    int64_t index_token, index_stride, length_stride;
    int64_t entries;
    int32_t heads, most, parts;  // maximum number of indices of a token; blocks for a token's heads
    float scale;                 // includes the factor log2(e)
    int32_t vector;              // 1: entries begin at multiples of 16 bytes
};

struct IndexerLogitsParams {
    float *logits;
    const uint8_t *q, *cache;
    const int32_t *tables;
    const float *weights;
    const int64_t *positions;
    const int32_t *requests;
    int64_t context, pages, most_pages;
    int32_t tokens, heads, request_count;
    int32_t blocks, pages_at_once;  // blocks per token, and pages of 64 keys for each
    int32_t vector;
};

struct IndexerParams {
    uint8_t *q_out;
    float *weights_out;
    uint8_t *cache;
    const void *q, *k_weights, *norm_weight, *norm_bias, *angles;
    const int64_t *positions, *slots;
    int64_t pages, page_size, rows;  // of the cache; rows of the angles' table
    int32_t tokens, heads, rope;
    double eps, weights_scale;
};

struct NsaParams {
    void *out;
    const void *q, *k_mean, *v_mean, *k, *v, *tables, *lengths, *gates;
    float *scores;  // [sequences, query heads, most_means]
    int64_t out_stride[2], q_stride[2], k_mean_stride[2], v_mean_stride[2];
    int64_t k_stride[3], v_stride[3], table_stride[2], length_stride, gate_stride[3];
    int64_t pages;
    int64_t most_means;
    Divider page_size, per_page, block;  // means per page; tokens per block
    int32_t heads, group, most_keys, window, selected;
    float scale;     // includes the factor log2(e)
    int32_t vector;  // 1: keys and means can be read 16 bytes at a time
};

}  // namespace infini
