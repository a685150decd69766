// Attention of many rows on Hopper's tensor cores (wgmma): a block has 128 rows of one key head and
// goes over keys 128 at a time. Three warpgroups: one copies queries, keys and values to shared
// memory, two have 64 rows each.
//
// A consumer begins the product of the next keys, then that of these values, and computes the
// weights of the next keys while the second one runs. The two take turns in beginning their
// products, so that one's weights are computed while the other's products run. One goes over all
// the work of a block as over one long row of tiles: the first keys of the next rows are multiplied
// before the last values of these.
//
// Copies are done by the bulk engine where the tensors' strides, or their pages, allow it, and
// otherwise by cp.async: a thread waits for its own copies, shows them to the products, and then
// arrives. Values of a tile that is not full are always copied so: what lies behind the last key
// may be anything, and must be 0 where weights are.
//
// FLOPs: 4 * depth for each row and key that it sees. Bytes: keys and values once for each 128
// rows, mostly from L2. With sizes of 128: 192 KiB of shared memory, one block of 384 threads on a
// multiprocessor.
//
// Before this: what tile.cuh wants, with kDepth and kValue multiples of 64; constant kQueryStages:
// places for queries, 1 or 2.
#include "tile.cuh"
#include "wgmma.cuh"

namespace infini {

inline constexpr int kGroup = 128;  // threads
inline constexpr int kThreads = 3 * kGroup;
inline constexpr int kRows = 128, kKeys = 128;  // of a block; at a time
inline constexpr int kStages = 2;               // of keys, and of values
inline constexpr int kFlight = 2;               // copies that a thread has begun and not yet shown
inline constexpr int kQueryBytes = kRows * kDepth * 2;
inline constexpr int kKeyBytes = kKeys * kDepth * 2, kValueBytes = kKeys * kValue * 2;
inline constexpr int kKeyPanel = kKeys * kPanelRow, kQueryPanel = kRows * kPanelRow;
inline constexpr int kKeysAt = kQueryStages * kQueryBytes;
inline constexpr int kValuesAt = kKeysAt + kStages * kKeyBytes;
inline constexpr int kTurn = 1, kProducers = 3;  // named barriers: 1 and 2 are the consumers' turns
// Weights are at most 2^kSlack: results are scaled only when a score is so much greater than those
// before.
inline constexpr float kSlack = 8;

// Stages of queries, keys and values by one number.
inline constexpr int kFirstKeys = kQueryStages, kFirstValues = kFirstKeys + kStages;
inline constexpr int kAllStages = kFirstValues + kStages;

struct Shared {
    PhaseBarrier here[kAllStages], used[kAllStages];
    uint32_t known[4][kKeys / 32];  // of four tiles
    int page[4][kKeys];
};

// 128 rows.
struct Work {
    Sequence s;
    int head, first_row, row_count;
    int tiles;  // of keys; 0: results are zeros, or there is nothing to do
    int seen;   // keys
    int index;  // of the sequence

    // The order: some units (sequences and heads) whose keys fit into L2, of these the rows that
    // see most keys first.
    // Every second time, blocks take them in the opposite order.
    INFINI_DEVICE void find(const GroupParams &p, int item) {
        const int units = (kRagged ? 1 : p.sequences) * p.heads;
        tiles = row_count = 0;
        if (p.turns && item / int(gridDim.x) % 2) item += int(gridDim.x) - 1 - 2 * int(blockIdx.x);
        if (item >= p.tiles * units) return;
        const int chunk = item / (p.chunk * p.tiles) * p.chunk;
        const int count = units - chunk < p.chunk ? units - chunk : p.chunk;
        const int rest = item - chunk * p.tiles, unit = chunk + rest % count;
        int tile = p.tiles - 1 - rest / count;
        index = unit / p.heads;
        head = unit % p.heads;
        if constexpr (kRagged) {
            const int32_t *ends = p.segments + p.sequences + 3;
            if (tile >= ends[p.sequences + 2]) return;
            index = find_segment(ends + 1, p.sequences + 2, tile);
            tile -= ends[index];
        }
        s = find_sequence(p, index, head);
        first_row = tile * kRows, row_count = s.queries * int(p.group.divisor);
        const int last = first_row + kRows < row_count ? first_row + kRows - 1 : row_count - 1;
        seen = key_limit(s, int(p.group.divide(uint32_t(last))));
        tiles = (seen + kKeys - 1) / kKeys;
    }
};

// ---- The warpgroup that copies ------------------------------------------------------------------

// The compiler does not compute what depends on this before loops around: there are more such
// values than registers.
INFINI_DEVICE int computed_here(int value) {
#ifndef INFINI_SIMULATED
    asm volatile("" : "+r"(value));
#endif
    return value;
}

struct Producer {
    // What copies of a tile need to know of the work.
    struct Keys {
        const T *from;
        int head, index, seen;
    };

    const GroupParams &p;
    Shared &shared;
    unsigned char *memory;
    int thread;
    Work w = {};
    int number = 0;  // of the work
    // Stages whose copies were begun and not shown, the older one first; -1: none.
    int begun[kFlight] = {-1, -1};

    // Tells consumers of the oldest copy. What a consumer needs before it frees the stage of the
    // next copy has been shown by then.
    INFINI_DEVICE void show_oldest() {
        if (begun[0] >= 0) {
            show_to_products();
            arrive(begun[0]);
        }
        begun[0] = begun[1], begun[1] = -1;
    }
    INFINI_DEVICE void end_copy(int stage) {
        commit_copies();
        wait_for_copies<kFlight>();
        show_oldest();
        begun[1] = stage;
    }
    INFINI_DEVICE void show_all() {
        wait_for_copies<0>();
        show_oldest();
        show_oldest();
    }
    INFINI_DEVICE void arrive(int stage) {
        __syncwarp();
        if (lane() == 0) shared.here[stage].arrive();
    }

    INFINI_DEVICE void find_pages(int tile, int slot) {
        if constexpr (kPaged) {
            const int t = tile * kKeys + thread;
            int64_t page = -1;
            if (t < w.seen)
                page = int64_t(w.s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
            const bool known = page >= 0 && page < p.pages;
            shared.page[slot][thread] = known ? int(page) : -1;
            const uint32_t bits = __ballot_sync(kAllLanes, known);
            if (lane() == 0) shared.known[slot][thread / 32] = bits;
            wait_at(kProducers, kGroup);
        }
    }

    // Keys or values of a tile of `work`, with the bulk engine.
    INFINI_DEVICE void copy_boxes(unsigned char *to, const TensorMap &map, int panels,
                                  const Keys &work, int tile, int slot, int stage) {
        if (thread < 32) {
            PhaseBarrier &barrier = shared.here[stage];
            if (lane() == 0) barrier.expect(panels * kKeyPanel);
            __syncwarp();
            const int first = tile * kKeys;
            if constexpr (!kPaged) {
                if (lane() < panels)
                    copy_box(to + lane() * kKeyPanel, map, lane() * kPanelColumns, first, work.head,
                             work.index - kRagged, barrier);
            } else {
                const int boxes = kKeys / p.box_rows;
                for (int i = lane(); i < boxes * panels; i += 32) {
                    const int panel = i / boxes, row = i % boxes * p.box_rows;
                    const int page = shared.page[slot][row];
                    // What is not there comes as zeros.
                    copy_box(to + panel * kKeyPanel + row * kPanelRow, map, panel * kPanelColumns,
                             int(p.page_size.split(uint32_t(first + row)).remainder), work.head,
                             page < 0 ? int(p.pages) : page, barrier);
                }
            }
        }
        arrive(stage);
    }

    template <int columns>
    INFINI_DEVICE void copy_rows(unsigned char *to, const Keys &work, int tile, int slot,
                                 const AttentionStrides &stride, int size) {
        const int first = tile * kKeys;
        const T *from = work.from;
        auto target = [&](unsigned row, unsigned piece) {
            return reinterpret_cast<T *>(to + piece / 8 * kKeyPanel + panel_place(row, piece % 8));
        };
        if constexpr (!kPaged && kCanStep<columns, kKeys, kGroup>)
            if (p.vector)
                return copy_run<columns, kKeys, kGroup>(computed_here(thread),
                                                        from + first * stride.token, stride.token,
                                                        work.seen - first, size, target);
        auto find = [&](int row) -> const T * {
            const int t = first + row;
            if constexpr (!kPaged) return t < work.seen ? from + t * stride.token : nullptr;
            const int page = shared.page[slot][row];
            return page < 0 ? nullptr
                            : from + page * stride.batch +
                                  int64_t(p.page_size.split(uint32_t(t)).remainder) * stride.token;
        };
        copy_each<columns, kKeys, kGroup>(computed_here(thread), size, stride.inner, p.vector, find,
                                          target);
    }

    INFINI_DEVICE void copy_tile(bool values, const Keys &work, int tile, int step) {
        const int slot = step % 4, place = step % kStages;
        const int stage = (values ? kFirstValues : kFirstKeys) + place;
        shared.used[stage].wait(~(step / kStages) & 1);
        unsigned char *to =
            memory + (values ? kValuesAt + place * kValueBytes : kKeysAt + place * kKeyBytes);
        if (p.bulk && (!values || (tile + 1) * kKeys <= work.seen)) {
            copy_boxes(to, values ? p.v_map : p.k_map, (values ? kValue : kDepth) / kPanelColumns,
                       work, tile, slot, stage);
            return;
        }
        // One piece of code for both where it can be.
        if (!values || kDepth == kValue)
            copy_rows<kDepth>(to, work, tile, slot, values ? p.v_stride : p.k_stride,
                              values ? p.value_depth : p.depth);
        else
            copy_rows<kValue>(to, work, tile, slot, p.v_stride, p.value_depth);
        end_copy(stage);
        if (p.bulk) show_all();
    }

    INFINI_DEVICE void copy_queries() {
        const int stage = number % kQueryStages;
        unsigned char *to = memory + stage * kQueryBytes;
        if (kQueryStages == 1) show_all();  // the last queries are used together with values
        shared.used[stage].wait(~(number / kQueryStages) & 1);
        ++number;
        if (p.bulk_queries) {
            if (thread < 32) {
                if (lane() == 0) shared.here[stage].expect(kQueryBytes);
                __syncwarp();
                const int token = kRagged ? p.segments[w.index] : 0;
                if (lane() < kDepth / kPanelColumns)
                    copy_box(to + lane() * kQueryPanel, p.q_map, lane() * kPanelColumns,
                             w.head * int(p.group.divisor),
                             token + int(p.group.divide(uint32_t(w.first_row))),
                             kRagged ? 0 : w.index, shared.here[stage]);
            }
            arrive(stage);
            return;
        }
        copy_each<kDepth, kRows, kGroup>(
            computed_here(thread), p.depth, p.q_stride.inner, p.vector,
            [&](int row) {
                const int at = w.first_row + row;
                return at < w.row_count ? query_row(p, w.s, w.head, at) : nullptr;
            },
            [&](unsigned row, unsigned piece) {
                return reinterpret_cast<T *>(to + piece / 8 * kQueryPanel +
                                             panel_place(row, piece % 8));
            });
        end_copy(stage);
        if (p.bulk) show_all();
    }

    // The order: queries, keys 0, keys 1, values 0, keys 2, values 1, ..., over all work.
    INFINI_DEVICE void run(int items) {
        Keys last = {};
        int item = int(blockIdx.x), tile = 0, last_tile = 0;
        for (int step = 0;; ++step) {
            if (tile == w.tiles) {
                tile = w.tiles = 0;
                for (; item < items && w.tiles == 0; item += int(gridDim.x)) w.find(p, item);
                if (w.tiles > 0) copy_queries();
            }
            const bool more = w.tiles > 0;
            if (more) find_pages(tile, step % 4);
#pragma unroll 1
            for (int i = 0; i < 2; ++i)
                if (i ? step > 0 : more)
                    copy_tile(i, i ? last : Keys{w.s.k, w.head, w.index, w.seen},
                              i ? last_tile : tile, step - i);
            if (!more) break;
            last = {w.s.v, w.head, w.index, w.seen};
            last_tile = tile++;
        }
        show_all();
    }
};

// ---- The warpgroups that compute ----------------------------------------------------------------

struct Consumer {
    const GroupParams &p;
    Shared &shared;
    unsigned char *memory;
    int group;  // 0 or 1
    float scale;
    Work w = {};
    int item = 0, number = 0;  // of the work: among all, among this block's that has keys
    int step = 0;              // tiles before this one, of all work
    int all_seen = 0;          // keys before this are seen by all rows of this warp
    RowPair rows = {};
    T *targets[2] = {};  // this thread's results
    uint32_t weights[kKeys / 16][4] = {};

    // scores = queries @ keys of the tile.
    INFINI_DEVICE void begin_scores(float (&scores)[kKeys / 8][4]) {
        const int stage = step % kStages, slot = number % kQueryStages;
        shared.here[kFirstKeys + stage].wait(step / kStages & 1);
        const uint64_t a =
            operand(memory + slot * kQueryBytes + group * 64 * kPanelRow, 16, 8 * kPanelRow);
        const uint64_t b = operand(memory + kKeysAt + stage * kKeyBytes, 16, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int k = 0; k < kDepth / 16; ++k)
            wgmma<T>(scores, operand_at(a, k / 4 * kQueryPanel + k % 4 * 32),
                     operand_at(b, k / 4 * kKeyPanel + k % 4 * 32), k > 0);
        commit_products();
    }

    // results += weights @ values of the tile before. `add` false: results are overwritten.
    INFINI_DEVICE void begin_results(float (&results)[kValue / 8][4], bool add) {
        const int stage = (step - 1) % kStages;
        shared.here[kFirstValues + stage].wait((step - 1) / kStages & 1);
        const uint64_t b =
            operand(memory + kValuesAt + stage * kValueBytes, kKeyPanel, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            wgmma_across<T>(results, weights[k], operand_at(b, k * 16 * kPanelRow), k > 0 || add);
        commit_products();
    }

    // Scores become weights; gives the factors that older results must be multiplied with.
    INFINI_DEVICE void weigh(float (&scores)[kKeys / 8][4], int tile, float (&factor)[2]) {
        const int first = tile * kKeys;
        if constexpr (kSloped) scale_scores<kKeys / 8>(scores, rows, p.scale, first);
        uint32_t known[kKeys / 32];
        bool masked = first + kKeys > all_seen;
#pragma unroll
        for (int i = 0; i < kKeys / 32; ++i) {
            known[i] = kPaged ? shared.known[step % 4][i] : 0xffffffffu;
            masked = masked || known[i] != 0xffffffffu;
        }
        if (masked) mask_scores<kKeys / 8, !kPaged>(scores, rows, first, known);

        // This warp's arithmetic is alone on its part of the multiprocessor: chains are short.
        float top[4], sum[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) top[i] = scores[0][i];
#pragma unroll
        for (int n = 1; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) top[i] = fmaxf(top[i], scores[n][i]);
        float base[2];
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            float greatest = fmaxf(top[2 * row], top[2 * row + 1]);
            greatest = fmaxf(greatest, shuffle_xor(greatest, 1));
            greatest = fmaxf(greatest, shuffle_xor(greatest, 2));
            const float before = rows.greatest[row];
            const bool rises = (greatest - before) * scale > kSlack || before == kNone;
            rows.greatest[row] = rises ? greatest : before;
            factor[row] = rises ? exp2_fast((before - greatest) * scale) : 1.0f;
            if (before == kNone) factor[row] = 0;
            base[row] = rows.greatest[row] == kNone ? 0.0f : rows.greatest[row] * scale;
        }
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                scores[n][i] = exp2_fast(scores[n][i] * scale - base[i / 2]);
                sum[i] = n ? sum[i] + scores[n][i] : scores[n][i];
            }
#pragma unroll
        for (int row = 0; row < 2; ++row)  // of this thread's keys only
            rows.sum[row] = rows.sum[row] * factor[row] + (sum[2 * row] + sum[2 * row + 1]);
    }
    INFINI_DEVICE void pack(const float (&scores)[kKeys / 8][4]) {
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            pack_weights(weights[k], scores[2 * k], scores[2 * k + 1]);
    }
    INFINI_DEVICE void free(int stage) {
        if (lane() == 0) shared.used[stage].arrive();
    }

    // The next work that has keys; false: there is none. Rows that see none become zeros.
    INFINI_DEVICE bool find_work(int items) {
        for (; item < items; item += int(gridDim.x)) {
            w.find(p, item);
            const int my_row = w.first_row + group * 64 + warp() % 4 * 16;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int row = my_row + lane() / 4 + 8 * i;
                targets[i] = row < w.row_count ? result_row(p, w.s, w.head, row) : nullptr;
            }
            if (w.tiles == 0) {
                const float zeros[kValue / 8][4] = {}, sums[2] = {};
                write(zeros, targets, sums);
                continue;
            }
            all_seen = key_limit(w.s, int(p.group.divide(uint32_t(my_row))));
            rows = {};
            rows.find(p, w.s, w.head, my_row);
            shared.here[number % kQueryStages].wait(number / kQueryStages & 1);
            return true;
        }
        return false;
    }

    INFINI_DEVICE void run(int items) {
        float results[kValue / 8][4], scores[kKeys / 8][4], factor[2];
        item = int(blockIdx.x);
        if (!find_work(items)) return;
        if (group == 1) arrive_at(kTurn, 2 * kGroup);  // the first consumer begins
        begin_scores(scores);
        wait_for_products<0>();
        settle(scores);
        free(kFirstKeys + 0);
        if (w.tiles == 1) free(0);
        weigh(scores, 0, factor);
        pack(scores);
        T *done[2];
        float sums[2];
        bool add = false;
        for (int tile = 1;; ++tile) {
            ++step;
            const bool fresh = tile == w.tiles;
            if (fresh) {
#pragma unroll
                for (int i = 0; i < 2; ++i) done[i] = targets[i], sums[i] = rows.sum[i];
                item += int(gridDim.x), ++number, tile = 0;
                if (!find_work(items)) break;
            }
            wait_at(kTurn + group, 2 * kGroup);
            begin_scores(scores);
            begin_results(results, add);
            arrive_at(kTurn + 1 - group, 2 * kGroup);
            wait_for_products<1>();
            settle(scores);
            free(kFirstKeys + step % kStages);
            if (tile + 1 == w.tiles) free(number % kQueryStages);
            weigh(scores, tile, factor);
            // Never. But without a branch the compiler waits before it weighs, for nothing there
            // depends on the wait.
            if (rows.sum[0] + rows.sum[1] < 0) stop_kernel();
            wait_for_products<0>();
            settle(results);
            free(kFirstValues + (step - 1) % kStages);
            if (fresh) write(results, done, sums);
            add = !fresh;
            if (__any_sync(kAllLanes, factor[0] != 1.0f || factor[1] != 1.0f))
                scale_results<kValue / 8>(results, factor);
            pack(scores);
        }
        if (group == 0) wait_at(kTurn, 2 * kGroup);  // every arrival is waited for
        begin_results(results, add);
        wait_for_products<0>();
        settle(results);
        write(results, done, sums);
    }

    INFINI_DEVICE void write(const float (&results)[kValue / 8][4], T *const (&to)[2],
                             const float (&sums)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float sum = sums[i];
            sum += shuffle_xor(sum, 1);
            sum += shuffle_xor(sum, 2);
            const float inverse = sum == 0 ? 0.0f : 1 / sum;
            if (!to[i]) continue;
            const int skip = 2 * (lane() % 4), left = p.value_depth - skip;
            const int64_t inner = p.store_vector ? 1 : p.out_stride.inner;
            T *at = to[i] + skip * inner;
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n, at += 8 * inner) {
                const uint32_t pair =
                    pack_pair<T>(results[n][2 * i] * inverse, results[n][2 * i + 1] * inverse);
                if (8 * n >= left) continue;
                if (p.store_vector) {
                    *reinterpret_cast<uint32_t *>(to[i] + skip + 8 * n) = pair;
                    continue;
                }
                at[0] = T{uint16_t(pair)};
                if (8 * n + 1 < left) at[inner] = T{uint16_t(pair >> 16)};
            }
        }
    }
};

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    if (threadIdx.x == 0) {
        constexpr int kWarps = 4;  // of a warpgroup; each arrives once
        for (int i = 0; i < kAllStages; ++i)
            shared.here[i].start(kWarps), shared.used[i].start(2 * kWarps);
        show_barriers();
    }
    __syncthreads();
    const int group = int(threadIdx.x) / kGroup;
    int items = p.tiles * p.heads * (kRagged ? 1 : p.sequences);
    items = (items + int(gridDim.x) - 1) / int(gridDim.x) * int(gridDim.x);
    if (group == 2) {
        give_registers<72>();
        Producer producer = {p, shared, memory, int(threadIdx.x) % kGroup};
        producer.run(items);
    } else {
        take_registers<216>();
        Consumer consumer = {p, shared, memory, group, folded_scale(p)};
        consumer.run(items);
    }
}

}  // namespace infini
