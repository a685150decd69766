// Definitions shared by the warpgroups of flash_sm90.cuh, and the producer, which finds the block's
// work and copies queries, keys and values to shared memory.
//
// Uses TMA if the strides of the tensors or their pages allow it, and otherwise cp.async: each
// thread waits for its own copies, fences them for wgmma, and then arrives at the barrier. Values
// of a partial tile are always copied with cp.async: memory after the last key may hold NaN, and 0
// * NaN would reach the results.
//
// Packed sequences have pages of one key (kSingle), which are mostly contiguous: a tile of
// contiguous pages is copied as one box.
//
// Requires the definitions for tile.cuh, with kDepth and kValue multiples of 64; kQueryStages (1 or
// 2), kKeyStages and kValueStages (2 or 3), the numbers of stages for queries, keys and values;
// kSingle; and kBulk: TMA can copy everything and results are stored 16 bytes at a time, so the
// other code is compiled out.
#pragma once

#include "hopper.cuh"
#include "tile.cuh"

namespace infini {

inline constexpr int kGroup = 128;              // threads of a warpgroup
inline constexpr int kRows = 128, kKeys = 128;  // rows per block; keys per tile
inline constexpr int kQueryBytes = kRows * kDepth * 2;
inline constexpr int kKeyBytes = kKeys * kDepth * 2, kValueBytes = kKeys * kValue * 2;
inline constexpr int kKeyPanel = kKeys * kPanelRow, kQueryPanel = kRows * kPanelRow;
static_assert(kKeyPanel == kQueryPanel);
inline constexpr int kKeysAt = kQueryStages * kQueryBytes;
inline constexpr int kValuesAt = kKeysAt + kKeyStages * kKeyBytes;
inline constexpr int kSlots = 4;  // number of tiles whose pages are kept
static_assert(kKeyStages < kSlots);
inline constexpr int kTurn = 1, kProducers = 3;  // named barriers; the consumers' turns use 1 and 2
// Stages of queries, keys and values have consecutive indices.
inline constexpr int kFirstKeys = kQueryStages, kFirstValues = kFirstKeys + kKeyStages;
inline constexpr int kAllStages = kFirstValues + kValueStages;

// find_segment for a whole warp, 32 entries at a time: one or two memory latencies.
INFINI_DEVICE int find_segment_together(const int32_t *ends, int count, int place) {
    int low = 0;
#pragma unroll 1
    for (int size = count;;) {
        const int step = (size + kWarp - 1) / kWarp, at = low + (lane() + 1) * step - 1;
        const int end = ends[at < count ? at : count - 1];
        low += (__ffs(int(__ballot_sync(kAllLanes, end > place))) - 1) * step;
        if (step == 1) return low;
        size = step;
    }
}

// A work item: 128 rows.
struct Work {
    Sequence s;
    int head, first_row, row_count;
    int begin, tiles;  // tiles of keys: first, end (0: zeros, or nothing to do)
    int from, seen;    // keys: the first one that any row sees, and the end
    int index;         // index of the sequence

    // Work items are ordered by groups of units (sequences and heads) whose keys fit into L2.
    // Within a group, the rows that see the most keys come first. For ragged queries a unit is a
    // head with `all_tiles` tiles of rows.
    INFINI_DEVICE void find(const AttentionSm90Params &p, int item, int all_tiles) {
        int tile;
        begin = tiles = row_count = 0;
        if constexpr (kRagged) {
            const unsigned size = unsigned(p.chunk) * unsigned(all_tiles);
            const int chunk = int(unsigned(item) / size), left = p.heads - chunk * p.chunk;
            const unsigned rest = unsigned(item) - unsigned(chunk) * size;
            const unsigned units = unsigned(left < p.chunk ? left : p.chunk), of = rest / units;
            head = chunk * p.chunk + int(rest - of * units);
            tile = all_tiles - 1 - int(of);
            const int32_t *ends = p.segments + p.sequences + 3;
            index = find_segment_together(ends + 1, p.sequences + 2, tile);
            tile -= ends[index];
        } else {
            const Quotient chunk = p.chunk_items.split(uint32_t(item));
            const Divider &units =
                int(chunk.quotient) < p.chunks - 1 ? p.chunk_units : p.last_units;
            const Quotient rest = units.split(chunk.remainder);
            const Quotient unit = p.unit_heads.split(chunk.quotient * p.chunk + rest.remainder);
            tile = p.tiles - 1 - int(rest.quotient);
            index = int(unit.quotient), head = int(unit.remainder);
        }
        s = find_sequence(p, index, head);
        first_row = tile * kRows, row_count = s.queries * int(p.group.divisor);
        const int last = first_row + kRows < row_count ? first_row + kRows - 1 : row_count - 1;
        seen = key_limit(s, int(p.group.divide(uint32_t(last))));
        from = key_begin(p, s, int(p.group.divide(uint32_t(first_row))));
        begin = from / kKeys, tiles = (seen + kKeys - 1) / kKeys;
    }
};

struct Shared {
    PhaseBarrier here[kAllStages], used[kAllStages];
    Work work[kQueryStages];  // work items of the query stages; no tiles: the end of the work
    uint32_t known[kPaged ? kSlots : 1][kKeys / 32];
    bool in_order[kSlots][kKeys / 32];  // kSingle: whether pages are consecutive
    int item[2];                        // ragged queries: work items that were taken in advance
    int page[kPaged ? kSlots : 1][kKeys];
};

// A stage of keys or values, and the parity of its phase.
template <int stages>
struct Place {
    int at = 0, phase = 0;

    INFINI_DEVICE void advance() {
        if (++at == stages) at = 0, phase ^= 1;
    }
};

struct Producer {
    // A copy: the queries of a work item, or a tile of its keys or values.
    enum Kind { kOfQueries, kOfKeys, kOfValues };
    struct Tile {
        const T *from;  // the keys or values
        int head, index, seen;
        int first;  // first key
    };

    const AttentionSm90Params &p;
    Shared &shared;
    unsigned char *memory;
    int thread;
    Work w = {};
    int round = 0, number = 0;  // rounds of all blocks; work items with keys of this block
    int items = 0, all_tiles = 0, taken = 0;
    Place<kKeyStages> keys;
    Place<kValueStages> values;
    int64_t page = -1, start = -1;  // pages of this thread's key of the next tile, of its first key
    // Stages whose copies were issued but not yet signalled, oldest first; -1: none.
    int begun[2] = {-1, -1};

    // Signals copies that have arrived to the consumers: all, or all except the last one. A
    // consumer never waits for a copy that is only signalled after a stage which the consumer has
    // yet to free.
    INFINI_DEVICE void show(bool all) {
        if (all)
            wait_for_copies<0>();
        else
            wait_for_copies<1>();
#pragma unroll 1
        for (int i = all ? 2 : 1; i > 0; --i) {
            if (begun[0] >= 0) {
                show_to_products();
                arrive(begun[0]);
            }
            begun[0] = begun[1], begun[1] = -1;
        }
    }
    INFINI_DEVICE void arrive(int stage) {
        __syncwarp();
        if (lane() == 0) shared.here[stage].arrive();
    }

    // Starts looking up the pages of a tile.
    INFINI_DEVICE void look_up(int first) {
        const int t = first + thread;
        page = start = -1;
        const uint32_t entry = p.page_size.divide(uint32_t(t));
        // Pages before the window are not read.
        if (t < w.seen && (!kWindow || entry >= p.page_size.divide(uint32_t(w.from))))
            page = int64_t(w.s.table[entry * p.table_stride]);
        if (kSingle && first < w.seen) start = int64_t(w.s.table[first * p.table_stride]);
    }
    // Stores the looked-up pages in shared memory, and starts looking up those of the next tile.
    INFINI_DEVICE void find_pages(int first, int slot) {
        if constexpr (kPaged) {
            if (first == w.begin * kKeys) look_up(first);
            const bool known = page >= 0 && page < p.pages;
            shared.page[slot][thread] = known ? int(page) : -1;
            const uint32_t bits = __ballot_sync(kAllLanes, known);
            const bool follows = first + thread >= w.seen || (known && page == start + thread);
            const bool in_order = __all_sync(kAllLanes, follows);
            if (lane() == 0) {
                shared.known[slot][thread / 32] = bits;
                if (kSingle) shared.in_order[slot][thread / 32] = in_order;
            }
            look_up(first + kKeys);
            wait_at(kProducers, kGroup);
        }
    }
    INFINI_DEVICE bool can_copy_boxes(Kind kind, const Tile &of, int slot) {
        if (kind == kOfQueries) return p.bulk_queries;
        // Without lengths TMA fills rows after the last key with zeros.
        const bool whole = kind != kOfValues || !p.lengths || of.first + kKeys <= of.seen;
        const bool *warps = shared.in_order[slot];
        return p.bulk && whole && (!kSingle || (warps[0] && warps[1] && warps[2] && warps[3]));
    }
    INFINI_DEVICE int place_in_page(int t) { return int(p.page_size.split(uint32_t(t)).remainder); }

    // With TMA; out-of-bounds elements become zeros.
    INFINI_DEVICE void copy_boxes(Kind kind, const Tile &of, int slot, unsigned char *to,
                                  PhaseBarrier &barrier) {
        const bool queries = kind == kOfQueries;
        const TensorMap &map = queries ? p.q_map : kind == kOfKeys ? p.k_map : p.v_map;
        const int panels = (kind == kOfValues ? kValue : kDepth) / kPanelColumns;
        if (lane() == 0) barrier.expect(panels * kKeyPanel);
        __syncwarp();
        const int rows = kPaged && !queries ? p.box_rows : kKeys, boxes = kKeys / rows;
#pragma unroll 1
        for (int i = lane(); i < boxes * panels; i += 32) {
            const int panel = kPaged ? i / boxes : i, row = (i - panel * boxes) * rows;
            int y = of.first + row, z = of.head, part = of.index - kRagged;
            if (queries) {
                y = of.head * int(p.group.divisor);
                z = int(p.group.divide(uint32_t(w.first_row)));
                if constexpr (kRagged) z += p.segments[of.index], part = 0;
            } else if (kSingle) {
                y = shared.page[slot][0], part = 0;
            } else if (kPaged) {
                y = place_in_page(y);
                const int page = shared.page[slot][row];
                part = page < 0 ? int(p.pages) : page;
            }
            copy_box(to + panel * kKeyPanel + row * kPanelRow, map, panel * kPanelColumns, y, z,
                     part, barrier);
        }
    }

    // The row of queries, keys or values to copy from; null: none.
    INFINI_DEVICE const T *find_row(Kind kind, const Tile &of, int slot, int row) {
        if (kind == kOfQueries)
            return w.first_row + row < w.row_count ? query_row(p, w.s, w.head, w.first_row + row)
                                                   : nullptr;
        const int64_t step = kind == kOfKeys ? p.k_stride.token : p.v_stride.token;
        const int t = of.first + row;
        if constexpr (!kPaged) return t < of.seen ? of.from + t * step : nullptr;
        const int page = shared.page[slot][row];
        const int64_t skip = kind == kOfKeys ? p.k_stride.batch : p.v_stride.batch;
        return page < 0 ? nullptr : of.from + page * skip + place_in_page(t) * step;
    }
    INFINI_DEVICE void copy_rows(Kind kind, const Tile &of, int slot, unsigned char *to) {
        constexpr int kPieces = (kDepth < kValue ? kValue : kDepth) / kPiece;
        const int size = kind == kOfValues ? p.value_depth : p.depth;
        const int columns = kind == kOfValues ? kValue : kDepth;
        const int64_t inner = kind == kOfQueries ? p.q_stride.inner
                              : kind == kOfKeys  ? p.k_stride.inner
                                                 : p.v_stride.inner;
#pragma unroll 1
        for (unsigned i = unsigned(thread); i < kKeys * kPieces; i += kGroup) {
            const unsigned row = i / kPieces, piece = i % kPieces;
            const int column = int(piece) * kPiece;
            if (column >= columns) continue;
            const T *from = find_row(kind, of, slot, int(row));
            T *const at =
                reinterpret_cast<T *>(to + piece / 8 * kKeyPanel + panel_place(row, piece % 8));
            if (p.vector)
                copy_async(at, from + column, from && column < size ? 16 : 0);
            else
                load_elements(at, from, column, size, inner, from != nullptr);
        }
    }

    // One function for all copies, which keeps NVRTC fast. If `none` is true, nothing is copied and
    // the stage is only signalled; for queries this marks the end of the work.
    INFINI_DEVICE void copy(Kind kind, bool none, const Tile &of, int slot) {
        int stage, parity, at;
        if (kind == kOfQueries) {
            stage = number % kQueryStages, parity = ~(number / kQueryStages) & 1;
            at = stage * kQueryBytes;
            ++number;
        } else if (kind == kOfKeys) {
            stage = kFirstKeys + keys.at, parity = keys.phase ^ 1;
            at = kKeysAt + keys.at * kKeyBytes;
            keys.advance();
        } else {
            stage = kFirstValues + values.at, parity = values.phase ^ 1;
            at = kValuesAt + values.at * kValueBytes;
            values.advance();
        }
        // Consumers free the queries only after they have used every copy that was begun.
        if constexpr (!kBulk) show(none || kind == kOfQueries || p.bulk);
        shared.used[stage].wait(parity);
        if (kind == kOfQueries && thread == 0) shared.work[stage] = w;
        if (none) return arrive(stage);
        if (kBulk || can_copy_boxes(kind, of, slot)) {
            if (thread < 32) copy_boxes(kind, of, slot, memory + at, shared.here[stage]);
            return arrive(stage);
        }
        if constexpr (!kBulk) {
            copy_rows(kind, of, slot, memory + at);
            commit_copies();
            begun[1] = stage;
        }
    }

    // Every second round, blocks take work in the opposite order if the plan asks for it. Work
    // items of ragged queries differ in length, so blocks take the next one dynamically.
    INFINI_DEVICE int take_item() {
        const int block = int(blockIdx.x), blocks = int(gridDim.x);
        if constexpr (!kRagged) {
            const bool turned = p.turns && round % 2;
            return round++ * blocks + (turned ? blocks - 1 - block : block);
        }
        if (thread == 0) shared.item[round % 2] = round ? blocks + taken : block;
        wait_at(kProducers, kGroup);
        const int item = shared.item[round++ % 2];
        // Requested one round in advance, so that its latency is hidden.
        if (thread == 0) taken = atomicAdd(taken_items(p), 1);
        return item;
    }
    INFINI_DEVICE void find_work() {
        for (w.begin = w.tiles = 0; w.tiles == 0;) {
            const int item = take_item();
            if (item >= items) break;
            w.find(p, item, all_tiles);
            if (w.tiles == 0) write_zeros();
        }
    }
    // Writes zeros to rows without visible keys.
    INFINI_DEVICE void write_zeros() {
        const int row = w.first_row + thread;
        if (row >= w.row_count) return;
        T *to = result_row(p, w.s, w.head, row);
#pragma unroll 1
        for (int i = 0; i < p.value_depth; ++i) to[i * p.out_stride.inner] = T{0};
    }

    // The order of copies: queries, keys 0, keys 1, values 0, keys 2, values 1, ..., over all work
    // items, with placeholders before the first values and after the last keys.
    INFINI_DEVICE void run() {
        Tile last = {};
        int tile = 0;
        items = p.items;
        if constexpr (kRagged) {
            all_tiles = p.segments[2 * p.sequences + 5];
            items = all_tiles * p.heads;
        }
        for (int step = 0;; ++step) {
            const bool fresh = tile == w.tiles;
            if (fresh) find_work(), tile = w.begin;
            const bool more = w.tiles > 0;
            const Tile now = {w.s.k, w.head, w.index, w.seen, tile * kKeys};
#pragma unroll 1
            for (int kind = fresh ? kOfQueries : kOfKeys; kind <= kOfValues; ++kind) {
                const bool of_values = kind == kOfValues;
                if (kind == kOfKeys && more) find_pages(now.first, step % kSlots);
                const Tile of = {of_values ? last.from : now.from, of_values ? last.head : now.head,
                                 of_values ? last.index : now.index,
                                 of_values ? last.seen : now.seen,
                                 of_values ? last.first : now.first};
                copy(Kind(kind), of_values ? step == 0 : !more, of,
                     (of_values ? step - 1 : step) % kSlots);
            }
            if (!more) break;
            last = now, last.from = w.s.v;
            ++tile;
        }
        if constexpr (!kBulk) show(true);
    }
};

}  // namespace infini
