// Parameters of the attention kernels; for host and device. Strides are in elements.
#pragma once

#include "tensor_map.h"

namespace infini {

struct AttentionStrides {
    int64_t batch, token, head, inner;  // for paged keys and values, `batch` is a page
};

// Rows are queries of one head. The rows of all query heads that share a key head (GQA) are
// adjacent: row r of a sequence is query r / group of head r % group.
struct AttentionParams {
    const void *q, *k, *v;
    void *out;
    const void *table;        // pages of the sequences, where keys are paged
    const void *lengths;      // keys of the sequences; null: `keys` for all
    const int32_t *segments;  // of ragged queries, from segments.cuh
    const float *slopes;
    float *partials;  // split-KV: [splits][sequences][heads][rows] of values, running maximum, sum
    AttentionStrides q_stride, out_stride, k_stride, v_stride;
    int64_t table_batch, table_stride, length_stride, slope_stride;
    int64_t pages;
    Divider page_size, group;
    int32_t sequences, heads;    // key heads
    int32_t queries, keys;       // of a sequence at most
    int32_t depth, value_depth;  // of keys and queries; of values and results
    int32_t splits, rows;        // rows of a sequence at most
    int32_t tiles;               // of rows: of a sequence, or of all ragged queries
    int32_t chunk;               // sequences and heads whose keys fit into L2
    float scale;                 // with log2(e) in it
    float cap, cap_inverse;      // soft cap of scores, times log2(e)
    int32_t window;              // maximum number of keys visible to a query
    int32_t vector;              // 1: rows can be read 16 bytes at a time
    int32_t store_vector;        // 1: and written
};

// For wgmma: tensor maps of what TMA copies. Rows of keys and values are [size, page or sequence's
// tokens, head, page or sequence], those of queries [size, head, token, sequence].
struct AttentionSm90Params : AttentionParams {
    TensorMap q_map, k_map, v_map;
    int32_t bulk, bulk_queries;  // 1: keys and values; queries
    int32_t box_rows;            // of pages
    int32_t turns;               // 1: blocks take work in alternating order
    // Work is `items` times 128 rows: of chunks of units (sequences and heads), the last of which
    // may be smaller.
    int32_t items, chunks;
    Divider chunk_items, chunk_units, last_units, unit_heads;
};

// Cuts ragged queries into segments: tokens before the first sequence, those of each sequence, and
// those behind the last.
struct SegmentParams {
    const void *bounds;
    int32_t *segments;  // [sequences + 3] first tokens, as many first tiles, a 0: work taken
    int64_t stride;
    int32_t sequences, tokens, group, tile_rows;
};

struct CombineSplitsParams {
    const float *partials;
    void *out;
    AttentionStrides out_stride;
    int64_t units;  // sequences * heads * rows
    Divider group, rows, heads;
    int32_t splits, value_depth;
};

// Stores new rows in a cache of keys and one of values.
struct StoreRowsParams {
    const void *from[2];
    void *to[2];
    int64_t from_head[2], from_row[2], to_head[2], to_row[2];
    int64_t count;  // of pieces of both
    Divider pieces, rows, heads;
};

}  // namespace infini
