// Tokens that are written to slots of a cache. Of tokens for one slot the last one stays.
#pragma once

#include "places.h"

namespace infini {

struct SlotsParams {
    const int64_t *slots;  // of the tokens
    int64_t stride, tokens;
    int64_t count;  // slots of the cache
    int32_t *last;  // the last token of each slot; null: later tokens are searched
};

struct PagedCacheParams {
    SlotsParams slots;
    void *cache[2];  // keys and values; strides in bytes
    const void *from[2];
    int64_t page[2], row[2], cache_head[2];
    int64_t token[2], head[2];
    Divider words[2];  // of a head
    int32_t count[2];  // words of a token
    int64_t page_size;
    int32_t whole;
};

struct LatentCacheParams {
    SlotsParams slots;
    uint8_t *cache;
    void *plain;  // a second cache, of BF16; or null
    const void *latent, *weight, *rope;
    int64_t latent_stride, rope_stride;
    double eps;
};

// Appends rows to caches [B, H, M, D]; strides in bytes.
struct AppendParams {
    void *cache[2];
    const void *from[2];
    const void *past;
    Places<4> words[2];  // in the cache (at row 0) and what is appended; the row; the past length
    int64_t row[2];      // from one row of the cache to the next
    int64_t rows;        // of the caches
    int32_t whole;
};

// Means of blocks of a paged cache: [2] for keys and values. Strides in elements.
struct CompressParams {
    void *mean[2];
    const void *cache[2], *tables, *lengths;
    int32_t *last;  // the last entry (of all blocks of all sequences) that a mean is written by
    int64_t mean_row[2], mean_head[2], page[2], head[2], row[2];
    int64_t table_row, table_step, length_step;
    int64_t sequences, table_size, pages, page_size, block;
    int64_t blocks;  // entries of a sequence
    int32_t heads, last_only, whole;
};

}  // namespace infini
