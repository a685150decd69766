// Interpolation of images. With a fixed number of elements per output, one kernel does all;
// antialiasing computes tables of weights for each dimension first. kMode: 0 nearest, 1
// nearest-exact, 2 linear, 3 cubic, 4 antialiased linear, 5 antialiased cubic. W: the type of
// weights.
#pragma once

#ifdef INFINI_KERNEL_RESAMPLE_STRIPS
#include "image.cuh"

// An output is the weighted sum of kTaps0 * kTaps1 * kTaps2 elements. A thread walks down kColumns
// columns and keeps the last kTaps1 rows, interpolated horizontally, which following outputs need
// again.
namespace infini {

inline constexpr bool kMoves = kMode <= 1;  // elements are taken as they are
using Value = Choose<kMoves, T, W>;

// The elements of an output along one dimension; indices beyond the edges are clamped by the user.
template <int taps>
struct Taps {
    int32_t first;
    W weight[taps];
};

// Cubic convolution with a = -3/4, for distances below 1, and from 1 to 2.
INFINI_DEVICE W near_weight(W x) { return (W(1.25) * x - W(2.25)) * x * x + W(1); }
INFINI_DEVICE W far_weight(W x) { return ((W(-0.75) * x + W(3.75)) * x - W(6)) * x + W(3); }

template <int taps>
INFINI_DEVICE Taps<taps> taps_of(const AxisParams &a, I o, bool corners) {
    Taps<taps> found;
    if constexpr (taps == 1) {
        const float middle = float(double(o) + (kMode == 1 ? 0.5 : 0.0));
        const double at = floor(double(__fmul_rn(middle, float(a.step)))), last = double(a.in - 1);
        found.first = int32_t(at > 0 ? at < last ? at : last : 0.0);
        found.weight[0] = W(1);
    } else {
        double source = __dadd_rn(__dmul_rn(double(o) + 0.5, a.step), -0.5);
        if (corners) source = double(o * (a.in - 1)) / double(a.out > 1 ? a.out - 1 : 1);
        if (taps == 2) source = source > 0 ? source : 0.0;
        double before = floor(source);
        const W share = W(source - before);
        // Values far beyond the edge do not matter.
        const double last = double(a.in) + 2;
        before = before > last ? last : before > -3 ? before : -3.0;
        found.first = int32_t(before) - (taps == 4);
        if constexpr (taps == 2) {
            found.weight[0] = W(1) - share, found.weight[1] = share;
        } else {
            found.weight[0] = far_weight(share + W(1)), found.weight[1] = near_weight(share);
            found.weight[2] = near_weight(W(1) - share);
            found.weight[3] = far_weight(W(2) - share);
        }
    }
    return found;
}

// The offset of element `at` of a dimension, clamped to its edges.
INFINI_DEVICE I offset_of(const ImageParams &image, int d, int32_t at) {
    const int32_t last = int32_t(image.size[d]) - 1;
    return I(at < 0 ? 0 : at < last ? at : last) * I(image.stride[d]);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ResampleParams, 256, sizeof(W) == 4 && kRank < 3 ? 4 : 1) {
    constexpr int kWarps = 256 / kWarp, kGroups = kWarp / kLanes;
    INFINI_SHARED Taps<kTaps1> table[kWarps][kMostRows];
    Taps<kTaps1> *const rows = table[warp()];
    const int64_t tasks = int64_t(gridDim.x) * kWarps;
    for (int64_t task = int64_t(blockIdx.x) * kWarps + warp(); task < p.strips.tasks;
         task += tasks) {
        const Strip strip(p.strips, p.to, task, kLanes * kColumns);
        sync_warp();  // the previous task's rows have been read
        for (int r = lane(); r < strip.rows; r += kWarp)
            rows[r] = taps_of<kTaps1>(p.axes[1], strip.top + r, p.corners);
        sync_warp();
        const I left = strip.left + lane() % kLanes * kColumns, width = I(p.to.size[2]);
        I at[kColumns][kTaps2];
        W weight[kColumns][kTaps2];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const I column = left + c < width ? left + c : width - 1;
            const Taps<kTaps2> taps = taps_of<kTaps2>(p.axes[2], column, p.corners);
#pragma unroll
            for (int k = 0; k < kTaps2; ++k) {
                at[c][k] = offset_of(p.from, 2, taps.first + k);
                weight[c][k] = taps.weight[k];
            }
        }
        for (I number = strip.plane + lane() / kLanes; number < strip.end; number += kGroups) {
            const PlaneOf<kRank == 3> of(p.to, number);
            const T *plane = static_cast<const T *>(p.x) + of.offset(p.from);
            T *y = static_cast<T *>(p.y) + of.offset(p.to, strip.top, left);
            I under[kTaps0] = {};
            W share[kTaps0] = {W(1)};
            if constexpr (kRank == 3) {
                const Taps<kTaps0> taps = taps_of<kTaps0>(p.axes[0], of.depth, p.corners);
#pragma unroll
                for (int a = 0; a < kTaps0; ++a) {
                    under[a] = offset_of(p.from, 0, taps.first + a);
                    share[a] = taps.weight[a];
                }
            }
            Value held[kTaps1][kColumns];
            int32_t next = -(1 << 30);  // the first row that has not been interpolated
            for (int r = 0; r < strip.rows; ++r, y += p.to.stride[1]) {
                const int32_t first = rows[r].first;
                if (next < first) next = first;
#pragma unroll 1
                for (; next < first + kTaps1; ++next) {
                    const T *line = plane + offset_of(p.from, 1, next);
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) {
#pragma unroll
                        for (int k = 1; k < kTaps1; ++k) held[k - 1][c] = held[k][c];
                        if constexpr (kMoves) {
                            held[0][c] = convert<Value>(line[under[0] + at[c][0]]);
                        } else {
                            W sum = W(0);
#pragma unroll
                            for (int a = 0; a < kTaps0; ++a) {
                                W part = W(0);
#pragma unroll
                                for (int k = 0; k < kTaps2; ++k)
                                    part += weight[c][k] * convert<W>(line[under[a] + at[c][k]]);
                                sum += share[a] * part;
                            }
                            held[kTaps1 - 1][c] = convert<Value>(sum);
                        }
                    }
                }
                Vec<T, kColumns> result;
                if constexpr (kMoves) {
#pragma unroll
                    for (int c = 0; c < kColumns; ++c) result[c] = convert<T>(held[0][c]);
                } else {
                    W sums[kColumns] = {};
#pragma unroll
                    for (int k = 0; k < kTaps1; ++k) {
                        const W factor = rows[r].weight[k];
#pragma unroll
                        for (int c = 0; c < kColumns; ++c)
                            sums[c] += factor * convert<W>(held[k][c]);
                    }
                    result = narrow<T>(sums);
                }
                store_columns(y, result, I(p.to.stride[2]), width - left, p.strips.whole);
            }
        }
    }
}
#endif

#ifdef INFINI_KERNEL_RESAMPLE_RESAMPLE
#include "image.cuh"

// Antialiasing: an output is the weighted sum of the elements listed in the tables of its
// dimensions.
using namespace infini;

INFINI_ENTRY(ResampleParams, 256, 1) {
    const int64_t outputs = p.to.batch * p.to.channels * p.to.elements();
    for (int64_t number = grid_thread(); number < outputs; number += grid_threads()) {
        const PixelOf<2> to(p.to, number);
        int32_t count[2];
        const W *weight[2];
        const T *start = static_cast<const T *>(p.x) + to.plane(p.from);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const AxisParams &axis = p.axes[i + 1];
            const I o = to.at[i + 1];
            start += axis.first[o] * p.from.stride[i + 1];
            count[i] = axis.count[o];
            weight[i] = static_cast<const W *>(axis.weight) + o * axis.taps;
        }
        W sum = W(0);
        for (int32_t b = 0; b < count[0]; ++b) {
            const T *row = start + b * p.from.stride[1];
            W part = W(0);
            for (int32_t c = 0; c < count[1]; ++c)
                part += weight[1][c] * convert<W>(row[c * p.from.stride[2]]);
            sum += weight[0][b] * part;
        }
        static_cast<T *>(p.y)[to.offset(p.to)] = convert<T>(sum);
    }
}
#endif

#ifdef INFINI_KERNEL_RESAMPLE_AXIS
#include "image_params.h"

// The tables for antialiasing: one thread per output of each dimension. All elements contribute
// within a distance that grows with the distance of outputs.
namespace infini {

INFINI_DEVICE double filter(double x) {
    x = x < 0 ? -x : x;
    if constexpr (kMode == 4) return x < 1 ? 1 - x : 0.0;
    if (x >= 2) return 0.0;
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
}

INFINI_DEVICE double clamped(double x, double most) { return x > 0 ? x < most ? x : most : 0.0; }

INFINI_DEVICE void make(const AxisParams &a, int64_t o) {
    W *weight = static_cast<W *>(a.weight) + o * a.taps;
    const double wide = a.step > 1 ? a.step : 1.0, reach = kMode == 5 ? 2 * wide : wide;
    const double middle = __dmul_rn(a.step, double(o) + 0.5), most = double(a.in);
    const int64_t begin = int64_t(clamped(__dadd_rn(middle - reach, 0.5), most));
    const int64_t end = int64_t(clamped(__dadd_rn(middle + reach, 0.5), most));
    a.first[o] = int32_t(begin), a.count[o] = int32_t(end - begin);
    double sum = 0;
#pragma unroll 1
    for (int64_t k = begin; k < end; ++k) sum += filter((double(k) - middle + 0.5) / wide);
#pragma unroll 1
    for (int64_t k = begin; k < end; ++k)
        weight[k - begin] = W(filter((double(k) - middle + 0.5) / wide) / sum);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ResampleParams, 256, 1) {
    int64_t o = grid_thread();
#pragma unroll 1
    for (int d = 1; d < 3; ++d) {
        if (o >= 0 && o < p.axes[d].out) make(p.axes[d], o);
        o -= p.axes[d].out;
    }
}
#endif
