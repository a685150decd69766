// Parameters of the attention kernels; for host and device. Strides are in elements.
#pragma once

#include "tensor_map.h"

namespace infini {

struct AttentionStrides {
    int64_t batch, token, head, inner;  // for paged keys and values, `batch` is a page
};

// Each row is a query of one head. The rows of all query heads that share a key head (GQA) are
// adjacent: row r of a sequence is query r / group of head r % group.
struct AttentionParams {
    const void *q, *k, *v;
    void *out;
    const void *table;        // page table of the sequences, if keys are paged
    const void *lengths;      // number of keys of each sequence; null: `keys` for all
    const int32_t *segments;  // for ragged queries, from segments.cuh
    const float *slopes;
    float *partials;  // split-KV: [splits][sequences][heads][rows], values, running maximum, sum
    AttentionStrides q_stride, out_stride, k_stride, v_stride;
    int64_t table_batch, table_stride, length_stride, slope_stride;
    int64_t pages;
    Divider page_size, group;
    int32_t sequences, heads;    // key heads
    int32_t queries, keys;       // maximum number for a sequence
    int32_t depth, value_depth;  // sizes of keys and queries; of values and results
    int32_t splits, rows;        // rows: maximum number for a sequence
    int32_t tiles;               // tiles of rows: of one sequence, or of all ragged queries
    int32_t chunk;               // number of (sequence, head) pairs whose keys fit into L2
    float scale;                 // includes the factor log2(e)
    float cap, cap_inverse;      // soft cap of scores, multiplied by log2(e)
    int32_t window;              // maximum number of keys visible to a query
    int32_t vector;              // 1: rows can be read 16 bytes at a time
    int32_t store_vector;        // 1: rows can be written 16 bytes at a time
};

// Parameters for wgmma kernels, with the tensor maps for TMA copies. Dimensions of keys and values
// are [size, token of the page or sequence, head, page or sequence], of queries [size, head, token,
// sequence].
struct AttentionSm90Params : AttentionParams {
    TensorMap q_map, k_map, v_map;
    int32_t bulk, bulk_queries;  // 1: TMA copies keys and values; queries
    int32_t box_rows;            // rows of a page in one box
    int32_t turns;               // 1: blocks take work in alternating order
    // There are `items` * 128 rows of work, divided into chunks of units (sequences and heads). The
    // last chunk may be smaller.
    int32_t items, chunks;
    Divider chunk_items, chunk_units, last_units, unit_heads;
};

// Cuts ragged queries into segments: the tokens before the first sequence, those of each sequence,
// and those after the last one.
struct SegmentParams {
    const void *bounds;
    int32_t *segments;  // [sequences + 3] first tokens, as many first tiles, and a work counter (0)
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

// Stores new rows in a key cache and a value cache.
struct StoreRowsParams {
    const void *from[2];
    void *to[2];
    int64_t from_head[2], from_row[2], to_head[2], to_row[2];
    int64_t count;  // number of chunks, of keys and values together
    Divider pieces, rows, heads;
};

}  // namespace infini
