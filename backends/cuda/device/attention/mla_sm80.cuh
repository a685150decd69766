// MLA (multi-head latent attention: keys of 576 elements, of which the first 512 are the values)
// with mma.sync. A block processes few keys at a time; each of its 8 warps computes some columns of
// the results for all rows.
//
// For 32 keys: the warps compute partial scores and store them in shared memory; the threads of
// each row compute the probabilities; all warps multiply these by their columns of the values.
//
// Bytes: keys once for each 16 kM rows, and values unless they are part of the keys (kAlias).
// FLOPs: 2 * (depth + value_depth) for each row and key: 16 rows are memory bound, 64 are bound by
// both.
//
// Requires the definitions for tile.cuh, with kValue a multiple of 128; kM (16 kM rows), kStages,
// kAlias, kEntries: keys are entries of 512 e4m3, 4 F32 scales for groups of 128, and 64 BF16 (T is
// bf16).
#include "tile.cuh"

namespace infini {

inline constexpr int kWarps = 8, kThreads = kWarps * 32;
inline constexpr int kKeys = 32;
inline constexpr int kRows = 16 * kM;
inline constexpr int kParts = kWarps / (2 * kM);  // warps that share a sum over the depth
inline constexpr int kColumns = kValue / kWarps;  // columns per warp
inline constexpr int kEntryBytes = 656, kEntryPitch = 672;
inline constexpr int kTileElements = kKeys * kPitch + (kAlias ? 0 : kKeys * kValuePitch);
inline constexpr int kStageBytes = kEntries ? kKeys * kEntryPitch : 2 * kTileElements;
inline constexpr int kScorePitch = kKeys + 4, kWeightPitch = kKeys + kPiece;
inline constexpr int kSlots = 8;  // number of tiles whose pages are kept
static_assert(kM == 1 || kM == 2 || kM == 4);
static_assert(kColumns % 16 == 0 && kStages + 2 <= kSlots && (!kEntries || kAlias));

struct Shared {
    int page[kSlots][kKeys];  // -1: no page
    uint32_t known[kSlots];
    float greatest[kRows], sum[kRows], factor[kRows];
};

struct Copier {
    const AttentionParams &p;
    const Sequence &s;
    Shared &shared;
    unsigned char *stages;
    int end;  // end of the keys

    // Visible after the next barrier.
    INFINI_DEVICE void find_pages(int tile) const {
        if (warp() != 0) return;
        const int t = tile * kKeys + lane();
        int64_t page = -1;
        if (t < end) page = 0;
        if (kPaged && t < end)
            page = int64_t(s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
        const bool known = page >= 0 && (!kPaged || page < p.pages);
        shared.page[tile % kSlots][lane()] = known ? int(page) : -1;
        const uint32_t bits = __ballot_sync(kAllLanes, known);
        if (lane() == 0) shared.known[tile % kSlots] = bits;
    }

    INFINI_DEVICE void begin(int tile) const {
        unsigned char *stage = stages + tile % kStages * kStageBytes;
        if constexpr (kEntries) return copy_entries(stage, tile);
        T *keys = reinterpret_cast<T *>(stage);
        copy_rows<kDepth, kPitch>(keys, tile, s.k, p.k_stride, p.depth);
        if constexpr (!kAlias)
            copy_rows<kValue, kValuePitch>(keys + kKeys * kPitch, tile, s.v, p.v_stride,
                                           p.value_depth);
    }

    template <int columns, int pitch>
    INFINI_DEVICE void copy_rows(T *to, int tile, const T *from, const AttentionStrides &stride,
                                 int size) const {
        auto find = [&](int row) -> const T * {
            const int page = shared.page[tile % kSlots][row], t = tile * kKeys + row;
            if (page < 0) return nullptr;
            if constexpr (!kPaged) return from + t * stride.token;
            return from + page * stride.batch +
                   int64_t(p.page_size.split(uint32_t(t)).remainder) * stride.token;
        };
        copy_each<columns, kKeys, kThreads>(
            int(threadIdx.x), size, stride.inner, p.vector, find,
            [&](int row, int piece) { return to + row * pitch + piece * kPiece; });
    }

    // Copies entries unmodified; strides are in bytes.
    INFINI_DEVICE void copy_entries(unsigned char *to, int tile) const {
        constexpr int kPieces = kEntryBytes / 16;
        const unsigned char *from = reinterpret_cast<const unsigned char *>(s.k);
#pragma unroll 1
        for (int i = int(threadIdx.x); i < kKeys * kPieces; i += kThreads) {
            const int row = i / kPieces, at = i % kPieces * 16;
            const int page = shared.page[tile % kSlots][row];
            const unsigned char *source = page < 0 ? from : from + page * p.k_stride.batch + at;
            unsigned char *target = to + row * kEntryPitch + at;
            if (p.vector)
                copy_async(target, source, page < 0 ? 0 : 16);
            else
                for (int j = 0; j < 16; ++j) target[j] = page < 0 ? 0 : source[j];
        }
    }
};

// Decodes the entries of a stage to a tile of keys.
INFINI_DEVICE void decode_entries(T *to, const unsigned char *stage) {
    constexpr int kPieces = kDepth / 16, kLatentPieces = 512 / 16;
    for (int i = int(threadIdx.x); i < kKeys * kPieces; i += kThreads) {
        const int row = i / kPieces, piece = i % kPieces;
        const unsigned char *entry = stage + row * kEntryPitch;
        T *target = to + row * kPitch + piece * 16;
        if (piece >= kLatentPieces) {
            const T *rope = reinterpret_cast<const T *>(entry + 528) + (piece - kLatentPieces) * 16;
            store(target, load<kPiece>(rope));
            store(target + kPiece, load<kPiece>(rope + kPiece));
            continue;
        }
        const Vec<uint8_t, 16> codes = load<16>(entry + piece * 16);
        const float scale = *reinterpret_cast<const float *>(entry + 512 + piece / 8 * 4);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float values[kPiece];
#pragma unroll
            for (int j = 0; j < kPiece; ++j) values[j] = to_float(f8{codes[8 * half + j]}) * scale;
            store(target + kPiece * half, narrow<T>(values));
        }
    }
}

INFINI_ENTRY(AttentionParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    int64_t rest = blockIdx.x;
    const int split = int(rest % p.splits);
    rest /= p.splits;
    const int row_tiles = (p.rows + kRows - 1) / kRows;
    const int first_row = int(rest % row_tiles) * kRows;
    rest /= row_tiles;
    const int head = int(rest % p.heads), index = int(rest / p.heads);
    const Sequence s = find_sequence(p, index, head);
    const int last_row = first_row + kRows < p.rows ? first_row + kRows - 1 : p.rows - 1;
    const int seen = key_limit(s, int(p.group.divide(uint32_t(last_row))));
    const int tiles = (seen + kKeys - 1) / kKeys, share = (tiles + p.splits - 1) / p.splits;
    const int begin = tiles < split * share ? tiles : split * share;
    const int end = tiles < begin + share ? tiles : begin + share;

    T *query_tile = reinterpret_cast<T *>(memory);
    T *weights = query_tile + kRows * kPitch;
    float *scores = reinterpret_cast<float *>(weights + kRows * kWeightPitch);
    unsigned char *stages =
        reinterpret_cast<unsigned char *>(scores + kParts * kRows * kScorePitch);
    T *decoded = reinterpret_cast<T *>(stages + kStages * kStageBytes);  // decoded entries
    const Copier copier = {p, s, shared, stages, seen};
    load_queries<kRows, kThreads>(p, s, head, first_row, query_tile);
    for (int i = 0; i < kStages; ++i) copier.find_pages(begin + i);
    __syncthreads();
    for (int i = 0; i < kStages - 1; ++i) {
        if (begin + i < end) copier.begin(begin + i);
        commit_copies();
    }

    // The row and the keys whose probabilities this thread computes.
    constexpr int kRowThreads = kThreads / kRows, kPer = kKeys / kRowThreads;
    const int my_row = int(threadIdx.x) / kRowThreads,
              my_keys = int(threadIdx.x) % kRowThreads * kPer;
    int limit = 0, place = 0;
    float slope = 0, greatest = kNone, sum = 0;
    if (first_row + my_row < p.rows) {
        const int query = int(p.group.divide(uint32_t(first_row + my_row)));
        limit = key_limit(s, query), place = s.keys - s.queries + query;
        slope = row_slope(p, head, first_row + my_row);
    }
    // This warp's share of the scores.
    const int unit = warp() % (2 * kM), part = warp() / (2 * kM);
    constexpr int kSteps = kDepth / 16, kPartSteps = (kSteps + kParts - 1) / kParts;
    float results[kM][kColumns / 8][4] = {};

    for (int tile = begin; tile < end; ++tile) {
        wait_for_copies<kStages - 2>();
        __syncthreads();  // this tile has arrived, and the previous one has been read
        copier.find_pages(tile + kStages);
        if (tile + kStages - 1 < end) copier.begin(tile + kStages - 1);
        commit_copies();
        const unsigned char *stage = stages + tile % kStages * kStageBytes;
        const T *keys = reinterpret_cast<const T *>(stage);
        if constexpr (kEntries) {
            decode_entries(decoded, stage);
            keys = decoded;
            __syncthreads();
        }
        {
            float some[2][4] = {};
            const T *a_rows = query_tile + unit / 2 * 16 * kPitch;
            const T *b_rows = keys + unit % 2 * 16 * kPitch;
#pragma unroll 6
            for (int k = part * kPartSteps; k < (part + 1) * kPartSteps && k < kSteps; ++k) {
                uint32_t a[4], b[4];
                load_matrices<4>(a, query_matrix(a_rows, 16 * k));
                load_matrices<4>(b, key_matrix(b_rows, 16 * k));
                const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
                mma<T>(some[0], a, low);
                mma<T>(some[1], a, high);
            }
            float *to =
                scores + part * kRows * kScorePitch + unit / 2 * 16 * kScorePitch + unit % 2 * 16;
#pragma unroll
            for (int n = 0; n < 2; ++n)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    store(to + (lane() / 4 + 8 * i) * kScorePitch + 8 * n + 2 * (lane() % 4),
                          Vec<float, 2>{some[n][2 * i], some[n][2 * i + 1]});
        }
        __syncthreads();
        {
            float mine[kPer], most = greatest;
            const uint32_t known = shared.known[tile % kSlots];
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
                const int at = my_keys + i, key = tile * kKeys + at;
                float score = 0;
#pragma unroll
                for (int j = 0; j < kParts; ++j)
                    score += scores[(j * kRows + my_row) * kScorePitch + at];
                score *= p.scale;
                if constexpr (kSloped) score += slope * float(key - place);
                mine[i] = key < limit && (known >> at & 1) ? score : kNone;
                most = fmaxf(most, mine[i]);
            }
#pragma unroll
            for (int mask = kRowThreads / 2; mask > 0; mask /= 2)
                most = fmaxf(most, shuffle_xor(most, mask));
            const float base = most == kNone ? 0.0f : most;
            const float factor = ptx::exp2_approx(greatest - base);
            greatest = most;
            sum *= factor;
#pragma unroll
            for (int i = 0; i < kPer; ++i) {
                mine[i] = ptx::exp2_approx(mine[i] - base);
                sum += mine[i];
            }
            store(weights + my_row * kWeightPitch + my_keys, narrow<T>(mine));
            if (my_keys == 0) shared.factor[my_row] = factor;
        }
        __syncthreads();
        const T *values = kAlias ? keys : keys + kKeys * kPitch;
        constexpr int kRowPitch = kAlias ? kPitch : kValuePitch;
#pragma unroll
        for (int m = 0; m < kM; ++m) {
            const float factor[2] = {shared.factor[16 * m + lane() / 4],
                                     shared.factor[16 * m + lane() / 4 + 8]};
            if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
                scale_results<kColumns / 8>(results[m], factor);
        }
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k) {
            uint32_t a[kM][4];
            const int row = lane() / 8 % 2 * 8 + lane() % 8, column = lane() / 16 * 8;
#pragma unroll
            for (int m = 0; m < kM; ++m)
                load_matrices<4>(a[m], weights + (16 * m + row) * kWeightPitch + 16 * k + column);
#pragma unroll
            for (int n = 0; n < kColumns / 16; ++n) {
                uint32_t b[4];
                load_matrices<4, true>(
                    b, values + (16 * k + row) * kRowPitch + warp() * kColumns + 16 * n + column);
                const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
                for (int m = 0; m < kM; ++m) {
                    mma<T>(results[m][2 * n], a[m], low);
                    mma<T>(results[m][2 * n + 1], a[m], high);
                }
            }
        }
    }
    wait_for_copies<0>();

#pragma unroll
    for (int mask = kRowThreads / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
    if (my_keys == 0) shared.greatest[my_row] = greatest, shared.sum[my_row] = sum;
    __syncthreads();
    const int64_t first_unit = (int64_t(index) * p.heads + head) * p.rows;
    const int64_t units = int64_t(p.sequences) * p.heads * p.rows;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = 16 * m + lane() / 4 + 8 * i, row = first_row + at;
            if (row >= p.rows) continue;
            const float total = shared.sum[at];
            float *part_row = p.partials + (split * units + first_unit + row) * partial;
            if (p.splits > 1 && warp() == 0 && lane() % 4 == 0)
                part_row[partial - 4] = shared.greatest[at], part_row[partial - 3] = total;
            const float inverse = total == 0 ? 0.0f : 1 / total;
            T *to = result_row(p, s, head, row);
#pragma unroll
            for (int j = 0; j < kColumns / 4; ++j) {
                const int e = warp() * kColumns + j / 2 * 8 + 2 * (lane() % 4) + j % 2;
                const float value = results[m][j / 2][2 * i + j % 2];
                if (e >= p.value_depth) continue;
                if (p.splits > 1)
                    part_row[e] = value;
                else
                    to[e * p.out_stride.inner] = convert<T>(value * inverse);
            }
        }
}

}  // namespace infini
