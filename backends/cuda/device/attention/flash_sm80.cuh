// Flash attention for prefill with mma.sync: a block has 64 kM rows of one key head and iterates
// over tiles of 64 keys; each warp has 16 kM rows. The next keys and values are copied (cp.async)
// while the current ones are used.
//
// FLOPs: 4 * depth for each row and visible key (half of the keys if causal). Bytes: keys and
// values once for each block of rows, mostly from L2, because neighbouring blocks read the same
// ones. With bf16 and sizes of 128, 128 rows (kM 2) and two stages of 64 keys use 102 KiB; 2 blocks
// of 4 warps fit on a multiprocessor of Hopper.
//
// Requires the definitions for tile.cuh and kM.
#include "tile.cuh"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kThreads = kWarps * 32;
inline constexpr int kKeys = 64, kStep = 32;  // keys per tile, and per step
inline constexpr int kWarpRows = 16 * kM, kRows = kWarps * kWarpRows;
inline constexpr int kStageElements = kKeys * (kPitch + kValuePitch);

// Pages of the keys of four tiles: the current one, the next two, and the previous one.
struct Pages {
    int page[4][kKeys];  // -1: no page
    uint32_t known[4][kKeys / 32];
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
            if (threadIdx.x >= kKeys) return;
            const int t = tile * kKeys + int(threadIdx.x);
            int64_t page = -1;
            if (t < end && t >= start)
                page = int64_t(s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
            const bool known = page >= 0 && page < p.pages;
            pages.page[tile % 4][threadIdx.x] = known ? int(page) : -1;
            const uint32_t bits = __ballot_sync(kAllLanes, known);
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

// Processes kStep keys for the rows of a warp.
INFINI_DEVICE void attend(const AttentionParams &p, RowPair (&rows)[kM],
                          float (&results)[kM][kValue / 8][4], float scale, int first, bool masked,
                          uint32_t known, const T *queries, const T *keys, const T *values) {
    float scores[kM][kStep / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
        uint32_t a[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m)
            load_matrices<4>(a[m], query_matrix(queries + 16 * m * kPitch, 16 * k));
#pragma unroll
        for (int n = 0; n < kStep / 16; ++n) {
            uint32_t b[4];
            load_matrices<4>(b, key_matrix(keys + 16 * n * kPitch, 16 * k));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(scores[m][2 * n], a[m], low);
                mma<T>(scores[m][2 * n + 1], a[m], high);
            }
        }
    }
    const uint32_t bits[1] = {known};
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        float factor[2];
        if constexpr (kScaled) scale_scores<kStep / 8>(scores[m], rows[m], p, first);
        if (masked || known != 0xffffffffu)
            mask_scores<kStep / 8, !kPaged>(scores[m], rows[m], first, p.window, bits);
        take_scores<kStep / 8>(scores[m], rows[m], scale, factor);
        if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
            scale_results<kValue / 8>(results[m], factor);
    }
#pragma unroll
    for (int k = 0; k < kStep / 16; ++k) {
        uint32_t a[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m) pack_weights(a[m], scores[m][2 * k], scores[m][2 * k + 1]);
#pragma unroll
        for (int n = 0; n < kValue / 16; ++n) {
            uint32_t b[4];
            load_matrices<4, true>(b, value_matrix(values + 16 * k * kValuePitch, 16 * n));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(results[m][2 * n], a[m], low);
                mma<T>(results[m][2 * n + 1], a[m], high);
            }
        }
    }
}

INFINI_ENTRY(AttentionParams, kThreads, kM *(kDepth + kValue) <= 512 ? 2 : 1) {
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
            attend(p, rows, results, scale, first, first + kStep > all_seen || first < all_from,
                   kPaged ? pages.known[at % 4][part] : 0xffffffffu, my_queries,
                   keys + part * kStep * kPitch, values + part * kStep * kValuePitch);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    // Each warp passes its results through shared memory, so that whole rows are stored
    // (coalesced).
    static_assert(kRows * (kValue + 2) * 4 <= 2 * kStageElements * 2);
    float *mine = reinterpret_cast<float *>(stages) + warp() * kWarpRows * (kValue + 2);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        finish_rows(rows[m], scale);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float *row = mine + (16 * m + lane() / 4 + 8 * i) * (kValue + 2);
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n)
                store(row + 8 * n + 2 * (lane() % 4),
                      Vec<float, 2>{results[m][n][2 * i], results[m][n][2 * i + 1]});
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
            for (int e = 2 * lane(); e < p.value_depth; e += 64)
                *reinterpret_cast<uint32_t *>(to + e) =
                    pack_pair<T>(row[e] * inverse, row[e + 1] * inverse);
        } else {
            for (int e = lane(); e < p.value_depth; e += 32)
                to[e * p.out_stride.inner] = convert<T>(row[e] * inverse);
        }
    }
}

}  // namespace infini
