// What the warpgroups of groups.cuh share, and the one of them that copies: it finds the block's
// work and brings queries, keys and values to shared memory.
//
// Copies are done by the bulk engine where the tensors' strides, or their pages, allow it, and
// otherwise by cp.async: a thread waits for its own copies, shows them to the products, and then
// arrives. Values of a tile that is not full are always copied so: what lies behind the last key
// may be anything, and must be 0 where weights are.
//
// Before this: what tile.cuh wants, with kDepth and kValue multiples of 64; constants kQueryStages
// (1 or 2), kKeyStages and kValueStages (2 or 3): places for queries, keys and values.
#pragma once

#include "hopper.cuh"
#include "tile.cuh"

namespace infini {

inline constexpr int kGroup = 128;              // threads
inline constexpr int kRows = 128, kKeys = 128;  // of a block; at a time
inline constexpr int kFlight = 2;               // copies that a thread has begun and not yet shown
inline constexpr int kQueryBytes = kRows * kDepth * 2;
inline constexpr int kKeyBytes = kKeys * kDepth * 2, kValueBytes = kKeys * kValue * 2;
inline constexpr int kKeyPanel = kKeys * kPanelRow, kQueryPanel = kRows * kPanelRow;
inline constexpr int kKeysAt = kQueryStages * kQueryBytes;
inline constexpr int kValuesAt = kKeysAt + kKeyStages * kKeyBytes;
inline constexpr int kSlots = 4;  // of tiles whose pages are known
static_assert(kKeyStages < kSlots);
inline constexpr int kTurn = 1, kProducers = 3;  // named barriers: 1 and 2 are the consumers' turns
// Stages of queries, keys and values by one number.
inline constexpr int kFirstKeys = kQueryStages, kFirstValues = kFirstKeys + kKeyStages;
inline constexpr int kAllStages = kFirstValues + kValueStages;

// 128 rows.
struct Work {
    Sequence s;
    int head, first_row, row_count;
    int tiles;  // of keys; 0: results are zeros, or there is nothing to do
    int seen;   // keys
    int index;  // of the sequence

    // The order: some units (sequences and heads) whose keys fit into L2, of these the rows that
    // see most keys first.
    INFINI_DEVICE void find(const GroupParams &p, int item) {
        tiles = row_count = 0;
        if (item >= p.items) return;
        const Quotient chunk = p.chunk_items.split(uint32_t(item));
        const Divider &units = int(chunk.quotient) < p.chunks - 1 ? p.chunk_units : p.last_units;
        const Quotient rest = units.split(chunk.remainder);
        const Quotient unit = p.unit_heads.split(chunk.quotient * p.chunk + rest.remainder);
        int tile = p.tiles - 1 - int(rest.quotient);
        index = int(unit.quotient), head = int(unit.remainder);
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

struct Shared {
    PhaseBarrier here[kAllStages], used[kAllStages];
    Work work[kQueryStages];  // whose queries are there; without tiles: the last one
    uint32_t known[kPaged ? kSlots : 1][kKeys / 32];
    int page[kPaged ? kSlots : 1][kKeys];
};

// A stage of keys, or of values, and the parity of its phase.
template <int stages>
struct Place {
    int at = 0, phase = 0;

    INFINI_DEVICE void advance() {
        if (++at == stages) at = 0, phase ^= 1;
    }
};

// The compiler does not compute what depends on this before loops around: there are more such
// values than registers.
INFINI_DEVICE int computed_here(int value) {
#ifndef INFINI_SIMULATED
    asm volatile("" : "+r"(value));
#endif
    return value;
}
INFINI_DEVICE uint64_t computed_here(uint64_t value) {
#ifndef INFINI_SIMULATED
    asm volatile("" : "+l"(value));
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
    int round = 0, number = 0;  // of the work: of all blocks, of this one that has keys
    Place<kKeyStages> keys;
    Place<kValueStages> values;
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

    // Keys or values of a tile; none: only their stage is passed on.
    INFINI_DEVICE void copy_tile(bool of_values, bool none, const Keys &work, int tile, int step) {
        const int slot = step % kSlots;
        const int stage = of_values ? kFirstValues + values.at : kFirstKeys + keys.at;
        unsigned char *to = memory + (of_values ? kValuesAt + values.at * kValueBytes
                                                : kKeysAt + keys.at * kKeyBytes);
        if (none) show_all();
        shared.used[stage].wait((of_values ? values.phase : keys.phase) ^ 1);
        if (of_values)
            values.advance();
        else
            keys.advance();
        if (none) return arrive(stage);
        if (p.bulk && (!of_values || (tile + 1) * kKeys <= work.seen)) {
            copy_boxes(to, of_values ? p.v_map : p.k_map,
                       (of_values ? kValue : kDepth) / kPanelColumns, work, tile, slot, stage);
            return;
        }
        // One piece of code for both where it can be.
        if (!of_values || kDepth == kValue)
            copy_rows<kDepth>(to, work, tile, slot, of_values ? p.v_stride : p.k_stride,
                              of_values ? p.value_depth : p.depth);
        else
            copy_rows<kValue>(to, work, tile, slot, p.v_stride, p.value_depth);
        end_copy(stage);
        if (p.bulk) show_all();
    }

    // Tells consumers of the work; without tiles: that there is no more.
    INFINI_DEVICE void post_work() {
        const int stage = number % kQueryStages;
        unsigned char *to = memory + stage * kQueryBytes;
        show_all();  // consumers free queries after they have used all that was begun
        shared.used[stage].wait(~(number / kQueryStages) & 1);
        ++number;
        if (thread == 0) shared.work[stage] = w;
        if (w.tiles == 0) return arrive(stage);
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

    // Every second time, blocks take work in the opposite order where the plan wants that.
    INFINI_DEVICE void find_work() {
        const int block = int(blockIdx.x), blocks = int(gridDim.x);
        for (w.tiles = 0; round * blocks < p.items && w.tiles == 0; ++round) {
            w.find(p, round * blocks + (p.turns && round % 2 ? blocks - 1 - block : block));
            if (w.tiles == 0) write_zeros();
        }
    }
    // Rows that see no key.
    INFINI_DEVICE void write_zeros() {
        const int row = w.first_row + thread;
        if (row >= w.row_count) return;
        T *to = result_row(p, w.s, w.head, row);
#pragma unroll 1
        for (int i = 0; i < p.value_depth; ++i) to[i * p.out_stride.inner] = T{0};
    }

    // The order: queries, keys 0, keys 1, values 0, keys 2, values 1, ..., over all work. Before the
    // first values and behind the last keys there are some that are none.
    INFINI_DEVICE void run() {
        Keys last = {};
        int tile = 0, last_tile = 0;
        for (int step = 0;; ++step) {
            if (tile == w.tiles) {
                tile = 0;
                find_work();
                post_work();
            }
            const bool more = w.tiles > 0;
            if (more) find_pages(tile, step % kSlots);
#pragma unroll 1
            for (int i = 0; i < 2; ++i)
                copy_tile(i, i ? step == 0 : !more, i ? last : Keys{w.s.k, w.head, w.index, w.seen},
                          i ? last_tile : tile, step - i);
            if (!more) break;
            last = {w.s.v, w.head, w.index, w.seen};
            last_tile = tile++;
        }
        show_all();
    }
};

}  // namespace infini
