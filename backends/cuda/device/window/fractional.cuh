// fractional_max_pool: pseudo-random windows, chosen separately for each image.
#include "image.cuh"

namespace infini {

using C = Choose<kSame<T, double>, double, float>;

// The start of window o in a dimension.
INFINI_DEVICE int64_t first_of(const FractionalParams &p, int d, int64_t o, const T *samples) {
    const int64_t room = p.from.size[d] - p.kernel[d], count = p.to.size[d];
    if (o == count - 1) return room;
    const int own = d - (3 - p.rank);
    double u = own < 0 ? 0.0 : convert<double>(samples[own * p.sample_stride[2]]);
    u = !(u > 0) ? 0.0 : u < 1 - 0x1p-24 ? u : 1 - 0x1p-24;
    const double step = double(room) / double(count > 1 ? count - 1 : 1);
    // The definition rounds each of the two products.
    const int64_t at = int64_t(__dmul_rn(double(o) + u, step)) - int64_t(__dmul_rn(u, step));
    return at < room ? at : room;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(FractionalParams, 256, 1) {
    const int64_t outputs = p.to.batch * p.to.channels * p.to.elements();
    for (int64_t number = grid_thread(); number < outputs; number += grid_threads()) {
        const Pixel to(p.to, number);
        const T *plane = static_cast<const T *>(p.x) + to.plane(p.from);
        const T *samples = static_cast<const T *>(p.samples) + to.image * p.sample_stride[0] +
                           to.channel * p.sample_stride[1];
        int64_t first[3];
#pragma unroll
        for (int d = 0; d < 3; ++d) first[d] = first_of(p, d, to.at[d], samples);
        C best = -infinity<C>();
        int64_t place = -1;
        for (int64_t a = first[0]; a < first[0] + p.kernel[0]; ++a)
            for (int64_t b = first[1]; b < first[1] + p.kernel[1]; ++b)
                for (int64_t c = first[2]; c < first[2] + p.kernel[2]; ++c) {
                    const C value = convert<C>(
                        plane[a * p.from.stride[0] + b * p.from.stride[1] + c * p.from.stride[2]]);
                    const bool nan = value != value && best == best;
                    if (value > best || nan || place < 0)
                        best = value, place = (a * p.from.size[1] + b) * p.from.size[2] + c;
                }
        static_cast<T *>(p.y)[to.offset(p.to)] = convert<T>(best);
        p.found[to.offset(p.places)] = place;
    }
}
