// bincount with weights: a warp adds up what falls into a bin, in an order that does not depend on
// the threads. kSorted: the input comes sorted, with the places where its elements stood, and a bin
// is a stretch of it; else it is short, and the warp looks at all of it.
#include "count_params.h"

namespace infini {

// Whether a number comes before a bin, or, with `bin`, before the next one.
INFINI_DEVICE bool comes_before(T x, int64_t bin, bool here) {
    if constexpr (kSame<T, uint64_t>)
        return here ? x <= uint64_t(bin) : x < uint64_t(bin);
    else
        return here ? convert<int64_t>(x) <= bin : convert<int64_t>(x) < bin;
}

INFINI_DEVICE int64_t first_from(const T *x, int64_t n, int64_t bin, bool after) {
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const bool before = comes_before(x[low + half], bin, after);
        low = before ? low + half + 1 : low;
        n = before ? n - half - 1 : half;
    }
    return low;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CountParams, 256, 1) {
    using S = Choose<kSame<R, float>, double, Choose<kSame<R, int64_t>, uint64_t, R>>;
    const R *weights = static_cast<const R *>(p.weights);
    const T *x = static_cast<const T *>(p.x);
    const int64_t bin = grid_thread() / kWarp;
    if (bin >= p.bins) return;
    S sum = S(0);
    if constexpr (kSorted) {
        const int64_t *places = static_cast<const int64_t *>(p.tables);
        const int64_t end = first_from(x, p.size, bin, true);
        for (int64_t i = first_from(x, p.size, bin, false) + lane(); i < end; i += kWarp)
            sum += S(weights[places[i] * p.weight_step]);
    } else {
        for (int64_t i = lane(); i < p.size; i += kWarp)
            if (uint64_t(convert<int64_t>(x[i * p.step])) == uint64_t(bin))
                sum += S(weights[i * p.weight_step]);
    }
    sum = fold_warp(sum, fold::Sum());
    if (lane() == 0) static_cast<R *>(p.y)[bin * p.out_step] = R(sum);
}
