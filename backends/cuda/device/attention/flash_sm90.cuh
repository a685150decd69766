// Flash attention for prefill on Hopper (wgmma, warp specialisation): a block has 128 rows of one
// key head and iterates over tiles of 128 keys. There are three warpgroups: a producer copies
// queries, keys and values to shared memory (with TMA where possible), and two consumers compute 64
// rows each.
//
// A consumer starts Q K^T of the next tile, then P V of the current one, and computes the
// probabilities of the next tile while the second product runs. The consumers alternate
// (ping-pong), so that the softmax of one overlaps the products of the other. The softmax takes
// about as long as the products, so the running maximum is only computed for the first tile of a
// row, and later only if it must be raised.
//
// A block processes its work as one sequence of tiles: the first keys of the next work item are
// multiplied before the last values of the current one. One loop body serves all iterations,
// because NVRTC is slow on unrolled copies: the first values and the last keys are placeholders
// whose results are not used.
//
// FLOPs: 4 * depth for each row and visible key. Bytes: keys and values once for each 128 rows,
// mostly from L2. With sizes of 128, a multiprocessor has one block of 384 threads with 224 KiB of
// shared memory.
//
// Requires the definitions for flash_sm90_copies.cuh.
#include "flash_sm90_copies.cuh"
#include "wgmma.cuh"

namespace infini {

inline constexpr int kThreads = 3 * kGroup;
// Whether products take longer than the softmax.
inline constexpr bool kTurns = kDepth > 64;
// Results are staged in the shared memory of their queries, which are kept until then, so that
// whole rows are stored (coalesced). For short rows the cost exceeds the gain.
inline constexpr bool kStaged = kQueryStages == 2 && kValue <= kDepth && kValue > 64;
// Of 504 registers for one thread of each warpgroup; paging needs some.
inline constexpr int kFewRegisters = kPaged ? 88 : 72, kManyRegisters = kPaged ? 208 : 216;
// Unnormalised probabilities are at most about 2^kSlack: F16 would overflow beyond that.
inline constexpr float kSlack = 14, kMost = 16384;
// The running maximum of a row without keys: any score except -inf exceeds it.
inline constexpr float kEmpty = -3.4028234663852886e38f;

struct Consumer {
    const AttentionSm90Params &p;
    Shared &shared;
    unsigned char *memory;
    int group;  // 0 or 1
    float scale;
    PhaseBarriers here, used;
    uint64_t first_queries, first_keys, first_values;  // operands
    int number = 0;                                    // index of the work item among this block's
    int step = 0;                                      // tiles processed, over all work items
    int begin = 0, tiles = 0;                          // of this work item: first tile, end
    Place<kKeyStages> keys;
    Place<kValueStages> values;
    int all_seen = 0;  // keys before this are seen by all rows of this warp,
    int all_from = 0;  // keys from this one on are within the window of all rows
    RowPair rows = {};
    float base[2] = {kEmpty, kEmpty};  // running maximum
    T *targets[2] = {};                // result rows of this thread
    uint32_t weights[kKeys / 16][4] = {};

    // Finds the next work item; returns false if there is none.
    INFINI_DEVICE bool take_work() {
        const int slot = number % kQueryStages;
        here.wait(slot, number / kQueryStages & 1);
        const Work &w = shared.work[slot];
        begin = w.begin, tiles = w.tiles;
        if (tiles == 0) return false;
        const int my_row = w.first_row + group * 64 + warp() % 4 * 16;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = my_row + lane() / 4 + 8 * i;
            targets[i] = row < w.row_count ? result_row(p, w.s, w.head, row) : nullptr;
        }
        all_seen = key_limit(w.s, int(p.group.divide(uint32_t(my_row))));
        if constexpr (kWindow) {
            const int last = my_row + 15 < w.row_count ? my_row + 15 : w.row_count - 1;
            all_from = key_begin(p, w.s, int(p.group.divide(uint32_t(last))));
        }
        rows = {};
        rows.find(p, w.s, w.head, my_row);
        base[0] = base[1] = kEmpty;
        return true;
    }

    // scores = queries @ keys of the tile.
    INFINI_DEVICE void begin_scores(float (&scores)[kKeys / 8][4]) {
        const uint64_t a = operand_at(first_queries, number % kQueryStages * kQueryBytes);
        const uint64_t b = operand_at(first_keys, keys.at * kKeyBytes);
        begin_products();
#pragma unroll
        for (int i = 0; i < kDepth / 64; ++i)
            wgmma_panel<T>(scores, operand_at(a, i * kQueryPanel), operand_at(b, i * kKeyPanel),
                           i > 0);
        commit_products();
    }
    // Recomputes them for one warp with mma.sync.
    INFINI_DEVICE void repeat_scores(float (&scores)[kKeys / 8][4]) {
        const unsigned char *q = memory + number % kQueryStages * kQueryBytes +
                                 (group * 64 + warp() % 4 * 16) * kPanelRow;
        const unsigned char *k = memory + kKeysAt + keys.at * kKeyBytes;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) scores[n][i] = 0;
        const unsigned low = unsigned(lane()) % 8, middle = unsigned(lane()) / 8 % 2,
                       high = unsigned(lane()) / 16;
#pragma unroll 1
        for (unsigned piece = 0; piece < kDepth / kPiece; piece += 2) {
            uint32_t a[4];
            const unsigned of_a = piece + high, of_b = piece + middle;
            load_matrices<4>(a,
                             q + of_a / 8 * kQueryPanel + panel_place(middle * 8 + low, of_a % 8));
            const unsigned char *from =
                k + of_b / 8 * kKeyPanel + panel_place(high * 8 + low, of_b % 8);
#pragma unroll
            for (int n = 0; n < kKeys / 8; n += 2) {
                uint32_t b[4];
                load_matrices<4>(b, from + 8 * n * kPanelRow);
                const uint32_t first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
                mma<T>(scores[n], a, first);
                mma<T>(scores[n + 1], a, second);
            }
        }
        __syncwarp();  // all lanes have read the keys before one of them frees the stage
    }

    // results += probabilities @ values of the previous tile. If `add` is false, results are
    // overwritten.
    INFINI_DEVICE void begin_results(float (&results)[kValue / 8][4], bool add) {
        const uint64_t b = operand_at(first_values, values.at * kValueBytes);
        begin_products();
#pragma unroll
        for (int i = 0; i < kKeys / 64; ++i)
            wgmma_rows<T>(results, weights + 4 * i, operand_at(b, i * 64 * kPanelRow),
                          i > 0 || add);
        commit_products();
    }

    INFINI_DEVICE void hide_scores(float (&scores)[kKeys / 8][4], int first) {
        if constexpr (kScaled) scale_scores<kKeys / 8>(scores, rows, p, first);
        uint32_t known[kKeys / 32];
        bool masked = first + kKeys > all_seen || (kWindow && first < all_from);
#pragma unroll
        for (int i = 0; i < kKeys / 32; ++i) {
            known[i] = kPaged ? shared.known[step % kSlots][i] : 0xffffffffu;
            masked = masked || known[i] != 0xffffffffu;
        }
        if (masked) mask_scores<kKeys / 8, !kPaged>(scores, rows, first, p.window, known);
    }

    // Raises the running maximum if a score exceeds it by more than the slack; returns the factors
    // that rescale earlier results (online softmax).
    INFINI_DEVICE void raise_base(const float (&scores)[kKeys / 8][4], float slack,
                                  float (&factor)[2]) {
        float top[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) top[i] = scores[0][i];
#pragma unroll
        for (int n = 1; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) top[i] = fmaxf(top[i], scores[n][i]);
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float greatest = fmaxf(top[2 * row], top[2 * row + 1]);
            greatest = fmaxf(greatest, shuffle_xor(greatest, 1));
            greatest = fmaxf(greatest, shuffle_xor(greatest, 2)) * scale;
            if (!(greatest - base[row] > slack)) continue;
            factor[row] = ptx::exp2_approx(base[row] - greatest);
            base[row] = greatest;
        }
    }

    // Turns scores into probabilities. The maximum is only computed for the first tile of a row.
    // Later tiles only check, by their sum, that probabilities do not overflow. Returns true if
    // earlier results must be rescaled by the factors.
    INFINI_DEVICE bool weigh(float (&scores)[kKeys / 8][4], int tile, float (&factor)[2]) {
        bool exact = kScaled || tile == begin;
        float slack = kSlack;
        factor[0] = factor[1] = 1;
#pragma unroll 1
        for (;;) {
            hide_scores(scores, tile * kKeys);
            if (exact) raise_base(scores, slack, factor);
            // No other warp of this scheduler hides latency here, so dependency chains are kept
            // short.
            float sum[4];
#pragma unroll
            for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    scores[n][i] = ptx::exp2_approx(scores[n][i] * scale - base[i / 2]);
                    sum[i] = n ? sum[i] + scores[n][i] : scores[n][i];
                }
            const float all[2] = {sum[0] + sum[1], sum[2] + sum[3]};
            if (exact || !__any_sync(kAllLanes, all[0] > kMost || all[1] > kMost)) {
#pragma unroll
                for (int row = 0; row < 2; ++row)  // for this thread's keys only
                    rows.sum[row] = rows.sum[row] * factor[row] + all[row];
                return exact && __any_sync(kAllLanes, factor[0] != 1.0f || factor[1] != 1.0f);
            }
            repeat_scores(scores);
            exact = true, slack = 0;  // otherwise the next tile would be repeated, too
        }
    }
    INFINI_DEVICE void pack(const float (&scores)[kKeys / 8][4]) {
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            pack_weights(weights[k], scores[2 * k], scores[2 * k + 1]);
    }
    INFINI_DEVICE void free(int stage) {
        if (lane() == 0) used.arrive(stage);
    }

    INFINI_DEVICE void run() {
        float results[kValue / 8][4], scores[kKeys / 8][4], factor[2];
        T *done[2] = {};
        float sums[2] = {};
        if (kTurns && group == 1) arrive_at(kTurn, 2 * kGroup);  // lets the first consumer start
        bool add = false, more = true, there = false;
        int tile = 0, done_slot = 0;
        for (step = 0;; ++step) {
            const bool fresh = tile == tiles;
            if (fresh) {
#pragma unroll
                for (int i = 0; i < 2; ++i) done[i] = targets[i], sums[i] = rows.sum[i];
                done_slot = (number + 1) % kQueryStages;
                more = take_work();
                tile = begin;
            }
            if (!there) here.wait(kFirstKeys + keys.at, keys.phase);
            if (kTurns) wait_at(kTurn + group, 2 * kGroup);
            begin_scores(scores);
            here.wait(kFirstValues + values.at, values.phase);
            begin_results(results, add);
            if (kTurns && (more || group == 0))  // every arrival needs a matching wait
                arrive_at(kTurn + 1 - group, 2 * kGroup);
            wait_for_products<1>();
            settle(scores);
            const bool scaled = weigh(scores, tile, factor);
            free(kFirstKeys + keys.at);
            keys.advance();
            wait_for_products<0>();
            settle(results);
            free(kFirstValues + values.at);
            values.advance();
            if (++tile == tiles) {
                if (!kStaged) free(number % kQueryStages);
                ++number;
            }
            if (fresh) {
                if (step) {
                    if constexpr (kStaged) {
                        write_rows(results, done, sums,
                                   memory + done_slot * kQueryBytes +
                                       (group * 64 + warp() % 4 * 16) * kPanelRow);
                        show_to_products();
                        __syncwarp();  // all lanes have read the queries
                        free(done_slot);
                    } else {
                        write(results, done, sums);
                    }
                }
                if (!more) break;
            } else if (scaled) {
                scale_results<kValue / 8>(results, factor);
            }
            add = !fresh;
            there = here.has_ended(kFirstKeys + keys.at, keys.phase);
            pack(scores);
        }
    }

    INFINI_DEVICE void write(const float (&results)[kValue / 8][4], T *const (&to)[2],
                             const float (&sums)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float sum = sums[i];
            sum += shuffle_xor(sum, 1);
            sum += shuffle_xor(sum, 2);
            const float inverse = sum == 0 ? 0.0f : ptx::reciprocal_approx(sum);
            const int skip = 2 * (lane() % 4), left = to[i] ? p.value_depth - skip : 0;
            const bool vector = kBulk || p.store_vector;
            const int64_t inner = vector ? 1 : p.out_stride.inner;
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n) {
                const uint32_t pair =
                    pack_pair<T>(results[n][2 * i] * inverse, results[n][2 * i + 1] * inverse);
                T *const at = to[i] + (skip + 8 * n) * inner;
                if (vector) {
                    if (8 * n < left) *reinterpret_cast<uint32_t *>(at) = pair;
                } else {
                    if (8 * n < left) at[0] = T{uint16_t(pair)};
                    if (8 * n + 1 < left) at[inner] = T{uint16_t(pair >> 16)};
                }
            }
        }
    }

    // The same through the shared memory of the queries, so that stores are coalesced.
    INFINI_DEVICE void write_rows(const float (&results)[kValue / 8][4], T *const (&to)[2],
                                  const float (&sums)[2], unsigned char *staged) {
        float inverse[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float sum = sums[i];
            sum += shuffle_xor(sum, 1);
            sum += shuffle_xor(sum, 2);
            inverse[i] = sum == 0 ? 0.0f : ptx::reciprocal_approx(sum);
        }
        // The addresses differ in bits that are known at compile time.
        const unsigned matrix = unsigned(lane()) / 8, my_row = matrix % 2 * 8 + lane() % 8;
        const int place = computed_here(panel_place(my_row, matrix / 2));
#pragma unroll
        for (int n = 0; n < kValue / 8; n += 2) {
            uint32_t pairs[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float *from = &results[n + i / 2][i % 2 * 2];
                pairs[i] = pack_pair<T>(from[0] * inverse[i % 2], from[1] * inverse[i % 2]);
            }
            store_matrices(pairs, staged + n / 8 * kQueryPanel + (place ^ n % 8 * 16));
        }
        __syncwarp();
        constexpr int kPieces = kValue / kPiece, kAtOnce = kWarp / kPieces;  // rows at a time
        auto row_at = [&](int i, int row) {
            return reinterpret_cast<T *>(
                shuffle(reinterpret_cast<uint64_t>(i ? to[1] : to[0]), row * 4));
        };
        if (kBulk || p.store_vector) {
            const unsigned piece = unsigned(lane()) % kPieces;
            const bool there = int(piece) * kPiece < p.value_depth;
            const unsigned first = unsigned(lane()) / kPieces;
            const int from =
                computed_here(panel_place(first, piece % 8) + int(piece) / 8 * kQueryPanel);
#pragma unroll 1
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 8; j += kAtOnce) {
                    T *const at = row_at(i, int(first) + j);
                    const int place = (from ^ j * 16) + (8 * i + j) * kPanelRow;
                    if (at && there)
                        store(at + piece * kPiece,
                              load<kPiece>(reinterpret_cast<const T *>(staged + place)));
                }
            return;
        }
        if constexpr (!kBulk)
#pragma unroll 1
            for (int row = 0; row < 16; ++row) {
                T *const at = row_at(row / 8, row % 8);
#pragma unroll 1
                for (int i = lane(); at && i < p.value_depth; i += kWarp)
                    at[i * p.out_stride.inner] = reinterpret_cast<const T *>(
                        staged + i / kPanelColumns * kQueryPanel +
                        panel_place(unsigned(row), unsigned(i) / kPiece % 8))[i % kPiece];
            }
    }
};

INFINI_ENTRY(AttentionSm90Params, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    if (threadIdx.x == 0) {
        constexpr int kWarps = 4;  // per warpgroup; each warp arrives once
#pragma unroll 1
        for (int i = 0; i < kAllStages; ++i)
            shared.here[i].start(kWarps), shared.used[i].start(2 * kWarps);
        show_barriers();
    }
    __syncthreads();
    // Uniform in the warp; the shuffle tells the compiler.
    const int group = shuffle(int(threadIdx.x) / kGroup, 0);
    if (group == 2) {
        give_registers<kFewRegisters>();
        Producer producer = {p, shared, memory, int(threadIdx.x) % kGroup};
        producer.run();
    } else {
        take_registers<kManyRegisters>();
        // Otherwise the compiler recomputes this for every use.
        Consumer consumer = {
            p,
            shared,
            memory,
            group,
            folded_scale(p),
            PhaseBarriers(shared.here),
            PhaseBarriers(shared.used),
            computed_here(operand(memory + group * 64 * kPanelRow, 16, 8 * kPanelRow)),
            computed_here(operand(memory + kKeysAt, 16, 8 * kPanelRow)),
            computed_here(operand(memory + kValuesAt, kKeyPanel, 8 * kPanelRow))};
        consumer.run();
    }
}

}  // namespace infini
