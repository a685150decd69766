// grid_sample: a thread computes the neighbours and weights of a point, and interpolates some
// channels. kNeighbours: per dimension, 1 (nearest), 2 (linear) or 4 (cubic). kAround: 0 zeros, 1
// border, 2 reflection.
#include "image.cuh"

namespace infini {

using C = Choose<kSame<T, double>, double, float>;

INFINI_DEVICE double near_weight(double x) { return (1.25 * x - 2.25) * x * x + 1; }
INFINI_DEVICE double far_weight(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

// Applies the padding to a coordinate. Not inlined, because it is long.
__device__ __noinline__ double placed(double at, int64_t size, bool corners) {
    if constexpr (kAround == 0) return at;
    const double last = double(size - 1);
    if constexpr (kAround == 2) {
        const double low = corners ? 0.0 : -0.5, span = corners ? last : double(size);
        if (span <= 0) return 0;
        const double away = fabs(at - low), extra = fmod(away, span);
        const bool even = fmod(floor(away / span), 2.0) == 0;
        at = (even ? extra : span - extra) + low;
    }
    return at < 0 ? 0.0 : at > last ? last : at;
}

// -1 for an index out of bounds.
INFINI_DEVICE int64_t element(double at, int64_t size) {
    return at >= 0 && at < double(size) ? int64_t(at) : -1;
}

// The neighbours along one dimension.
struct Neighbours {
    int64_t place[kNeighbours];
    C weight[kNeighbours];

    INFINI_DEVICE Neighbours(double at, int64_t size, bool corners) {
        // Rounded after each step, as in other implementations, which matters for points exactly
        // between two elements.
        if (corners)
            at = __dmul_rn((at + 1) / 2, double(size - 1));
        else
            at = __dadd_rn(__dmul_rn(at + 1, double(size)), -1.0) / 2;
        if constexpr (kNeighbours != 4) at = placed(at, size, corners);
        const double before = kNeighbours == 1 ? rint(at) : floor(at), share = at - before;
        if constexpr (kNeighbours == 1) {
            place[0] = element(before, size), weight[0] = C(1);
        } else if constexpr (kNeighbours == 2) {
            place[0] = element(before, size), place[1] = element(before + 1, size);
            weight[0] = C(1 - share), weight[1] = C(share);
        } else {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                place[k] = element(placed(before + k - 1, size, corners), size);
            weight[0] = C(far_weight(share + 1)), weight[1] = C(near_weight(share));
            weight[2] = C(near_weight(1 - share)), weight[3] = C(far_weight(2 - share));
        }
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GridParams, 256, 1) {
    const int64_t points = p.to.batch * p.to.elements();
    const int64_t chunks = (p.to.channels + p.chunk - 1) / p.chunk;
    for (int64_t task = grid_thread(); task < points * chunks; task += grid_threads()) {
        const int64_t chunk = task / points, number = task - chunk * points;
        I rest = I(number), at[3];
#pragma unroll
        for (int d = 2; d >= 0; --d) {
            const I next = rest / I(p.to.size[d]);
            at[d] = rest - next * I(p.to.size[d]);
            rest = next;
        }
        const int64_t image = rest;
        const T *point = static_cast<const T *>(p.grid) + image * p.grid_stride[0] +
                         at[0] * p.grid_stride[1] + at[1] * p.grid_stride[2] +
                         at[2] * p.grid_stride[3];
        auto along = [&](int d) {
            return Neighbours(convert<double>(point[(2 - d) * p.grid_stride[4]]), p.from.size[d],
                              p.corners);
        };
        const Neighbours n1 = along(1), n2 = along(2), n0 = kRank == 3 ? along(0) : n1;
        constexpr int kDepth = kRank == 3 ? kNeighbours : 1;
        const int64_t first = chunk * p.chunk;
        const int64_t last = first + p.chunk < p.to.channels ? first + p.chunk : p.to.channels;
        const T *x = static_cast<const T *>(p.x) + image * p.from.batch_stride;
        T *y = static_cast<T *>(p.y) + image * p.to.batch_stride + at[0] * p.to.stride[0] +
               at[1] * p.to.stride[1] + at[2] * p.to.stride[2];
        for (int64_t channel = first; channel < last; ++channel) {
            const T *plane = x + channel * p.from.channel_stride;
            C sum = C(0);
#pragma unroll
            for (int i = 0; i < kDepth; ++i)
#pragma unroll
                for (int j = 0; j < kNeighbours; ++j)
#pragma unroll
                    for (int k = 0; k < kNeighbours; ++k) {
                        const int64_t a = kRank == 3 ? n0.place[i] : 0;
                        const int64_t b = n1.place[j], c = n2.place[k];
                        const bool inside = a >= 0 && b >= 0 && c >= 0;
                        const int64_t offset =
                            a * p.from.stride[0] + b * p.from.stride[1] + c * p.from.stride[2];
                        const C value = inside ? convert<C>(plane[offset]) : C(0);
                        const C weight =
                            (kRank == 3 ? n0.weight[i] : C(1)) * n1.weight[j] * n2.weight[k];
                        sum += kNeighbours == 1 ? value : weight * value;
                    }
            y[channel * p.to.channel_stride] = convert<T>(sum);
        }
    }
}
