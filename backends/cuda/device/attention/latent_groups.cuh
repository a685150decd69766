// Latent attention on Hopper (keys of 576, of which the first 512 are the values): a block has 64
// rows and a range of keys, see ranges.cuh, which the bulk engine brings 64 at a time. Two
// warpgroups: each computes the scores of half of these keys, and half of the columns of the
// results; they exchange greatest scores and weights.
//
// The product with the next keys is begun right behind that with these values, and runs while
// nothing else can: weights are made between them.
//
// Bytes: keys once for each 64 rows; blocks with the same keys run at the same time, so that mostly
// L2 has them. FLOPs: 2 * (depth + value_depth) for each row and key.
//
// Before this: what tile.cuh wants, with kDepth a multiple of 64, kValue one of 256 and the true
// size; constant kStages.
#include "tile.cuh"
#include "wgmma.cuh"

namespace infini {

inline constexpr int kKeys = 64;  // of a tile
inline constexpr int kKeyPanels = kDepth / 64, kPanels = kKeyPanels;

}  // namespace infini

#include "ring.cuh"

namespace infini {

inline constexpr int kRows = 64;
inline constexpr int kConsumers = 256, kThreads = kConsumers + 128;
inline constexpr int kHalves = kValue / 256;  // of a warpgroup's columns: 128 each
inline constexpr int kQueryBytes = kRows * kDepth * 2, kWeightBytes = kRows * kPanelRow;
inline constexpr int kTogether = 1;  // named barrier of both warpgroups

struct Shared {
    Ring ring;
    float most[2][kRows];  // scores of the tile; at the end sums
};

struct Consumer {
    const GroupParams &p;
    Shared &shared;
    unsigned char *queries, *stages, *weights;
    int group;              // 0 or 1
    int first_row, my_row;  // of the block, of this warp's 16
    float scale;
    RowPair rows;
    int all_seen;    // keys before this are seen by all rows of this warp
    uint32_t boxes;  // bits: of a tile
    float results[kHalves][16][4];

    // Queries of a unit; gives its keys.
    INFINI_DEVICE int load_rows(const Walk &walk) {
        const Sequence s = find_sequence(p, walk.index, walk.head);
        const int head = walk.head;
        const int count = s.queries * int(p.group.divisor);
        copy_each<kDepth, kRows, kConsumers>(
            int(threadIdx.x), p.depth, p.q_stride.inner, p.vector,
            [&](int row) {
                const int at = first_row + row;
                return at < count ? query_row(p, s, head, at) : nullptr;
            },
            [&](unsigned row, unsigned piece) {
                return reinterpret_cast<T *>(queries + piece / 8 * kPanelBytes +
                                             panel_place(row, piece % 8));
            });
        commit_copies();
        wait_for_copies<0>();
        show_to_products();
        wait_at(kTogether, kConsumers);
        rows = {};
        rows.find(p, s, head, first_row + my_row);
        all_seen = first_row + my_row + 15 < count
                       ? key_limit(s, int(p.group.divide(uint32_t(first_row + my_row))))
                       : 0;
        boxes = kPaged ? (1u << kKeys / p.box_rows) - 1 : 0;
#pragma unroll
        for (int h = 0; h < kHalves; ++h)
#pragma unroll
            for (int n = 0; n < 16; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) results[h][n][i] = 0;
        return s.keys;
    }

    // scores = queries @ this group's keys of the tile, of which there are `valid`.
    INFINI_DEVICE void begin_scores(float (&scores)[4][4], int step, int valid) {
        const int stage = step % kStages;
        unsigned char *keys = stages + stage * kStageBytes;
        shared.ring.here[stage].wait(step / kStages & 1);
        if (valid < kKeys) {
            // What lies behind the last value may be anything, and must be 0 where weights are.
            for (int i = (valid < 0 ? 0 : valid) * 8 + int(threadIdx.x); i < kKeys * 8;
                 i += kConsumers)
#pragma unroll 1
                for (int panel = 0; panel < kPanels; ++panel)
                    store(reinterpret_cast<uint32_t *>(keys + panel * kPanelBytes + i * 16),
                          Vec<uint32_t, 4>{0, 0, 0, 0});
            show_to_products();
            wait_at(kTogether, kConsumers);
        }
        uint64_t a = operand(queries, 16, 8 * kPanelRow);
        uint64_t b = operand(keys + group * 32 * kPanelRow, 16, 8 * kPanelRow);
        begin_products();
#pragma unroll 1
        for (int panel = 0; panel < kKeyPanels; ++panel) {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                wgmma<T>(scores, operand_at(a, k * 32), operand_at(b, k * 32), panel + k > 0);
            a = operand_at(a, kPanelBytes), b = operand_at(b, kPanelBytes);
        }
        commit_products();
    }

    // results += weights @ this group's columns of the values.
    INFINI_DEVICE void begin_results(int step) {
        const unsigned char *values =
            stages + step % kStages * kStageBytes + group * kHalves * 2 * kPanelBytes;
        const unsigned row = unsigned(my_row + lane() / 8 % 2 * 8 + lane() % 8);
        uint32_t a[kKeys / 16][4];
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            load_matrices<4>(a[k], weights + panel_place(row, unsigned(2 * k + lane() / 16)));
        const uint64_t b = operand(values, kPanelBytes, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int h = 0; h < kHalves; ++h)
#pragma unroll
            for (int k = 0; k < kKeys / 16; ++k)
                wgmma_across<T>(results[h], a[k],
                                operand_at(b, h * 2 * kPanelBytes + k * 16 * kPanelRow), true);
        commit_products();
    }

    INFINI_DEVICE void settle_results(int step) {
#pragma unroll
        for (int h = 0; h < kHalves; ++h) settle(results[h]);
        if (lane() == 0) shared.ring.used[step % kStages].arrive();
    }

    // Scores become weights in shared memory; older results are scaled.
    INFINI_DEVICE void weigh(float (&scores)[4][4], int tile, int step) {
        const int first = tile * kKeys + group * 32;
        if constexpr (kSloped) scale_scores<4>(scores, rows, p.scale, first);
        // Mostly all rows see all keys.
        const uint32_t known = kPaged ? shared.ring.known[step % kStages] : ~0u;
        if (first + 32 > all_seen || (known & boxes) != boxes) {
            uint32_t bits[1] = {0};
#pragma unroll 1
            for (int i = 0; i < 32; i += 8)
                bits[0] |= (known >> (group * 32 + i) / p.box_rows & 1 ? 0xffu : 0u) << i;
            mask_scores<4, !kPaged>(scores, rows, first, bits);
        }
        float most[2], factor[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            most[i] = kNone;
#pragma unroll
            for (int n = 0; n < 4; ++n)
                most[i] = fmaxf(most[i], fmaxf(scores[n][2 * i], scores[n][2 * i + 1]));
            most[i] = fmaxf(most[i], shuffle_xor(most[i], 1));
            most[i] = fmaxf(most[i], shuffle_xor(most[i], 2));
            if (lane() % 4 == 0) shared.most[group][my_row + lane() / 4 + 8 * i] = most[i];
        }
        wait_at(kTogether, kConsumers);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = my_row + lane() / 4 + 8 * i;
            const float greatest =
                fmaxf(rows.greatest[i], fmaxf(most[i], shared.most[1 - group][row]));
            const float base = greatest == kNone ? 0.0f : greatest * scale;
            factor[i] = exp2_fast(rows.greatest[i] * scale - base);
            rows.greatest[i] = greatest;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                const float low = exp2_fast(scores[n][2 * i] * scale - base);
                const float high = exp2_fast(scores[n][2 * i + 1] * scale - base);
                sum += low + high;
                *reinterpret_cast<uint32_t *>(weights +
                                              panel_place(unsigned(row), unsigned(4 * group + n)) +
                                              4 * (lane() % 4)) = pack_pair<T>(low, high);
            }
            rows.sum[i] = rows.sum[i] * factor[i] + sum;
        }
        if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
#pragma unroll
            for (int h = 0; h < kHalves; ++h) scale_results<16>(results[h], factor);
        wait_at(kTogether, kConsumers);
    }

    // Everything is found again: while products run there are no registers to keep it in.
    INFINI_DEVICE void write(const Walk &walk) {
        finish_rows(rows, scale);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            if (lane() % 4 == 0) shared.most[group][my_row + lane() / 4 + 8 * i] = rows.sum[i];
        wait_at(kTogether, kConsumers);
        const Sequence s = find_sequence(p, walk.index, walk.head);
        const bool whole = walk.is_whole();
        const int column = group * kHalves * 128 + 2 * (lane() % 4);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int at = my_row + lane() / 4 + 8 * i, row = first_row + at;
            if (row >= p.rows) continue;
            const float sum = shared.most[0][at] + shared.most[1][at];
            if (whole) {
                const float inverse = sum == 0 ? 0.0f : 1 / sum;
                const int64_t inner = p.out_stride.inner;
                T *to = result_row(p, s, walk.head, row) + column * inner;
#pragma unroll
                for (int n = 0; n < 16 * kHalves; ++n, to += 8 * inner) {
                    const float (&two)[4] = results[n / 16][n % 16];
                    const uint32_t pair =
                        pack_pair<T>(two[2 * i] * inverse, two[2 * i + 1] * inverse);
                    to[0] = T{uint16_t(pair)}, to[inner] = T{uint16_t(pair >> 16)};
                }
            } else {
                float *part = partial_row(p, walk.place(), at);
#pragma unroll
                for (int n = 0; n < 16 * kHalves; ++n) {
                    const float (&two)[4] = results[n / 16][n % 16];
                    store(part + column + 8 * n, Vec<float, 2>{two[2 * i], two[2 * i + 1]});
                }
                if (group == 0 && lane() % 4 == 0) {
                    part[partial_pitch(p) - 4] = rows.greatest[i];
                    part[partial_pitch(p) - 3] = sum;
                }
            }
        }
    }

    INFINI_DEVICE void run(Walk walk) {
        float scores[4][4];
        int step = 0;  // tiles before
        for (; walk.left > 0; walk.next_unit(p)) {
            const int keys = load_rows(walk);
            // Products stand in no branch: else the compiler makes each wait for the one before.
            begin_scores(scores, step, keys - walk.tile * kKeys);
            wait_for_products<0>();
            settle(scores);
            weigh(scores, walk.tile, step);
            const int end = walk.tile + walk.count();
            for (int tile = walk.tile + 1; tile < end; ++tile) {
                begin_results(step);
                begin_scores(scores, step + 1, keys - tile * kKeys);
                wait_for_products<1>();
                settle_results(step);
                ++step;
                wait_for_products<0>();
                settle(scores);
                weigh(scores, tile, step);
            }
            begin_results(step);
            wait_for_products<0>();
            settle_results(step);
            ++step;
            write(walk);
        }
    }
};

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    allow_next_kernel();
    if (threadIdx.x == 0) shared.ring.start(8);
    __syncthreads();
    const int tile = int(blockIdx.x) % p.tiles;
    const Walk walk(p, int(blockIdx.x) / p.tiles, p.splits);
    unsigned char *stages = memory + kQueryBytes;
    if (int(threadIdx.x) >= kConsumers) {
        give_registers<72>();
        if (warp() == kConsumers / 32) copy_tiles(p, shared.ring, stages, walk);
        return;
    }
    take_registers<216>();
    Consumer consumer = {p,
                         shared,
                         memory,
                         stages,
                         stages + kStages * kStageBytes,
                         int(threadIdx.x) / 128,
                         tile * kRows,
                         warp() % 4 * 16,
                         folded_scale(p)};
    consumer.run(walk);
}

}  // namespace infini
