// The loop of flash attention with mma.sync: a block has 16 kM rows of one key head per warp and
// iterates over tiles of kKeys keys. The next keys and values are copied (cp.async) while the
// current ones are used.
//
// Requires the definitions for tile.cuh; kM, kWarps and kKeys; and of the including file: kStep,
// kSkipHidden, attend() for kStep keys, and where results are in registers
// (result_column, kColumnStep).
#pragma once

#include "tile.cuh"

namespace infini {

inline constexpr int kThreads = kWarps * 32;
inline constexpr int kWarpRows = 16 * kM, kRows = kWarps * kWarpRows;
inline constexpr int kStageElements = kKeys * (kPitch + kValuePitch);

// Pages of the keys of four tiles: the current one, the next two, and the previous one.
struct Pages {
    int page[4][kKeys];  // -1: no page
    uint32_t known[4][(kKeys + 31) / 32];
};

struct Copier {
    const AttentionParams &p;
    const Sequence &s;
    T *stages;
    Pages &pages;
    int start, end;  // range of keys

    // Looks up the pages of a tile; visible after the next barrier.
    INFINI_DEVICE void find_pages(int tile) const {
        if constexpr (kPaged) {
            if (threadIdx.x >= (kKeys + 31) / 32 * 32) return;
            const int t = tile * kKeys + int(threadIdx.x);
            int64_t page = -1;
            if (t < end && t >= start && threadIdx.x < kKeys)
                page = int64_t(s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
            const bool known = page >= 0 && page < p.pages;
            if (threadIdx.x < kKeys) pages.page[tile % 4][threadIdx.x] = known ? int(page) : -1;
            const uint32_t bits = __ballot_sync(kAllLanes, known || threadIdx.x >= kKeys);
            if (lane() == 0) pages.known[tile % 4][warp()] = bits;
        }
    }

    INFINI_DEVICE void begin(int tile) const {
        T *keys = stages + tile % 2 * kStageElements, *values = keys + kKeys * kPitch;
        copy_rows<kDepth, kPitch>(keys, tile, s.k, p.k_stride, p.depth);
        copy_rows<kValue, kValuePitch>(values, tile, s.v, p.v_stride, p.value_depth);
    }

    template <int columns, int pitch>
    INFINI_DEVICE void copy_rows(T *to, int tile, const T *from, const AttentionStrides &stride,
                                 int size) const {
        const int first = tile * kKeys;
        auto target = [&](int row, int piece) { return to + row * pitch + piece * kPiece; };
        if constexpr (!kPaged && kCanStep<columns, kKeys, kThreads>)
            if (p.vector)
                return copy_run<columns, kKeys, kThreads>(int(threadIdx.x),
                                                          from + first * stride.token, stride.token,
                                                          end - first, size, target);
        auto find = [&](int row) -> const T * {
            const int t = first + row;
            if constexpr (!kPaged) return t < end ? from + t * stride.token : nullptr;
            const int page = pages.page[tile % 4][row];
            return page < 0 ? nullptr
                            : from + page * stride.batch +
                                  int64_t(p.page_size.split(uint32_t(t)).remainder) * stride.token;
        };
        copy_each<columns, kKeys, kThreads>(int(threadIdx.x), size, stride.inner, p.vector, find,
                                            target);
    }
};

// The whole kernel.
INFINI_DEVICE void attend_rows(const AttentionParams &p) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Pages pages;
    // Rows that see the most keys are scheduled first; blocks of one head are adjacent and share
    // its keys in L2.
    const unsigned item = blockIdx.x / unsigned(p.splits), column = item / unsigned(p.tiles);
    const int split = int(blockIdx.x - item * unsigned(p.splits));
    int tile = p.tiles - 1 - int(item - column * unsigned(p.tiles));
    int index = int(column / unsigned(p.heads));
    const int head = int(column) - index * p.heads;
    if constexpr (kRagged) {
        const int32_t *tiles = p.segments + p.sequences + 3;
        if (tile >= tiles[p.sequences + 2]) return;
        index = find_segment(tiles + 1, p.sequences + 2, tile);
        tile -= tiles[index];
    }
    const Sequence s = find_sequence(p, index, head);
    const int first_row = tile * kRows, row_count = s.queries * int(p.group.divisor);
    const int last_row = first_row + kRows < row_count ? first_row + kRows - 1 : row_count - 1;
    const int seen = key_limit(s, int(p.group.divide(uint32_t(last_row))));
    const int from = key_begin(p, s, int(p.group.divide(uint32_t(first_row))));
    // The tiles of keys are divided among the splits.
    const int key_tiles = (seen + kKeys - 1) / kKeys, base = from / kKeys;
    const int share = (key_tiles - base + p.splits - 1) / p.splits;
    const int begin = key_tiles < base + split * share ? key_tiles : base + split * share;
    const int end = key_tiles < begin + share ? key_tiles : begin + share;

    T *query_tile = reinterpret_cast<T *>(memory);
    T *stages = query_tile + kRows * kPitch;
    const Copier copier = {p, s, stages, pages, from, seen};
    load_queries<kRows, kThreads>(p, s, head, first_row, query_tile);
    copier.find_pages(begin);
    if constexpr (kPaged) __syncthreads();

    const T *my_queries = query_tile + warp() * kWarpRows * kPitch;
    const int my_row = first_row + warp() * kWarpRows;
    const float scale = folded_scale(p);
    RowPair rows[kM];
    float results[kM][kValue / 8][4] = {};
#pragma unroll
    for (int m = 0; m < kM; ++m) rows[m].find(p, s, head, my_row + 16 * m);
    // Keys before this are seen by all rows of the warp.
    const int all_seen = key_limit(s, int(p.group.divide(uint32_t(my_row))));
    // Keys from this one on are within the window of every row.
    const int my_last = my_row + kWarpRows - 1 < last_row ? my_row + kWarpRows - 1 : last_row;
    const int all_from = key_begin(p, s, int(p.group.divide(uint32_t(my_last))));
    // Keys from this one on are seen by no row of the warp, which may have no rows.
    const int my_end =
        my_row < row_count ? key_limit(s, int(p.group.divide(uint32_t(my_last)))) : 0;

    // The first iteration only starts copies, so that the copying code is compiled once.
    for (int at = begin - 1; at < end; ++at) {
        if (at >= begin) {
            wait_for_copies<0>();
            __syncthreads();  // this tile has arrived, and the previous one has been read
        }
        copier.find_pages(at + 2);
        if (at + 1 < end) copier.begin(at + 1);
        commit_copies();
        if (at < begin) continue;
        const T *keys = stages + at % 2 * kStageElements, *values = keys + kKeys * kPitch;
#pragma unroll 1
        for (int part = 0; part < kKeys / kStep; ++part) {
            const int first = at * kKeys + part * kStep;
            if constexpr (kSkipHidden)
                if (first >= my_end) continue;
            attend(p, rows, results, scale, first, first + kStep > all_seen || first < all_from,
                   kPaged ? pages.known[at % 4][part] : 0xffffffffu, my_queries,
                   keys + part * kStep * kPitch, values + part * kStep * kValuePitch);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    // Each warp passes its results through shared memory, so that whole rows are stored
    // (coalesced).
    static_assert(kRows * (kValue + 2) * 4 <= 2 * kStageElements * int(sizeof(T)));
    float *mine = reinterpret_cast<float *>(stages) + warp() * kWarpRows * (kValue + 2);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        finish_rows(rows[m], scale);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float *row = mine + (16 * m + lane() / 4 + 8 * i) * (kValue + 2);
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n) {
                float *pair = row + result_column(n);
                pair[0] = results[m][n][2 * i], pair[kColumnStep] = results[m][n][2 * i + 1];
            }
            if (lane() % 4 == 0)
                store(row + kValue, Vec<float, 2>{rows[m].greatest[i], rows[m].sum[i]});
        }
    }
    __syncwarp();
    const int64_t unit = (int64_t(index) * p.heads + head) * p.rows;
    const int64_t units = int64_t(p.sequences) * p.heads * p.rows;
#pragma unroll 1
    for (int i = 0; i < kWarpRows && my_row + i < row_count; ++i) {
        const float *row = mine + i * (kValue + 2), sum = row[kValue + 1];
        if (p.splits > 1) {
            const int partial = (p.value_depth + 3) / 4 * 4 + 4;
            float *to = p.partials + (split * units + unit + my_row + i) * partial;
            for (int e = lane(); e < p.value_depth; e += 32) to[e] = row[e];
            if (lane() == 0) to[partial - 4] = row[kValue], to[partial - 3] = sum;
            continue;
        }
        const float inverse = sum == 0 ? 0.0f : 1 / sum;
        T *to = result_row(p, s, head, my_row + i);
        if (p.store_vector) {
            for (int e = 2 * lane(); e < p.value_depth; e += 64) {
                const float pair[2] = {row[e] * inverse, row[e + 1] * inverse};
                store(to + e, narrow<T>(pair));
            }
        } else {
            for (int e = lane(); e < p.value_depth; e += 32)
                to[e * p.out_stride.inner] = convert<T>(row[e] * inverse);
        }
    }
}

}  // namespace infini
