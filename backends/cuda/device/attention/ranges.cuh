// Split-KV with equal shares: the keys of all sequences and heads form one sequence of tiles, which
// is divided equally among the blocks, so that all finish together, whatever the lengths are. A
// block's range is the end of one unit (a sequence and key head), whole units, and the beginning of
// another; units that span several ranges are combined by combine.cuh.
//
// Requires the definitions for sequence.cuh, and kKeys (keys per tile).
#pragma once

#include "sequence.cuh"

namespace infini {

// A sequence without keys has one empty tile, because its results must be written, too.
INFINI_DEVICE int tiles_of(int keys) { return keys <= kKeys ? 1 : (keys + kKeys - 1) / kKeys; }
INFINI_DEVICE int tiles_of_sequence(const AttentionParams &p, int index) {
    if (!p.lengths) return tiles_of(p.keys);
    return tiles_of(
        limited(static_cast<const Length *>(p.lengths)[index * p.length_stride], p.keys));
}

// Number of tiles of one head: of all sequences, and of those before `index`. Called by all lanes
// of a warp. Planners ensure that the tiles of all heads can be counted in 32 bits.
struct TileCounts {
    int all, before;
};
INFINI_DEVICE TileCounts count_tiles(const AttentionParams &p, int index) {
    if (!p.lengths) {
        const int each = tiles_of(p.keys);
        return {each * p.sequences, each * index};
    }
    TileCounts counts = {0, 0};
#pragma unroll 1
    for (int i = lane(); i < p.sequences; i += kWarp) {
        const int tiles = tiles_of_sequence(p, i);
        counts.all += tiles;
        if (i < index) counts.before += tiles;
    }
    counts.all = fold_warp(counts.all, fold::Sum());
    counts.before = fold_warp(counts.before, fold::Sum());
    return counts;
}

// Divides `tiles` among `blocks`; the ranges of the first blocks have one more.
struct Ranges {
    int each, longer;  // tiles of a range; number of ranges that have one more

    INFINI_DEVICE Ranges(int tiles, int blocks)
        : each(int(unsigned(tiles) / unsigned(blocks))), longer(tiles - each * blocks) {}
    INFINI_DEVICE int begin(int block) const {
        return block * each + (block < longer ? block : longer);
    }
    // The block whose range contains a tile.
    INFINI_DEVICE int find(int tile) const {
        const int middle = longer * (each + 1);
        if (tile < middle) return int(unsigned(tile) / unsigned(each + 1));
        return longer + int(unsigned(tile - middle) / unsigned(each));
    }
};

// The position of a block in its range.
struct Walk {
    int index, head, tile;  // tile: index in the sequence
    int tiles;              // tiles of the sequence
    int left;               // tiles left in the range
    bool first = true;      // in the first unit of the range

    // Called by all lanes of a warp.
    INFINI_DEVICE Walk(const AttentionParams &p, int block, int blocks) {
        const Ranges ranges(count_tiles(p, 0).all * p.heads, blocks);
        int rest = ranges.begin(block);
        left = ranges.begin(block + 1) - rest;
        index = 0;
        if (!p.lengths) {
            tiles = tiles_of(p.keys);
            index = int(unsigned(rest) / unsigned(tiles * p.heads));
            rest -= index * tiles * p.heads;
        } else {
            // Examines as many sequences at a time as a warp has lanes.
            for (;; index += kWarp) {
                const int i = index + lane();
                const int mine = i < p.sequences ? tiles_of_sequence(p, i) : 0;
                int end = mine * p.heads;
#pragma unroll
                for (int distance = 1; distance < kWarp; distance *= 2) {
                    const int other = shuffle_up(end, distance);
                    if (lane() >= distance) end += other;
                }
                const Lanes behind = vote(end > rest);
                if (behind || index + kWarp >= p.sequences) {
                    const int source = behind ? first_lane(behind) : 0;
                    index += source;
                    tiles = shuffle(mine, source);
                    rest -= shuffle(end, source) - tiles * p.heads;
                    break;
                }
                rest -= shuffle(end, kWarp - 1);
            }
        }
        if (left == 0) return;
        head = int(unsigned(rest) / unsigned(tiles));
        tile = rest - head * tiles;
    }

    // Number of tiles of this unit in the range.
    INFINI_DEVICE int count() const { return left < tiles - tile ? left : tiles - tile; }
    // Index of its partial results.
    INFINI_DEVICE int place() const { return 2 * int(blockIdx.x) + (first ? 0 : 1); }
    // Whether the range contains the whole unit.
    INFINI_DEVICE bool is_whole() const { return tile == 0 && left >= tiles; }

    INFINI_DEVICE void next_unit(const AttentionParams &p) {
        left -= count();
        tile = 0;
        first = false;
        if (left == 0 || ++head < p.heads) return;
        head = 0;
        tiles = tiles_of_sequence(p, ++index);
    }
};

// Each block stores partial results for the first unit of its range, and for the last one:
// `p.chunk` rows each, of values, running maximum and sum. There are p.tiles blocks with the same
// range and different rows.
INFINI_DEVICE int partial_pitch(const AttentionParams &p) {
    return (p.value_depth + 3) / 4 * 4 + 4;
}
INFINI_DEVICE float *partial_row(const AttentionParams &p, int place, int row) {
    return p.partials + int64_t(place * p.chunk + row) * partial_pitch(p);
}

}  // namespace infini
