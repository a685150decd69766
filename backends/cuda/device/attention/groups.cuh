// Attention of many rows on Hopper's tensor cores (wgmma): a block has 128 rows of one key head and
// goes over keys 128 at a time. Three warpgroups: one copies queries, keys and values to shared
// memory, two have 64 rows each.
//
// A consumer begins the product of the next keys, then that of these values, and computes the
// weights of the next keys while the second one runs. The two take turns in beginning their
// products, so that one's weights are computed while the other's products run.
//
// Copies are ordinary cp.async (not the bulk engine), so that keys may lie in pages, in strided or
// ragged tensors: a thread waits for its own copies, shows them to the products, and then arrives.
//
// FLOPs: 4 * depth for each row and key that it sees. Bytes: keys and values once for each 128
// rows, mostly from L2. With sizes of 128: 160 KiB of shared memory, one block of 384 threads on a
// multiprocessor, which goes on with the next rows: their queries and keys are copied while results
// are written.
//
// Before this: what tile.cuh wants, with kDepth and kValue multiples of 64.
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
inline constexpr int kTurn = 1, kProducers = 3;  // named barriers: 1 and 2 are the consumers' turns

struct Shared {
    PhaseBarrier queries, keys[kStages], values[kStages];  // are here
    PhaseBarrier queries_used, keys_used[kStages], values_used[kStages];
    uint32_t known[4][kKeys / 32];  // of four tiles
    int page[4][kKeys];
};

// 128 rows.
struct Work {
    Sequence s;
    int head, first_row, row_count;
    int tiles;  // of keys; 0: results are zeros, or there is nothing to do
    int seen;   // keys

    // The order: some units (sequences and heads) whose keys fit into L2, of these the rows that
    // see most keys first.
    INFINI_DEVICE void find(const AttentionParams &p, int item) {
        const int units = (kRagged ? 1 : p.sequences) * p.heads;
        const int chunk = item / (p.chunk * p.tiles) * p.chunk;
        const int count = units - chunk < p.chunk ? units - chunk : p.chunk;
        const int rest = item - chunk * p.tiles, unit = chunk + rest % count;
        int tile = p.tiles - 1 - rest / count, index = unit / p.heads;
        head = unit % p.heads;
        tiles = row_count = 0;
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

struct Producer {
    const AttentionParams &p;
    Shared &shared;
    unsigned char *memory;
    int thread;
    Work w = {};
    int begun = 0, shown = 0;  // copies of keys or values
    int base = 0;              // tiles of work before this
    int number = 0;            // of the work

    // Copy i of the order keys 0, keys 1, values 0, keys 2, values 1, ..., values n - 1.
    struct Copy {
        bool of_keys;
        int tile;
    };
    INFINI_DEVICE Copy copy_at(int i) const {
        if (i == 0) return {true, 0};
        if (i == 2 * w.tiles - 1) return {false, w.tiles - 1};
        return i % 2 ? Copy{true, (i + 1) / 2} : Copy{false, i / 2 - 1};
    }

    // Tells consumers of the oldest copy that was not shown.
    INFINI_DEVICE void show() {
        const Copy copy = copy_at(shown++);
        show_to_products();
        (copy.of_keys ? shared.keys : shared.values)[(base + copy.tile) % kStages].arrive();
        if (shown == 1) shared.queries.arrive();  // which came with the first keys
    }

    INFINI_DEVICE void find_pages(int tile) {
        if constexpr (kPaged) {
            const int t = tile * kKeys + thread;
            int64_t page = -1;
            if (t < w.seen)
                page = int64_t(w.s.table[p.page_size.divide(uint32_t(t)) * p.table_stride]);
            const bool known = page >= 0 && page < p.pages;
            shared.page[(base + tile) % 4][thread] = known ? int(page) : -1;
            const uint32_t bits = __ballot_sync(kAllLanes, known);
            if (lane() == 0) shared.known[(base + tile) % 4][thread / 32] = bits;
            wait_at(kProducers, kGroup);
        }
    }

    template <int columns>
    INFINI_DEVICE void copy_rows(unsigned char *to, int tile, const T *from,
                                 const AttentionStrides &stride, int size) {
        const int first = tile * kKeys;
        auto target = [&](int row, int piece) {
            return reinterpret_cast<T *>(to + piece / 8 * kKeyPanel + panel_place(row, piece % 8));
        };
        if constexpr (!kPaged && kCanStep<columns, kKeys, kGroup>)
            if (p.vector)
                return copy_run<columns, kKeys, kGroup>(thread, from + first * stride.token,
                                                        stride.token, w.seen - first, size, target);
        auto find = [&](int row) -> const T * {
            const int t = first + row;
            if constexpr (!kPaged) return t < w.seen ? from + t * stride.token : nullptr;
            const int page = shared.page[(base + tile) % 4][row];
            return page < 0 ? nullptr
                            : from + page * stride.batch +
                                  int64_t(p.page_size.split(uint32_t(t)).remainder) * stride.token;
        };
        copy_each<columns, kKeys, kGroup>(thread, size, stride.inner, p.vector, find, target);
    }

    INFINI_DEVICE void copy_queries() {
        copy_each<kDepth, kRows, kGroup>(
            thread, p.depth, p.q_stride.inner, p.vector,
            [&](int row) {
                const int at = w.first_row + row;
                return at < w.row_count ? query_row(p, w.s, w.head, at) : nullptr;
            },
            [&](int row, int piece) {
                return reinterpret_cast<T *>(memory + piece / 8 * kQueryPanel +
                                             panel_place(row, piece % 8));
            });
    }

    INFINI_DEVICE void run(int item) {
        w.find(p, item);
        if (w.tiles == 0) return;
        begun = shown = 0;
        for (; begun < 2 * w.tiles; ++begun) {
            const Copy copy = copy_at(begun);
            const int stage = (base + copy.tile) % kStages, round = (base + copy.tile) / kStages;
            unsigned char *to = memory + kQueryBytes;
            if (copy.of_keys) {
                find_pages(copy.tile);
                shared.keys_used[stage].wait(~round & 1);
                to += stage * kKeyBytes;
            } else {
                shared.values_used[stage].wait(~round & 1);
                to += kStages * kKeyBytes + stage * kValueBytes;
            }
            // One piece of code for both where it can be.
            if (copy.of_keys || kDepth == kValue)
                copy_rows<kDepth>(to, copy.tile, copy.of_keys ? w.s.k : w.s.v,
                                  copy.of_keys ? p.k_stride : p.v_stride,
                                  copy.of_keys ? p.depth : p.value_depth);
            else
                copy_rows<kValue>(to, copy.tile, w.s.v, p.v_stride, p.value_depth);
            if (begun == 0) {
                shared.queries_used.wait(~number & 1);
                copy_queries();
            }
            commit_copies();
            // What a consumer needs before it frees the stage of the next copy has been shown by
            // then.
            if (begun >= kFlight) {
                wait_for_copies<kFlight>();
                show();
            }
        }
        wait_for_copies<0>();
        while (shown < begun) show();
        base += w.tiles;
        ++number;
    }
};

// ---- The warpgroups that compute ----------------------------------------------------------------

struct Consumer {
    const AttentionParams &p;
    Shared &shared;
    unsigned char *memory;
    int group;  // 0 or 1
    float scale;
    Work w = {};
    int base = 0, number = 0;  // as the producer has them
    int all_seen = 0;          // keys before this are seen by all rows of this warp
    RowPair rows = {};
    uint32_t weights[kKeys / 16][4] = {};

    // scores = queries @ keys of a tile.
    INFINI_DEVICE void begin_scores(float (&scores)[kKeys / 8][4], int tile) {
        const int stage = (base + tile) % kStages, round = (base + tile) / kStages;
        shared.keys[stage].wait(round & 1);
        const uint64_t a = operand(memory + group * 64 * kPanelRow, 16, 8 * kPanelRow);
        const uint64_t b = operand(memory + kQueryBytes + stage * kKeyBytes, 16, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int k = 0; k < kDepth / 16; ++k)
            wgmma<T>(scores, operand_at(a, k / 4 * kQueryPanel + k % 4 * 32),
                     operand_at(b, k / 4 * kKeyPanel + k % 4 * 32), k > 0);
        commit_products();
    }

    // results += weights @ values of a tile.
    INFINI_DEVICE void begin_results(float (&results)[kValue / 8][4], int tile) {
        const int stage = (base + tile) % kStages, round = (base + tile) / kStages;
        shared.values[stage].wait(round & 1);
        const uint64_t b = operand(memory + kQueryBytes + kStages * kKeyBytes + stage * kValueBytes,
                                   kKeyPanel, 8 * kPanelRow);
        begin_products();
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            wgmma_across<T>(results, weights[k], operand_at(b, k * 16 * kPanelRow), true);
        commit_products();
    }

    INFINI_DEVICE void weigh(float (&scores)[kKeys / 8][4], int tile, float (&factor)[2]) {
        const int first = tile * kKeys;
        if constexpr (kSloped) scale_scores<kKeys / 8>(scores, rows, p.scale, first);
        uint32_t known[kKeys / 32];
        bool masked = first + kKeys > all_seen;
#pragma unroll
        for (int i = 0; i < kKeys / 32; ++i) {
            known[i] = kPaged ? shared.known[(base + tile) % 4][i] : 0xffffffffu;
            masked = masked || known[i] != 0xffffffffu;
        }
        if (masked) mask_scores<kKeys / 8, !kPaged>(scores, rows, first, known);
        take_scores<kKeys / 8>(scores, rows, scale, factor);
    }
    INFINI_DEVICE void pack(const float (&scores)[kKeys / 8][4]) {
#pragma unroll
        for (int k = 0; k < kKeys / 16; ++k)
            pack_weights(weights[k], scores[2 * k], scores[2 * k + 1]);
    }
    INFINI_DEVICE void free(PhaseBarrier &used) {
        if (lane() == 0) used.arrive();
    }

    INFINI_DEVICE void run(int item) {
        w.find(p, item);
        const int my_row = w.first_row + group * 64 + warp() % 4 * 16;
        all_seen = key_limit(w.s, int(p.group.divide(uint32_t(my_row))));
        rows = {};
        float results[kValue / 8][4] = {};
        if (w.tiles > 0) {
            rows.find(p, w.s, w.head, my_row);
            float scores[kKeys / 8][4], factor[2];
            shared.queries.wait(number & 1);
            // The first consumer begins. All that arrive somewhere are waited for before the next
            // work.
            if (group == 1 && w.tiles > 1) arrive_at(kTurn + 0, 2 * kGroup);
            begin_scores(scores, 0);
            wait_for_products<0>();
            settle(scores);
            free(shared.keys_used[base % kStages]);
            if (w.tiles == 1) free(shared.queries_used);
            weigh(scores, 0, factor);
            pack(scores);
            for (int tile = 1; tile < w.tiles; ++tile) {
                wait_at(kTurn + group, 2 * kGroup);
                begin_scores(scores, tile);
                begin_results(results, tile - 1);
                if (group == 0 || tile + 1 < w.tiles) arrive_at(kTurn + 1 - group, 2 * kGroup);
                wait_for_products<1>();
                settle(scores);
                free(shared.keys_used[(base + tile) % kStages]);
                if (tile + 1 == w.tiles) free(shared.queries_used);
                weigh(scores, tile, factor);
                wait_for_products<0>();
                settle(results);
                free(shared.values_used[(base + tile - 1) % kStages]);
                scale_results<kValue / 8>(results, factor);
                pack(scores);
            }
            begin_results(results, w.tiles - 1);
            wait_for_products<0>();
            settle(results);
            free(shared.values_used[(base + w.tiles - 1) % kStages]);
            base += w.tiles;
            ++number;
        }
        finish_rows(rows, scale);
        write(results, my_row);
    }

    INFINI_DEVICE void write(const float (&results)[kValue / 8][4], int my_row) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = my_row + lane() / 4 + 8 * i;
            if (row >= w.row_count) continue;
            const float inverse = rows.sum[i] == 0 ? 0.0f : 1 / rows.sum[i];
            T *to = result_row(p, w.s, w.head, row);
#pragma unroll
            for (int n = 0; n < kValue / 8; ++n) {
                const int e = 8 * n + 2 * (lane() % 4);
                const uint32_t pair =
                    pack_pair<T>(results[n][2 * i] * inverse, results[n][2 * i + 1] * inverse);
                if (e >= p.value_depth) continue;
                if (p.store_vector) {
                    *reinterpret_cast<uint32_t *>(to + e) = pair;
                    continue;
                }
                to[e * p.out_stride.inner] = T{uint16_t(pair)};
                if (e + 1 < p.value_depth)
                    to[(e + 1) * p.out_stride.inner] = T{uint16_t(pair >> 16)};
            }
        }
    }
};

INFINI_ENTRY(AttentionParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Shared shared;
    if (threadIdx.x == 0) {
        constexpr int kConsumerWarps = 8;
        shared.queries.start(kGroup), shared.queries_used.start(kConsumerWarps);
        for (int i = 0; i < kStages; ++i) {
            shared.keys[i].start(kGroup), shared.values[i].start(kGroup);
            shared.keys_used[i].start(kConsumerWarps), shared.values_used[i].start(kConsumerWarps);
        }
    }
    __syncthreads();
    const int group = int(threadIdx.x) / kGroup;
    const int items = p.tiles * p.heads * (kRagged ? 1 : p.sequences);
    if (group == 2) {
        give_registers<72>();
        Producer producer = {p, shared, memory, int(threadIdx.x) % kGroup};
        for (int item = int(blockIdx.x); item < items; item += int(gridDim.x)) producer.run(item);
    } else {
        take_registers<216>();
        Consumer consumer = {p, shared, memory, group, folded_scale(p)};
        for (int item = int(blockIdx.x); item < items; item += int(gridDim.x)) consumer.run(item);
    }
}

}  // namespace infini
