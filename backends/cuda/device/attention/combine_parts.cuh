// Puts the results of units together that lie in the ranges of several blocks, see ranges.cuh: a
// block has rows of one unit, which are as far apart as blocks have that unit.
//
// Before this: what sequence.cuh wants; constant kKeys, of a tile.
#include "combine_row.cuh"
#include "ranges.cuh"

namespace infini {

INFINI_ENTRY(AttentionParams, kCombineThreads, 1) {
    ptx::launch_dependents();
    const unsigned each = gridDim.x / unsigned(p.sequences * p.heads);
    const unsigned unit = blockIdx.x / each;
    const int index = int(unit / unsigned(p.heads)), head = int(unit) - index * p.heads;
    const TileCounts counts = count_tiles(p, index);
    const int tiles = tiles_of_sequence(p, index);
    const Ranges ranges(counts.all * p.heads, p.splits);
    const int begin = counts.before * p.heads + head * tiles;
    const int first = ranges.find(begin), last = ranges.find(begin + tiles - 1);
    if (first == last) return;  // it was whole
    const bool alone = ranges.begin(first) == begin;
    const Sequence s = find_sequence(p, index, head);
    const int64_t step = int64_t(2 * p.tiles * p.chunk) * partial_pitch(p);
#pragma unroll 1
    for (int row = int(blockIdx.x - unit * each); row < p.rows; row += int(each)) {
        // Places of parts are a step from each other, but for that of the first one.
        const int place = 2 * (first * p.tiles + row / p.chunk), at = row % p.chunk;
        const float *start = partial_row(p, alone ? place : place + 1, at);
        const float *rest = partial_row(p, place, at);
        combine_row(
            last - first + 1, p.value_depth,
            [&](int i) { return i == 0 ? start : rest + i * step; }, result_row(p, s, head, row),
            p.out_stride.inner);
    }
}

}  // namespace infini
