// fold: sums, for each element of the image, the input elements that map to it.
#include "image.cuh"

using namespace infini;

INFINI_ENTRY(FoldParams, 256, 1) {
    using C = Choose<kSame<T, double>, double, float>;
    for (int64_t number = grid_thread(); number < p.count; number += grid_threads()) {
        const I row = I(number) / I(p.size[1]), x = I(number) - row * I(p.size[1]);
        const I plane = row / I(p.size[0]), y = row - plane * I(p.size[0]);
        const I image = plane / I(p.channels), channel = plane - image * I(p.channels);
        const T *columns = static_cast<const T *>(p.columns) + image * p.from[0] +
                           channel * p.taps[0] * p.taps[1] * p.from[1];
        const I step0 = I(p.step[0]), step1 = I(p.step[1]);
        C sum = C(0);
        for (I i = 0; i < I(p.taps[0]); ++i) {
            const I from = y + I(p.pad[0]) - i * I(p.gap[0]), down = from / step0;
            if (from < 0 || down * step0 != from || down >= I(p.windows[0])) continue;
            for (I k = 0; k < I(p.taps[1]); ++k) {
                const I left = x + I(p.pad[1]) - k * I(p.gap[1]), across = left / step1;
                if (left < 0 || across * step1 != left || across >= I(p.windows[1])) continue;
                sum += convert<C>(columns[(i * p.taps[1] + k) * p.from[1] +
                                          (down * p.windows[1] + across) * p.from[2]]);
            }
        }
        static_cast<T *>(p.image)[image * p.to[0] + channel * p.to[1] + y * p.to[2] + x * p.to[3]] =
            convert<T>(sum);
    }
}
