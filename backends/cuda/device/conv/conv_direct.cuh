// Convolution of few channels: a thread for each element of y. The host gives T, C (what sums are
// in) and kTransposed. Filters are [groups * features, channels, taps], or transposed
// [groups * channels, features, taps].
#include "window_source.cuh"

INFINI_ENTRY(infini::ConvolutionParams, 256, 1) {
    using namespace infini;
    const int64_t all = int64_t(p.images) * p.groups * p.features * p.out_size;
    for (int64_t i = grid_thread(); i < all; i += grid_threads()) {
        const int64_t plane = i / p.out_size;
        const Place3 out = place_of(p, int(i % p.out_size));
        const int64_t image = plane / (int64_t(p.groups) * p.features);
        const int of = int(plane % (int64_t(p.groups) * p.features));
        const int group = of / p.features, feature = of % p.features;
        C sum = p.bias ? convert<C>(static_cast<const T *>(p.bias)[of]) : C(0);
        for (int tap = 0; tap < p.tap_count; ++tap) {
            const int place = window_place<kTransposed>(p, out, tap_of(p, tap));
            if (place < 0) continue;
            const T *x = static_cast<const T *>(p.x) +
                         (image * p.groups + group) * p.channels * int64_t(p.in_size) + place;
            const T *w = static_cast<const T *>(p.w) + tap;
            w += kTransposed ? (int64_t(group) * p.channels * p.features + feature) * p.tap_count
                             : int64_t(of) * p.channels * p.tap_count;
            const int64_t step = kTransposed ? int64_t(p.features) * p.tap_count : p.tap_count;
            for (int c = 0; c < p.channels; ++c)
                sum += convert<C>(x[c * int64_t(p.in_size)]) * convert<C>(w[c * step]);
        }
        static_cast<T *>(p.y)[i] = convert<T>(sum);
    }
}
