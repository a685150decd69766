// Interpolation of images: tables of weights for each dimension, then the outputs.
#pragma once

#ifdef INFINI_KERNEL_RESAMPLE_RESAMPLE
#include "image.cuh"

// An output is the weighted sum of the elements listed in the tables of its dimensions. kMoves: it
// is one element, unchanged.
using namespace infini;

INFINI_ENTRY(ResampleParams, 256, 1) {
    const int64_t outputs = p.to.batch * p.to.channels * p.to.elements();
    for (int64_t number = grid_thread(); number < outputs; number += grid_threads()) {
        const Pixel to(p.to, number);
        const T *plane = static_cast<const T *>(p.x) + to.plane(p.from);
        T *y = static_cast<T *>(p.y) + to.offset(p.to);
        // Indices beyond the edges are clamped.
        auto clamped = [&](int d, int32_t at) {
            const int32_t last = int32_t(p.from.size[d]) - 1;
            return (at < 0 ? 0 : at < last ? at : last) * p.from.stride[d];
        };
        int32_t first[3];
#pragma unroll
        for (int d = 0; d < 3; ++d) first[d] = p.axes[d].first[to.at[d]];
        if constexpr (kMoves) {
            *y = plane[clamped(0, first[0]) + clamped(1, first[1]) + clamped(2, first[2])];
        } else {
            const W *weight[3];
            int32_t count[3];
#pragma unroll
            for (int d = 0; d < 3; ++d) {
                count[d] = p.axes[d].count[to.at[d]];
                weight[d] = static_cast<const W *>(p.axes[d].weight) + to.at[d] * p.axes[d].taps;
            }
            W sum = W(0);
            for (int32_t a = 0; a < count[0]; ++a)
                for (int32_t b = 0; b < count[1]; ++b) {
                    const T *row = plane + clamped(0, first[0] + a) + clamped(1, first[1] + b);
                    W part = W(0);
                    for (int32_t c = 0; c < count[2]; ++c)
                        part += weight[2][c] * convert<W>(row[clamped(2, first[2] + c)]);
                    sum += weight[0][a] * weight[1][b] * part;
                }
            *y = convert<T>(sum);
        }
    }
}
#endif

#ifdef INFINI_KERNEL_RESAMPLE_AXIS
#include "image_params.h"

// The tables for resampling: one thread per output of each dimension. kMode: 0 nearest, 1
// nearest-exact, 2 linear, 3 cubic, 4 antialiased linear, 5 antialiased cubic. W: the type of
// weights.
namespace infini {

// Cubic convolution with a = -3/4, for distances below 1, and from 1 to 2.
INFINI_DEVICE double near_weight(double x) { return (1.25 * x - 2.25) * x * x + 1; }
INFINI_DEVICE double far_weight(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

INFINI_DEVICE double filter(double x) {
    x = x < 0 ? -x : x;
    if constexpr (kMode == 4) return x < 1 ? 1 - x : 0.0;
    if (x >= 2) return 0.0;
    return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
}

INFINI_DEVICE double clamped(double x, double most) { return x > 0 ? x < most ? x : most : 0.0; }

// Antialiasing: all elements within a distance that grows with the distance of outputs.
INFINI_DEVICE void smooth(const AxisParams &a, int64_t o, double step, bool corners) {
    W *weight = static_cast<W *>(a.weight) + o * a.taps;
    if (corners) step = a.out > 1 ? double(a.in - 1) / double(a.out - 1) : 0.0;
    const double wide = step > 1 ? step : 1.0, reach = kMode == 5 ? 2 * wide : wide;
    const double middle = __dmul_rn(step, double(o) + 0.5), most = double(a.in);
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

INFINI_DEVICE void make(const AxisParams &a, int64_t o, bool corners) {
    const double scale = a.scale > 1e-300 ? a.scale : 1e-300;
    const double step = a.scale > 0 ? 1 / scale : double(a.in) / double(a.out);
    W *weight = static_cast<W *>(a.weight) + o * a.taps;
    if constexpr (kMode >= 4) return smooth(a, o, step, corners);
    a.count[o] = int32_t(a.taps);
    if constexpr (kMode <= 1) {
        const float middle = float(double(o) + (kMode == 1 ? 0.5 : 0.0));
        const double at = floor(double(__fmul_rn(middle, float(step))));
        a.first[o] = int32_t(clamped(at, double(a.in - 1)));
        weight[0] = W(1);
        return;
    }
    double source = __dadd_rn(__dmul_rn(double(o) + 0.5, step), -0.5);
    if (corners) source = double(o * (a.in - 1)) / double(a.out > 1 ? a.out - 1 : 1);
    if (kMode == 2) source = source > 0 ? source : 0.0;
    double before = floor(source);
    const double share = source - before;
    // Indices are clamped where they are used, so values far beyond the edge do not matter.
    const double last = double(a.in) + 2;
    before = before > last ? last : before > -3 ? before : -3.0;
    a.first[o] = int32_t(before) - (kMode == 3);
    if constexpr (kMode == 2) {
        weight[0] = W(1 - share), weight[1] = W(share);
    } else {
        weight[0] = W(far_weight(share + 1)), weight[1] = W(near_weight(share));
        weight[2] = W(near_weight(1 - share)), weight[3] = W(far_weight(2 - share));
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ResampleParams, 256, 1) {
    int64_t o = grid_thread();
#pragma unroll 1
    for (int d = 0; d < 3; ++d) {
        if (o >= 0 && o < p.axes[d].out) make(p.axes[d], o, p.corners);
        o -= p.axes[d].out;
    }
}
#endif
