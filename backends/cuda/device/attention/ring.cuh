// A ring of tiles of keys and values in shared memory, that one warp fills with the bulk engine: the
// tiles of a block's range, see ranges.cuh, without a pause between units.
//
// Before this: what ranges.cuh wants; constants kStages, kKeyPanels, kPanels: panels of 64 columns,
// those of the keys first.
#pragma once

#include "hopper.cuh"
#include "ranges.cuh"

namespace infini {

inline constexpr int kPanelBytes = kKeys * kPanelRow, kStageBytes = kPanels * kPanelBytes;

struct Ring {
    PhaseBarrier here[kStages], used[kStages];
    uint32_t known[kStages];  // bits: boxes that have a page

    // By one thread; `readers` arrivals free a stage.
    INFINI_DEVICE void start(int readers) {
#pragma unroll 1
        for (int i = 0; i < kStages; ++i) here[i].start(1), used[i].start(readers);
        show_barriers();
    }
};

// By one warp: all tiles of a range.
INFINI_DEVICE void copy_tiles(const GroupParams &p, Ring &ring, unsigned char *memory, Walk walk) {
    const int boxes = kPaged ? kKeys / p.box_rows : 1;  // of a tile and panel: 1, 2 or 4
    const int known_tiles = kWarp / boxes;              // whose pages lanes know
    const int box = lane() % boxes;
    int stage = 0, parity = 1;
    for (; walk.left > 0; walk.next_unit(p)) {
        const Sequence s = find_sequence(p, walk.index, walk.head);
        int page = walk.index;
        for (int i = 0, count = walk.count(); i < count; ++i) {
            const int first = (walk.tile + i) * kKeys, turn = i % known_tiles;
            if (kPaged && turn == 0) {
                const int t = first + lane() * p.box_rows;
                int64_t of = -1;
                if (t < s.keys) of = s.table[p.page_size.divide(uint32_t(t)) * p.table_stride];
                page = of >= 0 && of < p.pages ? int(of) : -1;
            }
            PhaseBarrier &here = ring.here[stage];
            if (lane() == 0) ring.used[stage].wait(parity);
            __syncwarp();
            int place = first, of = page;
            if constexpr (kPaged) {
                const uint32_t known = __ballot_sync(kAllLanes, page >= 0) >> turn * boxes;
                if (lane() == 0) ring.known[stage] = known;
                of = shuffle(page, turn * boxes + box);
                if (of < 0) of = int(p.pages);  // comes as zeros
                place = int(p.page_size.split(uint32_t(first + box * p.box_rows)).remainder);
            }
            if (lane() == 0) here.expect(kStageBytes);
            __syncwarp();
#pragma unroll 1
            for (int panel = lane() / boxes; panel < kPanels; panel += known_tiles) {
                const bool values = panel >= kKeyPanels;
                unsigned char *to = memory + stage * kStageBytes + panel * kPanelBytes +
                                    (kPaged ? box * p.box_rows * kPanelRow : 0);
                const int column = (values ? panel - kKeyPanels : panel) * kPanelColumns;
                const TensorMap &map = values ? p.v_map : p.k_map;
                copy_box(to, map, column, place, walk.head, of, here);
            }
            __syncwarp();
            if (lane() == 0) here.arrive();
            if (++stage == kStages) stage = 0, parity ^= 1;
        }
    }
}

}  // namespace infini
