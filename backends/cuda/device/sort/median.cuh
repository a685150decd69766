// lower_median: one entry of each sorted line.
#pragma once

#include "offsets.h"

namespace infini {

struct MedianParams {
    const void *sorted;     // [line][size], NaN last
    const int64_t *places;  // [line][size]
    void *values, *indices;
    int64_t lines, size;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

using namespace infini;

// I: of the indices. kSkips: the median of the elements that are not NaN.
INFINI_ENTRY(MedianParams, 256, 1) {
    using C = Choose<kSame<T, double>, double, Choose<kIsFloat<T>, float, T>>;
    for (int64_t line = grid_thread(); line < p.lines; line += grid_threads()) {
        const T *sorted = static_cast<const T *>(p.sorted) + line * p.size;
        int64_t held = 0;  // elements that are not NaN
        for (int64_t n = p.size; n > 0;) {
            const int64_t half = n / 2;
            const C middle = convert<C>(sorted[held + half]);
            const bool held_there = middle == middle;
            held = held_there ? held + half + 1 : held;
            n = held_there ? n - half - 1 : half;
        }
        int64_t rank = held > 0 ? (held - 1) / 2 : 0;
        if (!kSkips && held < p.size) rank = held;
        static_cast<T *>(p.values)[line] = sorted[rank];
        static_cast<I *>(p.indices)[line] = I(p.places[line * p.size + rank]);
    }
}

#endif  // INFINI_DEVICE
