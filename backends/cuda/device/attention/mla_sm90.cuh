// MLA (multi-head latent attention) on Hopper (keys of 576 elements, of which the first 512 are the
// values): a block has 64 rows and a range of keys (split-KV, see ranges.cuh), which TMA copies in
// tiles of 64.
//
// Each of two warpgroups computes half of the columns of the results. They alternate in computing
// the scores of a tile, and exchange the probabilities through shared memory, so that the products
// of one overlap the softmax of the other.
//
// Bytes: keys once for each 64 rows; blocks with the same keys run at the same time, so that most
// are read from L2. FLOPs: 2 * (depth + value_depth) for each row and key.
//
// Requires the definitions for tile.cuh, with kValue a multiple of 256 and equal to the true size,
// and kDepth a greater multiple of 64; kSlots, kRows (64).
#include "wgmma.cuh"

namespace infini {

inline constexpr int kConsumers = 256, kThreads = kConsumers + 128;
inline constexpr int kKeys = 64;  // keys per tile
inline constexpr int kPanels = kDepth / 64, kValuePanels = kValue / 64;
inline constexpr int kHalfPanels = kValuePanels / 2;  // panels of a warpgroup
inline constexpr int kAhead = 1;
static_assert(kPanels > kValuePanels && kSlots == 2 * kPanels && kRows == 64);

}  // namespace infini

#include "mla_parts.cuh"

namespace infini {

inline constexpr int kParts = kHalfPanels / 2;  // chunks of 128 of a warpgroup's columns
inline constexpr int kTogether = 1;             // named barrier of both warpgroups
inline constexpr int kGiven = 2;                // two: a warpgroup's probabilities are stored
inline constexpr int kAlone = 4;                // two: one per warpgroup

struct Shared {
    Ring ring;
    float greatest[2][kRows], sum[2][kRows];  // of each row, up to the last tile of a warpgroup
};

struct Consumer {
    const AttentionSm90Params &p;
    Shared &shared;
    unsigned char *queries, *slots;
    int group;              // 0 or 1
    int first_row, my_row;  // first row of the block, and of this warp's 16
    float scale;
    RowPair rows;
    float results[kParts][16][4];

    // Loads the queries of a unit and returns its number of keys, counted from the first key of the
    // range.
    INFINI_DEVICE int load_rows(const Walk &walk) {
        const Sequence s = find_sequence(p, walk.index, walk.head);
        wait_at(kTogether, kConsumers);  // the previous queries are no longer read
        load_query_panels(p, s, walk.head, first_row, queries);
        show_to_products();
        wait_at(kTogether, kConsumers);
        rows = {};
        rows.find(p, s, walk.head, first_row + my_row);
        const int before = walk.tile * kKeys;
#pragma unroll
        for (int i = 0; i < 2; ++i) rows.limit[i] -= before, rows.place[i] -= before;
        return s.keys - before;
    }

    // scores = queries @ keys, panel by panel as they arrive.
    INFINI_DEVICE void multiply_keys(float (&scores)[8][4], const RingPlace &place) {
        const uint64_t a = operand(queries, 16, 8 * kPanelRow);
        const uint64_t b = operand(slots, 16, 8 * kPanelRow);
#pragma unroll
        for (int i = 0; i < kPanels; ++i) {
            const int panel = panel_in_turn(i, group), slot = place.slot(panel);
            shared.ring.here[slot].wait(place.parity_of(panel));
            begin_products();
            wgmma_panel<T>(scores, operand_at(a, panel * kPanelBytes),
                           operand_at(b, slot * kPanelBytes), i > 0);
            commit_products();
        }
        wait_for_products<0>();
        settle(scores);
    }

    // results += probabilities @ this group's columns of the values. If `add` is false, results are
    // overwritten.
    INFINI_DEVICE void begin_results(const uint32_t (&weights)[4][4], const RingPlace &place,
                                     bool add) {
        begin_products();
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
            const int slot = place.slot(group * kHalfPanels + 2 * part);
            const uint64_t b = operand(slots + slot * kPanelBytes, kPanelBytes, 8 * kPanelRow);
            wgmma_rows<T>(results[part], weights, b, add);
        }
        commit_products();
    }
    INFINI_DEVICE void end_results() {
        wait_for_products<0>();
#pragma unroll
        for (int part = 0; part < kParts; ++part) settle(results[part]);
    }
    // The last panels are freed together with the probabilities, which the other warpgroup reads.
    INFINI_DEVICE void free(const RingPlace &place, bool own) {
        const int panel = lane();
        const bool mine = panel < kValuePanels ? panel / kHalfPanels == group : !own;
        if (panel < kPanels && mine) shared.ring.used[place.slot(panel)].arrive();
    }
    INFINI_DEVICE void scale_all(const float (&factor)[2]) {
        if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
#pragma unroll
            for (int part = 0; part < kParts; ++part) scale_results<16>(results[part], factor);
    }

    // Probabilities are stored in the tile's last panel, which only its scores needed.
    INFINI_DEVICE unsigned char *weights_at(const RingPlace &place, int i) {
        const unsigned row = unsigned(my_row + lane() / 8 % 2 * 8 + lane() % 8);
        return slots + place.slot(kPanels - 1) * kPanelBytes +
               panel_place(row, unsigned(2 * i + lane() / 16));
    }

    // Reads the other warpgroup's probabilities of a tile, and the factors that rescale earlier
    // results.
    INFINI_DEVICE void take_weights(uint32_t (&weights)[4][4], float (&factor)[2],
                                    const RingPlace &place) {
        wait_at(kGiven + 1 - group, kConsumers);
#pragma unroll
        for (int i = 0; i < 4; ++i) load_matrices<4>(weights[i], weights_at(place, i));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = my_row + lane() / 4 + 8 * i;
            raise(i, shared.greatest[1 - group][row], factor);
            rows.sum[i] = shared.sum[1 - group][row];
        }
    }
    INFINI_DEVICE void raise(int i, float greatest, float (&factor)[2]) {
        const float base = greatest == kNone ? 0.0f : greatest * scale;
        factor[i] = ptx::exp2_approx(rows.greatest[i] * scale - base);
        rows.greatest[i] = greatest;
    }

    // Online softmax: turns scores into probabilities.
    INFINI_DEVICE void weigh(float (&scores)[8][4], uint32_t (&weights)[4][4], float (&factor)[2],
                             int first, const RingPlace &place) {
        if constexpr (kScaled) scale_scores<8>(scores, rows, p, first);
        // Usually all keys are visible to all rows.
        const uint32_t missing = kPaged ? shared.ring.missing[place.tile] : 0;
        const int least = rows.limit[0] < rows.limit[1] ? rows.limit[0] : rows.limit[1];
        if (__any_sync(kAllLanes, missing || least < first + kKeys)) {
            const uint32_t bits[2] = {~((missing & 1) * 0xffff | (missing >> 1 & 1) * 0xffff0000),
                                      ~((missing >> 2 & 1) * 0xffff | (missing >> 3) * 0xffff0000)};
            mask_scores<8, !kPaged>(scores, rows, first, p.window, bits);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float most = rows.greatest[i];
#pragma unroll
            for (int n = 0; n < 8; ++n)
                most = fmaxf(most, fmaxf(scores[n][2 * i], scores[n][2 * i + 1]));
            most = fmaxf(most, shuffle_xor(most, 1));
            most = fmaxf(most, shuffle_xor(most, 2));
            raise(i, most, factor);
            const float base = most == kNone ? 0.0f : most * scale;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < 8; ++n)
#pragma unroll
                for (int j = 2 * i; j < 2 * i + 2; ++j) {
                    scores[n][j] = ptx::exp2_approx(scores[n][j] * scale - base);
                    sum += scores[n][j];
                }
            sum += shuffle_xor(sum, 1);
            sum += shuffle_xor(sum, 2);
            rows.sum[i] = rows.sum[i] * factor[i] + sum;
            const int row = my_row + lane() / 4 + 8 * i;
            if (lane() % 4 == 0)
                shared.greatest[group][row] = most, shared.sum[group][row] = rows.sum[i];
        }
        wait_at(kAlone + group, 128);  // all four warps have read the panel to be overwritten
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            pack_weights(weights[i], scores[2 * i], scores[2 * i + 1]);
            store_matrices(weights[i], weights_at(place, i));
        }
    }

    // Processes `count` tiles of a unit: alternately one of the other warpgroup and one of this
    // one.
    INFINI_DEVICE void run_unit(int keys, int count, int step) {
#pragma unroll 1
        for (int i = group; i <= count; i += 2) {
            const RingPlace own(step + i), other(i > 0 ? step + i - 1 : step);
            float scores[8][4], factor[2];
            uint32_t given[4][4] = {}, weights[4][4];
            if (i < count) multiply_keys(scores, own);
            if (i > 0) take_weights(given, factor, other);
            if (i > 1) scale_all(factor);
            // Before the first tile the product uses no tile and its result is overwritten later:
            // asynchronous products must not be in a branch.
            begin_results(given, other, i > 1);
            if (i < count) {
                weigh(scores, weights, factor, i * kKeys, own);
                const bool partial = keys < (i + 1) * kKeys;
                if (partial) clear_values(slots, own, keys - i * kKeys);
                show_to_products();
                if (partial) wait_at(kAlone + group, 128);
                arrive_at(kGiven + group, kConsumers);
            }
            end_results();
            if (i > 0) free(other, false);
            if (i < count) {
                if (i > 0) scale_all(factor);
                begin_results(weights, own, i > 0);
                end_results();
                free(own, true);
            }
        }
    }

    INFINI_DEVICE void write(const Walk &walk) {
        const int l = computed_here(lane());
        const int column = group * kParts * 128;
        float inverse[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = my_row + l / 4 + 8 * i;
            inverse[i] = rows.sum[i] == 0 ? 0.0f : 1 / rows.sum[i];
            if (walk.is_whole() || first_row + at >= p.rows) continue;
            float *part = partial_row(p, walk.place(), at);
#pragma unroll
            for (int n = 0; n < 16 * kParts; ++n) {
                const float (&two)[4] = results[n / 16][n % 16];
                store(part + column + 2 * (l % 4) + 8 * n,
                      Vec<float, 2>{two[2 * i], two[2 * i + 1]});
            }
            if (group == 0 && l % 4 == 0) {
                part[partial_pitch(p) - 4] = rows.greatest[i] * scale;
                part[partial_pitch(p) - 3] = rows.sum[i];
            }
        }
        if (!walk.is_whole()) return;
        // Through the shared memory of the queries, when both warpgroups have read it, so that
        // stores are coalesced.
        wait_at(kTogether, kConsumers);
        const unsigned row = unsigned(my_row + l / 8 % 2 * 8 + l % 8);
        unsigned char *to = queries + column / 64 * kQueryPanel;
#pragma unroll
        for (int n = 0; n < 16 * kParts; n += 2) {
            uint32_t pairs[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float *two = &results[n / 16][n % 16 + i / 2][i % 2 * 2];
                pairs[i] = pack_pair<T>(two[0] * inverse[i % 2], two[1] * inverse[i % 2]);
            }
            store_matrices(pairs,
                           to + n / 8 * kQueryPanel + panel_place(row, unsigned(n % 8 + l / 16)));
        }
        __syncwarp();
        store_panels<16, kParts * 128, kWarp>(p, walk, queries, l, first_row, my_row, column);
    }

    INFINI_DEVICE void run(Walk walk) {
        int step = 0;  // number of tiles processed
        for (; walk.left > 0; walk.next_unit(p)) {
            const int keys = load_rows(walk);
            const int count =
                shuffle(walk.count(), 0);  // uniform in the warp; the shuffle tells the compiler
            run_unit(keys, count, step);
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
    const int tile = int(blockIdx.x) % p.tiles;
    const Walk walk(p, int(blockIdx.x) / p.tiles, p.splits);
    unsigned char *slots = memory + kPanels * kPanelBytes;
    if (int(threadIdx.x) >= kConsumers) {
        give_registers<40>();
        if (warp() == kConsumers / 32) copy_tiles(p, shared.ring, slots, walk);
        return;
    }
    take_registers<232>();
    // Uniform in the warp; the shuffle tells the compiler.
    const int group = shuffle(int(threadIdx.x) / 128, 0);
    Consumer consumer = {p,     shared,       memory,          slots,
                         group, tile * kRows, warp() % 4 * 16, folded_scale(p)};
    consumer.run(walk);
}

}  // namespace infini
