// Shared by the MLA kernels on Hopper.
//
// A ring of panels of keys in shared memory that a producer warp fills with TMA. It holds the tiles
// of a block's range (see ranges.cuh), without a pause between units. Panels are freed
// individually, so that the next ones are in flight while others are used.
//
// Requires the definitions for ranges.cuh; kSlots: panels in the ring; kPanels: panels per tile;
// kHalfPanels: the first kHalfPanels of every odd tile arrive after its second kHalfPanels; kAhead:
// distance in tiles at which keys are prefetched to L2.
#pragma once

#include "hopper.cuh"
#include "ranges.cuh"
#include "tile.cuh"

namespace infini {

inline constexpr int kPanelBytes = kKeys * kPanelRow;
inline constexpr int kTilesAtOnce = 4;
static_assert(kSlots >= kPanels && kSlots <= (kTilesAtOnce - 1) * kPanels);

struct Ring {
    PhaseBarrier here[kSlots], used[kSlots];
    uint32_t missing[kTilesAtOnce];  // one bit per 16 keys without a page

    // Called by one thread; a panel is freed by `readers` arrivals.
    INFINI_DEVICE void start(int readers) {
#pragma unroll 1
        for (int i = 0; i < kSlots; ++i) here[i].start(1), used[i].start(readers);
        show_barriers();
    }
};

// The position of the tile number `step` in the ring.
struct RingPlace {
    int first, parity;  // slot of the first panel, and the parity of its phase
    int tile;           // index among the resident ones

    INFINI_DEVICE explicit RingPlace(int step)
        : first(int(unsigned(step) * kPanels % kSlots)),
          parity(int(unsigned(step) * kPanels / kSlots & 1)),
          tile(step % kTilesAtOnce) {}
    INFINI_DEVICE bool is_behind(int panel) const {
        return kSlots % kPanels != 0 && first + panel >= kSlots;
    }
    INFINI_DEVICE int slot(int panel) const {
        return is_behind(panel) ? first + panel - kSlots : first + panel;
    }
    INFINI_DEVICE int parity_of(int panel) const { return is_behind(panel) ? parity ^ 1 : parity; }
};

// The `i`-th panel of a unit's tile, in order of arrival.
INFINI_DEVICE int panel_in_turn(int i, int tile) {
    if (tile % 2 == 0 || i >= 2 * kHalfPanels) return i;
    return i < kHalfPanels ? i + kHalfPanels : i - kHalfPanels;
}

struct Box {
    int row, of;  // row in page or sequence number `of`
};

// Copies all tiles of a range; called by one warp.
INFINI_DEVICE void copy_tiles(const AttentionSm90Params &p, Ring &ring, unsigned char *slots,
                              Walk walk) {
    constexpr int kAtOnce = 4;                          // panels at a time
    const int boxes = kPaged ? kKeys / p.box_rows : 1;  // boxes per panel: 1, 2 or 4
    const int known_tiles = kWarp / boxes;              // tiles whose pages are held by the lanes
    const int box = lane() % boxes;
    int step = 0;
    for (; walk.left > 0; walk.next_unit(p)) {
        const Sequence s = find_sequence(p, walk.index, walk.head);
        int page = walk.index;
        for (int i = 0, count = walk.count(); i < count; ++i, ++step) {
            const RingPlace place(step);
            const int first = (walk.tile + i) * kKeys, turn = i % known_tiles;
            if (kPaged && turn == 0) {
                const int t = first + lane() * p.box_rows;
                int64_t of = -1;
                if (t < s.keys) of = s.table[p.page_size.divide(uint32_t(t)) * p.table_stride];
                page = of >= 0 && of < p.pages ? int(of) : -1;
            }
            // This lane's box of the current tile or of a later one.
            auto find = [&](int ahead) {
                Box at = {first + ahead * kKeys, page};
                if constexpr (kPaged) {
                    at.of = shuffle(page, (turn + ahead) * boxes + box);
                    if (at.of < 0) at.of = int(p.pages);  // filled with zeros
                    at.row = int(p.page_size.split(uint32_t(at.row + box * p.box_rows)).remainder);
                }
                return at;
            };
            if (kAhead && i + kAhead < count && turn + kAhead < known_tiles) {
                const Box at = find(kAhead);
#pragma unroll 1
                for (int panel = lane() / boxes; panel < kPanels; panel += known_tiles)
                    prefetch_box(p.k_map, panel * kPanelColumns, at.row, walk.head, at.of);
            }
            const Box at = find(0);
            uint32_t missing = 0;
            if constexpr (kPaged) {
                missing = __ballot_sync(kAllLanes, page < 0) >> turn * boxes;
                missing = boxes == 1   ? missing % 2 * 15
                          : boxes == 2 ? missing % 2 * 3 + missing / 2 % 2 * 12
                                       : missing % 16;
            }
#pragma unroll 1
            for (int begin = 0; begin < kPanels; begin += kAtOnce) {
                const int number = begin + lane() / boxes;
                const bool mine = lane() / boxes < kAtOnce && number < kPanels;
                const int panel = panel_in_turn(mine ? number : begin, i);
                const int slot = place.slot(panel);
                ring.used[slot].wait(place.parity_of(panel) ^ 1);
                if (mine && box == 0) {
                    if (kPaged) ring.missing[place.tile] = missing;
                    ring.here[slot].expect(kPanelBytes);
                }
                __syncwarp();
                if (mine)
                    copy_box(
                        slots + slot * kPanelBytes + (kPaged ? box * p.box_rows * kPanelRow : 0),
                        p.k_map, panel * kPanelColumns, at.row, walk.head, at.of, ring.here[slot]);
                __syncwarp();
                if (mine && box == 0) ring.here[slot].arrive();
            }
        }
    }
}

}  // namespace infini

// Loads queries into panels and stores results from them.
//
// Requires the definitions for tile.cuh; kRows, kConsumers (threads), kValuePanels.
namespace infini {

inline constexpr int kQueryPanel = kRows * kPanelRow;

// Loads queries from row `first` on; the caller fences them for wgmma.
INFINI_DEVICE void load_query_panels(const AttentionParams &p, const Sequence &s, int head,
                                     int first, unsigned char *to) {
    const int count = s.queries * int(p.group.divisor);
    copy_each<kDepth, kRows, kConsumers>(
        int(threadIdx.x), p.depth, p.q_stride.inner, p.vector,
        [&](int row) { return first + row < count ? query_row(p, s, head, first + row) : nullptr; },
        [&](unsigned row, unsigned piece) {
            return reinterpret_cast<T *>(to + piece / 8 * kQueryPanel +
                                         panel_place(row, piece % 8));
        });
    commit_copies();
    wait_for_copies<0>();
}

// Zeroes the rows after the last value: they may be NaN, and 0 * NaN would reach the results.
// Called by 128 threads; the caller fences the rows for wgmma.
INFINI_DEVICE void clear_values(unsigned char *slots, const RingPlace &place, int valid) {
#pragma unroll 1
    for (int i = (valid < 0 ? 0 : valid) * 8 + int(threadIdx.x) % 128; i < kKeys * 8; i += 128)
#pragma unroll 1
        for (int panel = 0; panel < kValuePanels; ++panel)
            store(reinterpret_cast<uint32_t *>(slots + place.slot(panel) * kPanelBytes + i * 16),
                  Vec<uint32_t, 4>{0, 0, 0, 0});
}

// Stores `rows` rows of results from panels, beginning at row `first` of the block, and `columns`
// columns beginning at `column`. Called by `threads` threads.
template <int rows, int columns, int threads>
INFINI_DEVICE void store_panels(const AttentionParams &p, const Walk &walk,
                                const unsigned char *from, int thread, int block_row, int first,
                                int column) {
    constexpr unsigned kPieces = columns / kPiece;
    const Sequence s = find_sequence(p, walk.index, walk.head);
    const int64_t inner = p.out_stride.inner;
#pragma unroll 1
    for (unsigned i = unsigned(thread); i < rows * kPieces; i += threads) {
        const unsigned row = unsigned(first) + i / kPieces;
        const unsigned piece = unsigned(column) / kPiece + i % kPieces;
        if (block_row + int(row) >= p.rows) continue;
        const T *values = reinterpret_cast<const T *>(from + piece / 8 * kQueryPanel +
                                                      panel_place(row, piece % 8));
        T *to = result_row(p, s, walk.head, block_row + int(row)) + int64_t(piece) * kPiece * inner;
        if (p.store_vector)
            store(to, load<kPiece>(values));
        else
#pragma unroll 1
            for (int j = 0; j < kPiece; ++j) to[j * inner] = values[j];
    }
}

}  // namespace infini
