// MLA decoding of few rows on Hopper (keys of 576 elements, of which the first 512 are the values).
// Like mla_sm90.cuh, but transposed: keys, or columns of values, are the 64 rows of wgmma, and the
// 16 or 32 query rows are its columns. Scores are [keys, rows], results [columns, rows]. One
// warpgroup is enough, which leaves more space for keys in flight.
//
// Bytes: keys once. FLOPs: 2 * (depth + value_depth) for each row and key, which take less time.
//
// Requires the definitions for tile.cuh, with kDepth and kValue multiples of 64; kSlots, kRows.
#include "wgmma.cuh"

namespace infini {

inline constexpr int kConsumers = 128, kThreads = kConsumers + 32;
inline constexpr int kKeys = 64;  // keys per tile
inline constexpr int kPanels = kDepth / 64, kValuePanels = kValue / 64;
inline constexpr int kHalfPanels = 0, kAhead = 0;

}  // namespace infini

#include "mla_parts.cuh"

namespace infini {

inline constexpr int kTiles = kRows / 8;  // a thread has two rows of each
inline constexpr int kTogether = 1;       // named barrier of the warpgroup
static_assert(kRows == 16 || kRows == 32);

struct Shared {
    Ring ring;
    float most[4][kRows];  // maximum score of each warp's keys in a tile; at the end sums
};

// A thread's state for its rows: 8 n + 2 (lane % 4), + 1.
struct Columns {
    float greatest[kTiles][2], sum[kTiles][2], slope[kTiles][2];
    int limit[kTiles][2], place[kTiles][2];
};

struct Consumer {
    const AttentionSm90Params &p;
    Shared &shared;
    unsigned char *queries, *weights, *slots;
    float scale;
    Columns rows;
    int all_seen;  // keys before this are seen by all rows
    float results[kValuePanels][kTiles][4];

    template <class Do>
    INFINI_DEVICE void for_rows(const Do &what) {
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
            for (int c = 0; c < 2; ++c) what(n, c, 8 * n + 2 * (lane() % 4) + c);
    }

    // Loads the queries of a unit and returns its number of keys, counted from the first key of the
    // range.
    INFINI_DEVICE int load_rows(const Walk &walk) {
        const Sequence s = find_sequence(p, walk.index, walk.head);
        const int count = s.queries * int(p.group.divisor);
        wait_at(kTogether, kConsumers);  // the previous queries are no longer read
        load_query_panels(p, s, walk.head, 0, queries);
        show_to_products();
        wait_at(kTogether, kConsumers);
        const int before = walk.tile * kKeys;
        for_rows([&](int n, int c, int row) {
            const int query = int(p.group.divide(uint32_t(row)));
            rows.greatest[n][c] = kNone, rows.sum[n][c] = 0;
            rows.limit[n][c] = row < count ? key_limit(s, query) - before : 0;
            rows.place[n][c] = s.keys - s.queries + query - before;
            rows.slope[n][c] = row < count ? row_slope(p, walk.head, row) : 0;
        });
        all_seen = key_limit(s, 0) - before;
        return s.keys - before;
    }

    // scores = keys @ queries, panel by panel as they arrive.
    INFINI_DEVICE void multiply_keys(float (&scores)[kTiles][4], const RingPlace &place) {
        float odd[kTiles][4];  // two accumulators: consecutive products are independent
        const uint64_t a = operand(slots, 16, 8 * kPanelRow);
        const uint64_t b = operand(queries, 16, 8 * kPanelRow);
#pragma unroll 1
        for (int panel = 0; panel < kPanels; ++panel) {
            const int slot = place.slot(panel);
            shared.ring.here[slot].wait(place.parity_of(panel));
            begin_products();
#pragma unroll
            for (int k = 0; k < 4; ++k)
                wgmma<T>(k % 2 ? odd : scores, operand_at(a, slot * kPanelBytes + k * 32),
                         operand_at(b, panel * kQueryPanel + k * 32), panel + k / 2 > 0);
            commit_products();
        }
        wait_for_products<0>();
        settle(scores);
        settle(odd);
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) scores[n][i] += odd[n][i];
    }

    // results += values @ probabilities. If `add` is false, results are overwritten.
    INFINI_DEVICE void multiply_values(const RingPlace &place, bool add) {
        const uint64_t a = operand(slots, kPanelBytes, 8 * kPanelRow);
        const uint64_t b = operand(weights, 16, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int k = 0; k < 4; ++k)
#pragma unroll
            for (int panel = 0; panel < kValuePanels; ++panel)
                wgmma_turned<T>(results[panel],
                                operand_at(a, place.slot(panel) * kPanelBytes + k * 16 * kPanelRow),
                                operand_at(b, k * 32), k > 0 || add);
        commit_products();
        wait_for_products<0>();
#pragma unroll
        for (int panel = 0; panel < kValuePanels; ++panel) settle(results[panel]);
        if (lane() < kPanels) shared.ring.used[place.slot(lane())].arrive();
    }

    // Sets the scores of masked keys to -inf.
    INFINI_DEVICE void mask(float (&scores)[kTiles][4], int first, uint32_t missing) {
        const bool known = !(missing >> warp() & 1);  // the 16 keys of this warp have a page
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int key = first + warp() * 16 + lane() / 4 + i / 2 * 8;
                if (!known || key >= rows.limit[n][i % 2]) scores[n][i] = kNone;
            }
    }

    // This warp's 16 columns of a panel of values, or 16 keys of the probabilities, for all rows.
    INFINI_DEVICE void store_columns(const float (&values)[kTiles][4], unsigned char *panel) {
        const unsigned matrix = unsigned(lane()) / 8;
#pragma unroll
        for (int n = 0; n < kTiles; n += 2) {
            uint32_t pairs[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float *two = &values[n + i / 2][i % 2 * 2];
                pairs[i] = pack_pair<T>(two[0], two[1]);
            }
            store_matrices<true>(pairs,
                                 panel + panel_place(8 * (n + matrix / 2) + unsigned(lane()) % 8,
                                                     unsigned(2 * warp()) + matrix % 2));
        }
    }

    // Online softmax: stores the probabilities in shared memory and rescales the earlier results.
    INFINI_DEVICE void weigh(float (&scores)[kTiles][4], int first, const RingPlace &place) {
        if constexpr (kSloped)
#pragma unroll
            for (int n = 0; n < kTiles; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int key = first + warp() * 16 + lane() / 4 + i / 2 * 8;
                    scores[n][i] = scores[n][i] * p.scale +
                                   rows.slope[n][i % 2] * float(key - rows.place[n][i % 2]);
                }
        const uint32_t missing = kPaged ? shared.ring.missing[place.tile] : 0;
        if (missing || first + kKeys > all_seen) mask(scores, first, missing);
        for_rows([&](int n, int c, int row) {
            float most = fmaxf(scores[n][c], scores[n][c + 2]);
#pragma unroll
            for (int distance = 4; distance < kWarp; distance *= 2)
                most = fmaxf(most, shuffle_xor(most, distance));
            if (lane() < 4) shared.most[warp()][row] = most;
        });
        wait_at(kTogether, kConsumers);
        float factor[kTiles][2];
        bool same = true;
        for_rows([&](int n, int c, int row) {
            float greatest = rows.greatest[n][c];
#pragma unroll
            for (int i = 0; i < 4; ++i) greatest = fmaxf(greatest, shared.most[i][row]);
            const float base = greatest == kNone ? 0.0f : greatest * scale;
            factor[n][c] = ptx::exp2_approx(rows.greatest[n][c] * scale - base);
            same = same && factor[n][c] == 1.0f;
            rows.greatest[n][c] = greatest;
            scores[n][c] = ptx::exp2_approx(scores[n][c] * scale - base);
            scores[n][c + 2] = ptx::exp2_approx(scores[n][c + 2] * scale - base);
            rows.sum[n][c] = rows.sum[n][c] * factor[n][c] + scores[n][c] + scores[n][c + 2];
        });
        store_columns(scores, weights);
        if (first > 0 && !__all_sync(kAllLanes, same))
#pragma unroll
            for (int panel = 0; panel < kValuePanels; ++panel)
#pragma unroll
                for (int n = 0; n < kTiles; ++n)
#pragma unroll
                    for (int i = 0; i < 4; ++i) results[panel][n][i] *= factor[n][i % 2];
    }

    INFINI_DEVICE void write(const Walk &walk) {
        for_rows([&](int n, int c, int row) {
            float sum = rows.sum[n][c];
#pragma unroll
            for (int distance = 4; distance < kWarp; distance *= 2)
                sum += shuffle_xor(sum, distance);
            if (lane() < 4) shared.most[warp()][row] = sum;
        });
        wait_at(kTogether, kConsumers);
        const bool whole = walk.is_whole();
        const int column = warp() * 16 + lane() / 4;
        for_rows([&](int n, int c, int row) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) sum += shared.most[i][row];
            if (whole) {
                const float inverse = sum == 0 ? 0.0f : 1 / sum;
#pragma unroll
                for (int panel = 0; panel < kValuePanels; ++panel)
                    results[panel][n][c] *= inverse, results[panel][n][c + 2] *= inverse;
                return;
            }
            if (row >= p.rows) return;
            float *part = partial_row(p, walk.place(), row);
#pragma unroll
            for (int i = 0; i < 2 * kValuePanels; ++i)
                part[column + i / 2 * 64 + i % 2 * 8] = results[i / 2][n][i % 2 * 2 + c];
            if (column == 0) {
                part[partial_pitch(p) - 4] = rows.greatest[n][c] * scale;
                part[partial_pitch(p) - 3] = sum;
            }
        });
        if (!whole) return;
        // Through the shared memory of the queries, so that stores are coalesced.
#pragma unroll
        for (int panel = 0; panel < kValuePanels; ++panel)
            store_columns(results[panel], queries + panel * kQueryPanel);
        wait_at(kTogether, kConsumers);
        store_panels<kRows, kValue, kConsumers>(p, walk, queries, computed_here(int(threadIdx.x)),
                                                0, 0, 0);
    }

    INFINI_DEVICE void run(Walk walk) {
        int step = 0;  // number of tiles processed
        for (; walk.left > 0; walk.next_unit(p)) {
            const int keys = load_rows(walk);
            const int count =
                shuffle(walk.count(), 0);  // uniform in the warp; the shuffle tells the compiler
#pragma unroll 1
            for (int i = 0; i < count; ++i) {
                const RingPlace place(step + i);
                float scores[kTiles][4];
                multiply_keys(scores, place);
                weigh(scores, i * kKeys, place);
                if (keys < (i + 1) * kKeys) clear_values(slots, place, keys - i * kKeys);
                show_to_products();
                wait_at(kTogether, kConsumers);
                multiply_values(place, i > 0);
            }
            step += count;
            write(walk);
        }
    }
};

INFINI_ENTRY(AttentionSm90Params, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    if (threadIdx.x == 0) shared.ring.start(4);
    __syncthreads();
    const Walk walk(p, int(blockIdx.x), p.splits);
    unsigned char *slots = memory + (kPanels + 1) * kQueryPanel;
    if (int(threadIdx.x) >= kConsumers) return copy_tiles(p, shared.ring, slots, walk);
    Consumer consumer = {p, shared, memory, memory + kPanels * kQueryPanel, slots, folded_scale(p)};
    consumer.run(walk);
}

}  // namespace infini
