// searchsorted: how many elements of an ascending sequence are smaller than a value (kRight: not
// larger); all of them for a NaN, which is why the comparisons are turned round.
#include "count_params.h"

using namespace infini;

INFINI_ENTRY(SearchParams, 256, 1) {
    using C = Choose<kSame<T, double>, double,
                     Choose<kIsFloat<T>, float, Choose<kSame<T, boolean>, int32_t, T>>>;
    const T *values = static_cast<const T *>(p.x);
    for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
        const T *sequence = static_cast<const T *>(p.sequences);
        if (!p.shared) sequence += p.begins(i / p.row);
        const C x = convert<C>(values[p.from(i)]);
        int64_t low = 0, n = p.size;
        while (n > 0) {
            const int64_t half = n / 2;
            const C middle = convert<C>(sequence[(low + half) * p.step]);
            const bool beyond = kRight ? !(middle > x) : !(middle >= x);
            low = beyond ? low + half + 1 : low;
            n = beyond ? n - half - 1 : half;
        }
        p.y[p.to(i)] = low;
    }
}
