// Flash decoding on the tensor cores: few rows of one key head and a range of its keys (split-KV).
// The kernel is bound by the bytes of keys and values (1 FLOP per byte with a group of 1), so it is
// a pipeline of copies (cp.async) with little arithmetic.
//
// Each warp processes every fourth tile of 16 keys. It has its own ring of kStages tiles in shared
// memory, online softmax and results. Warps do not wait for each other until the results are
// combined at the end. With bf16 and sizes of 128, 16 keys are 8.5 KiB, and a block of 4 warps and
// 3 stages uses 102 KiB. Two blocks fit on a multiprocessor of Hopper and have 136 KiB in flight.
//
// Requires the definitions for tile.cuh, kM (at most 16 kM rows) and kStages.
#include "tile.cuh"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kTile = 16;  // keys per tile
inline constexpr int kStageElements = kTile * (kPitch + kValuePitch);
inline constexpr int kRows = 16 * kM;
// Queries stay in registers if there is room.
inline constexpr bool kKeepQueries = kM * kDepth <= 128;
static_assert(kStages <= 4);
static_assert(kRows * kValue * 2 <= kStages * kStageElements);  // results overwrite the keys

struct Copier {
    const AttentionParams &p;
    const Sequence &s;
    T *stages;       // of this warp
    int start, end;  // range of keys

    // The page of key first + lane, or -1 if there is none. Without pages all keys are in one.
    INFINI_DEVICE int find_page(int first) const {
        const int t = first + lane();
        if (t >= end || (kWindow && t < start)) return -1;
        if constexpr (!kPaged) return 0;
        if (lane() >= kTile) return -1;
        const int64_t page = int64_t(s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
        return page >= 0 && page < p.pages ? int(page) : -1;
    }

    // Starts the copies of the keys from `first` on; lane i holds the page of key i.
    INFINI_DEVICE void begin(int stage, int first, int page) const {
        T *keys = stages + stage * kStageElements, *values = keys + kTile * kPitch;
        // Tiles begin at multiples of 16, so most are within one page.
        if constexpr (kCanStep<kDepth, kTile, 32> && kCanStep<kValue, kTile, 32>) {
            if (p.vector && (!kPaged || p.page_size.divisor % kTile == 0)) {
                const int one = shuffle(page, 0), count = one < 0 ? 0 : end - first;
                copy_run<kDepth, kTile, 32>(
                    lane(), s.k + place(p.k_stride, first, one), p.k_stride.token, count, p.depth,
                    [&](int row, int piece) { return keys + row * kPitch + piece * kPiece; });
                copy_run<kValue, kTile, 32>(lane(), s.v + place(p.v_stride, first, one),
                                            p.v_stride.token, count, p.value_depth,
                                            [&](int row, int piece) {
                                                return values + row * kValuePitch + piece * kPiece;
                                            });
                return;
            }
        }
        // All lanes continue, because they exchange pages by shuffles.
        constexpr int kPieces = (kDepth < kValue ? kValue : kDepth) / kPiece;
#pragma unroll 1
        for (int i = lane(); i < (2 * kTile * kPieces + 31) / 32 * 32; i += 32) {
            const bool of_values = i >= kTile * kPieces;
            const int row = i / kPieces % kTile, column = i % kPieces * kPiece;
            const int row_page = shuffle(page, row);
            if (i >= 2 * kTile * kPieces || column >= (of_values ? kValue : kDepth)) continue;
            const AttentionStrides &stride = of_values ? p.v_stride : p.k_stride;
            const T *from = (of_values ? s.v : s.k) + place(stride, first + row, row_page);
            T *to = (of_values ? values + row * kValuePitch : keys + row * kPitch) + column;
            const int size = of_values ? p.value_depth : p.depth;
            if (p.vector)
                copy_async(to, from + column, row_page >= 0 && column < size ? 16 : 0);
            else
                load_elements(to, from, column, size, stride.inner, row_page >= 0);
        }
    }
    // Offset of key t.
    INFINI_DEVICE int64_t place(const AttentionStrides &stride, int t, int page) const {
        if constexpr (!kPaged) return t * stride.token;
        return page * stride.batch +
               int64_t(p.page_size.split(uint32_t(t)).remainder) * stride.token;
    }
};

INFINI_ENTRY(AttentionParams, kWarps * 32, kDepth + kValue <= 256 ? 2 : 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED float greatests[kWarps][kRows], sums[kWarps][kRows];
    const unsigned unit_number = blockIdx.x / unsigned(p.splits);
    const int split = int(blockIdx.x - unit_number * unsigned(p.splits));
    const int index = int(unit_number / unsigned(p.heads));
    const int head = int(unit_number) - index * p.heads;
    const Sequence s = find_sequence(p, index, head);

    // The range of keys ends at the last key that the last row sees, and begins at the first key
    // that any row sees.
    const int seen = key_limit(s, s.queries - 1), from = key_begin(p, s, 0);
    constexpr int kStep = kWarps * kTile;
    const int base = from / kStep * kStep;
    int share = (seen - base + p.splits - 1) / p.splits;
    share = (share + kStep - 1) / kStep * kStep;
    const int begin = seen < base + split * share ? seen : base + split * share;
    const int end = seen < begin + share ? seen : begin + share;
    // Keys before the window are only read if they share a tile and a page with a key in it.
    const int start = p.page_size.divisor % kTile == 0 ? from / kTile * kTile : from;

    T *stages = reinterpret_cast<T *>(memory) + warp() * kStages * kStageElements;
    const Copier copier = {p, s, stages, start, end};
    T *query_tile = reinterpret_cast<T *>(memory) + kWarps * kStages * kStageElements;
    load_queries<kRows, kWarps * 32>(p, s, head, 0, query_tile);
    commit_copies();

    const float scale = folded_scale(p);
    RowPair rows[kM];
    float results[kM][kValue / 8][4] = {};
    uint32_t queries[kM][kDepth / 16][4] = {};
    int ahead = begin + warp() * kTile;  // first key of the next tile to copy
    int page = copier.find_page(ahead);  // looked up long before it is needed
    uint64_t known = 0;                  // 16 bits per stage, the next tile's in the low bits
    // The first iterations only start copies, so that the copying code is compiled once.
    for (int turn = 1 - kStages, stage = 1;; ++turn, ahead += kStep) {
        if (turn == 0) {
            wait_for_copies<kStages - 1>();
            __syncthreads();
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                rows[m].find(p, s, head, 16 * m);
                if constexpr (kKeepQueries)
#pragma unroll
                    for (int k = 0; k < kDepth / 16; ++k)
                        load_matrices<4>(queries[m][k],
                                         query_matrix(query_tile + 16 * m * kPitch, 16 * k));
            }
        }
        const int first = ahead - (kStages - 1) * kStep;  // first key of the current tile
        if (turn >= 0) {
            if (first >= end) break;
            wait_for_copies<kStages - 2>();
            __syncwarp();  // all lanes' copies have arrived, and the previous stage has been read
        }
        if constexpr (kPaged)
            known = known >> 16 | uint64_t(__ballot_sync(kAllLanes, page >= 0) & 0xffff)
                                      << 16 * (kStages - 1);
        if (ahead < end) copier.begin(stage == 0 ? kStages - 1 : stage - 1, ahead, page);
        commit_copies();
        page = copier.find_page(ahead + kStep);
        const T *keys = stages + stage * kStageElements, *values = keys + kTile * kPitch;
        stage = stage + 1 < kStages ? stage + 1 : 0;
        if (turn < 0) continue;
        float scores[kM][2][4] = {};
#pragma unroll
        for (int k = 0; k < kDepth / 16; ++k) {
            uint32_t b[4];
            load_matrices<4>(b, key_matrix(keys, 16 * k));
            if constexpr (!kKeepQueries)
#pragma unroll
                for (int m = 0; m < kM; ++m)
                    load_matrices<4>(queries[m][k],
                                     query_matrix(query_tile + 16 * m * kPitch, 16 * k));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(scores[m][0], queries[m][k], low);
                mma<T>(scores[m][1], queries[m][k], high);
            }
        }
        uint32_t weights[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m) {
            float factor[2];
            const uint32_t bits[1] = {uint32_t(known)};
            if constexpr (kScaled) scale_scores<2>(scores[m], rows[m], p, first);
            mask_scores<2, !kPaged>(scores[m], rows[m], first, p.window, bits);
            take_scores<2>(scores[m], rows[m], scale, factor);
            // The running maximum rarely changes after the first tiles.
            if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
                scale_results<kValue / 8>(results[m], factor);
            pack_weights(weights[m], scores[m][0], scores[m][1]);
        }
#pragma unroll
        for (int n = 0; n < kValue / 16; ++n) {
            uint32_t b[4];
            load_matrices<4, true>(b, value_matrix(values, 16 * n));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(results[m][2 * n], weights[m], low);
                mma<T>(results[m][2 * n + 1], weights[m], high);
            }
        }
    }

    // Each warp stores its results in the memory of its keys.
    wait_for_copies<0>();
    __syncwarp();
    float *mine = reinterpret_cast<float *>(stages);
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        finish_rows(rows[m], scale);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = 16 * m + lane() / 4 + 8 * i;
            if (lane() % 4 == 0)
                greatests[warp()][row] = rows[m].greatest[i], sums[warp()][row] = rows[m].sum[i];
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n)
                store(mine + row * kValue + 8 * n + 2 * (lane() % 4),
                      Vec<float, 2>{results[m][n][2 * i], results[m][n][2 * i + 1]});
        }
    }
    __syncthreads();
    const int64_t unit = (int64_t(index) * p.heads + head) * p.rows;
    const int64_t units = int64_t(p.sequences) * p.heads * p.rows;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
    for (int row = warp(); row < p.rows; row += kWarps) {
        float greatest = kNone, sum = 0, factor[kWarps];
#pragma unroll
        for (int i = 0; i < kWarps; ++i) greatest = fmaxf(greatest, greatests[i][row]);
        const float base = greatest == kNone ? 0.0f : greatest;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) {
            factor[i] = ptx::exp2_approx(greatests[i][row] - base);
            sum += sums[i][row] * factor[i];
        }
        const float *from = reinterpret_cast<const float *>(memory) + row * kValue;
        constexpr int kNext = kStages * kStageElements / 2;  // floats per warp
        float *part = p.partials + (split * units + unit + row) * partial;
        T *to = result_row(p, s, head, row);
        const float inverse = sum == 0 ? 0.0f : 1 / sum;
        for (int e = lane(); e < p.value_depth; e += 32) {
            float value = 0;
#pragma unroll
            for (int i = 0; i < kWarps; ++i) value += from[i * kNext + e] * factor[i];
            if (p.splits > 1)
                part[e] = value;
            else
                to[e * p.out_stride.inner] = convert<T>(value * inverse);
        }
        if (p.splits > 1 && lane() == 0) part[partial - 4] = greatest, part[partial - 3] = sum;
    }
}

}  // namespace infini
