// Pooling: one output per thread, or per warp for large windows (kTogether threads). kFold: 0 sums,
// 1 maxima, 2 maxima with indices. kBins: windows cover each dimension. Only the last kRank
// dimensions are larger than 1. kGaps: windows are dilated.
#include "image.cuh"

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
    for (int64_t number = grid_thread() / kTogether; number < outputs;
         number += grid_threads() / kTogether) {
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
            if constexpr (kFold == 0)
                sum = fold_warp(sum, fold::Sum());
            else
                best = fold_warp(best, Larger());
        }
        if (lane_of != 0) continue;
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
