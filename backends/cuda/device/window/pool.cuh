// Pooling. kFold: 0 sums, 1 maxima, 2 maxima with indices. Only the last kRank dimensions are larger
// than 1.
#pragma once

#ifdef INFINI_KERNEL_POOL_STRIPS
#include "image.cuh"

// Small sliding windows of kKernel1 x kKernel2 elements, kGap1 and kGap2 apart, at distances kStep1
// and kStep2 (in three dimensions, of any depth). A thread walks down kColumns columns and keeps the
// folded rows that the next windows need again.
namespace infini {

using C = Choose<kSame<T, double>, double, float>;

struct Best {
    C value;
    I place;  // the index in the image; -1: none
};
using Folded = Choose<kFold == 2, Best, C>;

INFINI_DEVICE void clear(C &sum) { sum = kFold == 0 ? C(0) : -infinity<C>(); }
INFINI_DEVICE void clear(Best &best) { best = {-infinity<C>(), -1}; }

INFINI_DEVICE void join(C &sum, C value) {
    if constexpr (kFold == 0)
        sum += value;
    else if constexpr (kSame<C, float>)
        sum = ptx::max_nan(sum, value);
    else
        sum = fold::Max()(sum, value);
}
// The first of equal values and of NaNs; rows of a volume do not come in the order of indices.
INFINI_DEVICE void join(Best &best, Best next) {
    if (next.place < 0) return;
    const bool nan = next.value != next.value, found = best.value != best.value;
    bool better = best.place < 0 || next.value > best.value || (nan && !found);
    if constexpr (kRank == 3)
        better |= next.place < best.place && (next.value == best.value || (nan && found));
    if (better) best = next;
}

INFINI_DEVICE C result_of(C sum) { return sum; }
INFINI_DEVICE C result_of(Best best) { return best.value; }
INFINI_DEVICE int64_t place_of(C) { return 0; }
INFINI_DEVICE int64_t place_of(Best best) { return best.place < 0 ? 0 : best.place; }
INFINI_DEVICE void make(C &to, C value, I) { to = value; }
INFINI_DEVICE void make(Best &to, C value, I place) { to = {value, place}; }

// The number of elements by which a mean is divided, along a dimension.
INFINI_DEVICE I covered(const PoolParams &p, int d, I start) {
    const I size = I(p.from.size[d]), end = start + I(p.kernel[d]);
    if (p.with_padding) return least_of(end, size + I(p.pad[d])) - start;
    return least_of(end, size) - (start < 0 ? 0 : start);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(PoolParams, 256, 1) {
    constexpr int kWarps = 256 / kWarp, kGroups = kWarp / kLanes;
    constexpr int kRows = kKernel1, kKept = kGap1 == 1 && kStep1 < kRows ? kRows - kStep1 : 0;
    constexpr int kSpan = (kColumns - 1) * kStep2 + (kKernel2 - 1) * kGap2 + 1;
    const I size0 = I(p.from.size[0]), size1 = I(p.from.size[1]), size2 = I(p.from.size[2]);
    const I width = I(p.to.size[2]), across = kUnit ? 1 : I(p.from.stride[2]);
    const int64_t tasks = int64_t(gridDim.x) * kWarps;
    for (int64_t task = int64_t(blockIdx.x) * kWarps + warp(); task < p.strips.tasks;
         task += tasks) {
        const Strip strip(p.strips, p.to, task, kLanes * kColumns);
        const I left = strip.left + I(lane() % kLanes * kColumns);
        const I first = left * I(kStep2) - I(p.pad[2]);
        for (I number = strip.plane + I(lane() / kLanes); number < strip.end; number += kGroups) {
            const PlaneOf<kRank == 3> of(p.to, number);
            const T *plane =
                static_cast<const T *>(p.x) + of.offset(p.from) + first * p.from.stride[2];
            T *y = static_cast<T *>(p.y) + of.offset(p.to, strip.top, left);
            const I under = kRank == 3 ? of.depth * I(p.step[0]) - I(p.pad[0]) : 0;
            const I depth = kRank == 3 ? I(p.kernel[0]) : 1, gap0 = I(p.gap[0]);
            // Folds a row of the windows of each column.
            auto fold_row = [&](Folded(&sums)[kColumns], I row) {
#pragma unroll
                for (int c = 0; c < kColumns; ++c) clear(sums[c]);
                if (row < 0 || row >= size1) return;
#pragma unroll 1
                for (I a = 0; a < depth; ++a) {
                    const I slice = kRank == 3 ? under + a * gap0 : 0;
                    if (kRank == 3 && (slice < 0 || slice >= size0)) continue;
                    const T *line = plane + row * p.from.stride[1] +
                                    (kRank == 3 ? slice * p.from.stride[0] : 0);
                    const I place = (slice * size1 + row) * size2 + first;
                    Folded element[kSpan];
#pragma unroll
                    for (int e = 0; e < kSpan; ++e) {
                        clear(element[e]);
                        if (first + e >= 0 && first + e < size2)
                            make(element[e], convert<C>(line[e * across]), place + e);
                    }
#pragma unroll
                    for (int c = 0; c < kColumns; ++c)
#pragma unroll
                        for (int k = 0; k < kKernel2; ++k)
                            join(sums[c], element[c * kStep2 + k * kGap2]);
                }
            };
            Folded held[kRows][kColumns];
            I start = strip.top * I(kStep1) - I(p.pad[1]);
#pragma unroll
            for (int k = 0; k < kKept; ++k) fold_row(held[k + kRows - kKept], start + k);
            for (int r = 0; r < strip.rows; ++r, y += p.to.stride[1], start += I(kStep1)) {
#pragma unroll
                for (int k = 0; k < kKept; ++k)
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) held[k][c] = held[k + kRows - kKept][c];
#pragma unroll
                for (int k = kKept; k < kRows; ++k) fold_row(held[k], start + I(k * kGap1));
                C results[kColumns];
                Vec<int64_t, kColumns> places;
                I by = 1;
                if constexpr (kFold == 0)
                    by = covered(p, 1, start) * (kRank == 3 ? covered(p, 0, under) : 1);
#pragma unroll
                for (int c = 0; c < kColumns; ++c) {
                    Folded sum = held[0][c];
#pragma unroll
                    for (int k = 1; k < kRows; ++k) join(sum, held[k][c]);
                    results[c] = result_of(sum), places[c] = place_of(sum);
                    if constexpr (kFold == 0)
                        results[c] /=
                            p.divisor ? C(p.divisor) : C(by * covered(p, 2, first + I(c * kStep2)));
                }
                store_columns(y, narrow<T>(results), I(p.to.stride[2]), width - left,
                              p.strips.whole);
                if constexpr (kFold == 2)
                    store_columns(p.found + of.offset(p.places, strip.top + r, left), places,
                                  I(p.places.stride[2]), width - left, false);
            }
        }
    }
}
#endif

#ifdef INFINI_KERNEL_POOL_WINDOWS
#include "image.cuh"

// Any windows: one output per thread, or for several lanes of a warp if windows are large or few
// (kTogether threads). kBins: windows cover each dimension. kGaps: windows are dilated.
namespace infini {

// Long sums of floats use doubles.
using C =
    Choose<kSame<T, double> || (kSame<T, float> && kFold == 0 && kTogether != 1), double, float>;

// The elements first + k * gap, k < count, of a dimension; a mean is divided by `by`.
struct Span {
    I first, count, gap, by;

    INFINI_DEVICE Span(const PoolParams &p, int d, I o) {
        const I size = I(p.from.size[d]);
        if (d < 3 - kRank) {
            first = 0, count = 1, gap = 1, by = 1;
        } else if constexpr (kBins) {
            const int64_t outputs = p.to.size[d];
            first = I(int64_t(o) * size / outputs);
            count = I(((int64_t(o) + 1) * size + outputs - 1) / outputs) - first;
            gap = 1, by = count;
        } else {
            const I kernel = I(p.kernel[d]), pad = I(p.pad[d]), start = o * I(p.step[d]) - pad;
            gap = kGaps ? I(p.gap[d]) : 1;
            const I before = start >= 0 ? 0 : gap == 1 ? -start : (gap - 1 - start) / gap;
            const I room = start >= size ? 0
                           : gap == 1    ? size - start
                                         : (size - start + gap - 1) / gap;
            const I end = least_of(kernel, room);
            count = end > before ? end - before : 0;
            first = count ? start + before * gap : 0;
            by = p.with_padding ? least_of(start + kernel, size + pad) - start : count;
        }
    }
};

struct Largest {
    C value;
    int64_t place;  // -1: none
};
struct Larger {
    INFINI_DEVICE Largest operator()(Largest a, Largest b) const {
        if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
        const bool nan = a.value != a.value, other = b.value != b.value;
        if (nan || other) return nan && (!other || a.place < b.place) ? a : b;
        if (a.value == b.value) return a.place < b.place ? a : b;
        return a.value > b.value ? a : b;
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(PoolParams, 256, 1) {
    const int64_t outputs = p.to.batch * p.to.channels * p.to.elements();
    const int lane_of = threadIdx.x % kTogether;
    // All lanes of a warp take part in shuffles.
    const int64_t first = kTogether == 1 ? grid_thread() : (grid_thread() - lane()) / kTogether;
    for (int64_t begin = first; begin < outputs; begin += grid_threads() / kTogether) {
        const int64_t mine = kTogether == 1 ? begin : begin + lane() / kTogether;
        const int64_t number = mine < outputs ? mine : outputs - 1;
        const PixelOf<kRank> to(p.to, number);
        const T *plane = static_cast<const T *>(p.x) + to.plane(p.from);
        const Span s0(p, 0, to.at[0]), s1(p, 1, to.at[1]), s2(p, 2, to.at[2]);
        C sum = C(0);
        Largest best = {-infinity<C>(), -1};
        // An element, and its index in the image.
        auto take = [&](T element, int64_t place) {
            const C value = convert<C>(element);
            if constexpr (kFold == 0) {
                sum += value;
            } else {
                const bool nan = value != value && best.value == best.value;
                if (value > best.value || nan || best.place < 0) best = {value, place};
            }
        };
        const int64_t step0 = s0.gap * p.from.stride[0], step1 = s1.gap * p.from.stride[1];
        const int64_t step2 = s2.gap * p.from.stride[2];
        plane +=
            s0.first * p.from.stride[0] + s1.first * p.from.stride[1] + s2.first * p.from.stride[2];
        auto place_of = [&](I a, I b, I c) -> int64_t {
            if constexpr (kFold < 2) return 0;
            const int64_t row =
                int64_t(s0.first + a * s0.gap) * p.from.size[1] + s1.first + b * s1.gap;
            return row * p.from.size[2] + s2.first + c * s2.gap;
        };
        if constexpr (kTogether == 1) {
            for (I a = 0; a < s0.count; ++a)
                for (I b = 0; b < s1.count; ++b) {
                    const T *row = plane + a * step0 + b * step1;
                    const int64_t place = place_of(a, b, 0);
#pragma unroll 4
                    for (I c = 0; c < s2.count; ++c) take(row[c * step2], place + c * s2.gap);
                }
        } else {
            const I elements = s0.count * s1.count * s2.count;
            for (I i = lane_of; i < elements; i += kTogether) {
                const I row = i / s2.count, c = i - row * s2.count;
                const I a = row / s1.count, b = row - a * s1.count;
                take(plane[a * step0 + b * step1 + c * step2], place_of(a, b, c));
            }
#pragma unroll
            for (int mask = kTogether / 2; mask > 0; mask /= 2)
                if constexpr (kFold == 0)
                    sum += shuffle_xor(sum, mask);
                else
                    best = Larger()(best, shuffle_xor(best, mask));
        }
        if (lane_of != 0 || mine >= outputs) continue;
        T *y = static_cast<T *>(p.y) + to.offset(p.to);
        if constexpr (kFold == 0) {
            const int64_t by = p.divisor ? p.divisor : int64_t(s0.by) * s1.by * s2.by;
            *y = convert<T>(sum / C(by));
        } else {
            *y = convert<T>(best.value);
            if constexpr (kFold == 2)
                p.found[to.offset(p.places)] = best.place < 0 ? 0 : best.place;
        }
    }
}
#endif
