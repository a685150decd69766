// Folds of scatter, line by line: a warp folds updates of a line of the output in shared memory.
// Strides are in elements.
#pragma once

#include "places.h"

namespace infini {

struct ScatterLinesParams {
    void *out;
    const void *in, *index, *updates;
    // The folds of parts of a line's updates and their numbers, [part][line][row], if there are
    // several parts.
    void *partial;
    uint32_t *partial_counts;
    Places<4> lines;        // in the output, the input, the index and the updates
    int64_t step[4];        // along a line
    int64_t entries, part;  // updates per line and per part
    uint32_t rows, parts;   // per line
    Divider row_divider;    // (if there are several parts)
    int32_t warp_bytes;     // shared memory of a warp
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "fold.cuh"

namespace infini {

using C = Sum<T>;
// Whether the number of updates is needed: for averages, and to keep elements without updates.
constexpr bool kCounts = kMean || !kIncludeSelf;

INFINI_DEVICE void finish(T *out, const T *in, C sum, uint32_t count) {
    if (kCounts && count == 0) {
        *out = *in;
        return;
    }
    if (kMean) sum = average(sum, int64_t(count) + kIncludeSelf);
    *out = convert<T>(sum);
}

}  // namespace infini

#ifdef INFINI_KERNEL_SCATTER_LINES_FOLD
#include "group_rank.cuh"

namespace infini {

constexpr int kAhead = 4;  // updates in flight per thread

// A line's folds. Each step folds the update of every lane; lanes with the same row are found by
// marking rows, and the first of them folds their updates in order.
struct Line {
    C *sums;
    uint32_t *counts;
    uint8_t *marks;
    int rows;

    INFINI_DEVICE Line(unsigned char *shared, int rows)
        : sums(reinterpret_cast<C *>(shared)),
          counts(reinterpret_cast<uint32_t *>(shared + (rows * sizeof(C) + 3) / 4 * 4)),
          marks(reinterpret_cast<uint8_t *>(counts + (kCounts ? rows : 0))),
          rows(rows) {}

    // A row of -1 has no update.
    INFINI_DEVICE void add(int row, C value) {
        const bool here = row >= 0;
        if (here) marks[row] = uint8_t(lane());
        sync_warp();
        const bool alone = !here || marks[row] == uint8_t(lane());
        uint32_t folded = here;
        if (any_lane(!alone)) folded = fold_duplicates(row, value);
        if (folded) {
            sums[row] = Folding()(sums[row], value);
            if (kCounts) counts[row] += folded;
        }
        sync_warp();
    }

private:
    // Folds the values of lanes with the same row into that of the first one. Returns their number,
    // and 0 to the others.
    INFINI_DEVICE uint32_t fold_duplicates(int row, C &value) {
        Lanes same = vote(row >= 0);
#pragma unroll 1
        for (int bit = 1; bit < rows; bit *= 2) same &= lanes_alike(uint32_t(row), uint32_t(bit));
        const bool leads = row >= 0 && first_lane(same) == lane();
        Lanes rest = leads ? same & (same - 1) : Lanes(0);
        const C own = value;
#pragma unroll 1
        while (any_lane(rest)) {
            const C other = shuffle(own, rest ? first_lane(rest) : lane());
            if (rest) value = Folding()(value, other);
            rest &= rest - 1;
        }
        return leads ? uint32_t(count_lanes(same)) : 0;
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScatterLinesParams, 256, 1) {
    INFINI_DYNAMIC_SHARED(shared);
    // Neighbouring warps have neighbouring lines, which share sectors if lines are not contiguous.
    const uint32_t task = blockIdx.x * (blockDim.x / kWarp) + uint32_t(warp());
    const uint32_t piece = task / uint32_t(p.lines.count);
    if (piece >= p.parts) return;
    const uint32_t number = task - piece * uint32_t(p.lines.count);
    int64_t offset[4];
    p.lines.at(number, offset);
    T *const out = static_cast<T *>(p.out) + offset[0];
    const T *const in = static_cast<const T *>(p.in) + offset[1];
    const I *const index = static_cast<const I *>(p.index) + offset[2];
    const T *const updates = static_cast<const T *>(p.updates) + offset[3];

    Line line(shared + warp() * p.warp_bytes, int(p.rows));
    const bool whole = p.parts == 1;
#pragma unroll 4
    for (int64_t row = lane(); row < p.rows; row += kWarp) {
        line.sums[row] = kIncludeSelf && whole ? convert<C>(in[row * p.step[1]]) : neutral<C>();
        if (kCounts) line.counts[row] = 0;
    }
    sync_warp();

    const int64_t begin = int64_t(piece) * p.part;
    const int64_t end = begin + p.part < p.entries ? begin + p.part : p.entries;
    int64_t next_row[kAhead];
    T next_value[kAhead];
    auto load = [&](int64_t first) {
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
            const int64_t at = first + k * kWarp + lane();
            next_row[k] = -1;
            if (at >= end) continue;
            next_row[k] = index[at * p.step[2]];
            next_value[k] = updates[at * p.step[3]];
        }
    };
    load(begin);
#pragma unroll 1
    for (int64_t at = begin; at < end; at += kAhead * kWarp) {
        int row[kAhead];
        C value[kAhead];
#pragma unroll
        for (int k = 0; k < kAhead; ++k) {
            const bool inside = uint64_t(next_row[k]) < uint64_t(p.rows);
            row[k] = inside ? int(next_row[k]) : -1;
            value[k] = inside ? convert<C>(next_value[k]) : neutral<C>();
        }
        load(at + kAhead * kWarp);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) line.add(row[k], value[k]);
    }

    const int64_t place = int64_t(task) * p.rows;
#pragma unroll 4
    for (int64_t row = lane(); row < p.rows; row += kWarp) {
        const uint32_t count = kCounts ? line.counts[row] : 1;
        if (whole) {
            finish(out + row * p.step[0], in + row * p.step[1], line.sums[row], count);
        } else {
            static_cast<C *>(p.partial)[place + row] = line.sums[row];
            if (kCounts) p.partial_counts[place + row] = count;
        }
    }
}
#endif

#ifdef INFINI_KERNEL_SCATTER_LINES_COMBINE
// Folds the parts of each line in order.
using namespace infini;

INFINI_ENTRY(ScatterLinesParams, 256, 1) {
    const int64_t i = grid_thread(), all = p.lines.count * p.rows;
    if (i >= all) return;
    const Quotient place = p.row_divider.split(uint32_t(i));
    int64_t offset[4];
    p.lines.at(place.quotient, offset);
    const T *const in =
        static_cast<const T *>(p.in) + offset[1] + int64_t(place.remainder) * p.step[1];
    T *const out = static_cast<T *>(p.out) + offset[0] + int64_t(place.remainder) * p.step[0];
    const C *partial = static_cast<const C *>(p.partial) + i;
    C sum = kIncludeSelf ? convert<C>(*in) : neutral<C>();
    uint32_t count = kCounts ? 0 : 1;
#pragma unroll 8
    for (uint32_t part = 0; part < p.parts; ++part) {
        sum = Folding()(sum, partial[part * all]);
        if (kCounts) count += p.partial_counts[i + part * all];
    }
    finish(out, in, sum, count);
}
#endif

#endif  // INFINI_DEVICE
