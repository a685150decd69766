// searchsorted, histc and bincount.
#pragma once

#include "offsets.h"

namespace infini {

struct SearchParams {
    const void *sequences, *x;
    int64_t *y;
    Offsets begins, from, to;  // begins: of the sequences, one per row of values
    int64_t count, row;        // values in total and per row
    int64_t size, step;        // per sequence
    int32_t shared;            // one sequence for all rows
};

struct CountParams {
    const void *x, *weights;
    void *y;
    void *tables;  // of counts; with weights, the indices of the sorted elements
    int64_t size, step, weight_step;
    int64_t bins, out_step;
    double least, greatest, width;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#ifdef INFINI_KERNEL_COUNT_BINS
// histc and bincount: a block counts a chunk of the input, in shared memory if the bins fit (kBins
// of them), otherwise in a table in memory that all blocks share. Counts are integers, so their
// order does not matter. kHistogram: bins of equal width.
namespace infini {

// The bin of an element, or one after all bins.
INFINI_DEVICE uint64_t bin_of(const CountParams &p, T x) {
    if constexpr (kHistogram) {
        const double value = convert<double>(x);
        if (!(value >= p.least && value <= p.greatest)) return ~uint64_t(0);
        const int64_t bin = int64_t(floor((value - p.least) / p.width));
        return uint64_t(bin < p.bins - 1 ? bin : p.bins - 1);
    } else {
        return uint64_t(convert<int64_t>(x));  // negative values are after all bins
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CountParams, 256, 1) {
    using Count = unsigned long long;
    Count *table = static_cast<Count *>(p.tables);
    const T *x = static_cast<const T *>(p.x);
    if constexpr (kBins > 0) {
        INFINI_SHARED uint32_t bins[kBins > 0 ? kBins : 1];
        for (int i = threadIdx.x; i < p.bins; i += 256) bins[i] = 0;
        __syncthreads();
        for (int64_t i = grid_thread(); i < p.size; i += grid_threads()) {
            const uint64_t bin = bin_of(p, x[i * p.step]);
            if (bin < uint64_t(p.bins)) atomicAdd(&bins[bin], 1u);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < p.bins; i += 256)
            if (bins[i]) atomicAdd(&table[i], Count(bins[i]));
    } else {
        for (int64_t i = grid_thread(); i < p.size; i += grid_threads()) {
            const uint64_t bin = bin_of(p, x[i * p.step]);
            if (bin < uint64_t(p.bins)) atomicAdd(&table[bin], Count(1));
        }
    }
}
#endif

#ifdef INFINI_KERNEL_COUNT_FINISH
// Converts counts to the result's type.
using namespace infini;

INFINI_ENTRY(CountParams, 256, 1) {
    const int64_t bin = grid_thread();
    if (bin >= p.bins) return;
    const int64_t count = static_cast<const int64_t *>(p.tables)[bin];
    static_cast<R *>(p.y)[bin * p.out_step] = convert<R>(count);
}
#endif

#ifdef INFINI_KERNEL_COUNT_WEIGH
// bincount with weights: a warp adds up the weights of a bin, in an order that does not depend on
// the threads. kSorted: the input is sorted, with the indices of its elements, and a bin is a range
// of it; otherwise the input is short and the warp reads all of it.
namespace infini {

// Whether a value is less than a bin, or, with `bin`, than the next one.
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
#endif

#ifdef INFINI_KERNEL_COUNT_SEARCH
// searchsorted: the number of elements of an ascending sequence that are less than a value (kRight:
// not greater). NaN is greater than all elements, which is why the comparisons are negated.
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
#endif

#endif  // INFINI_DEVICE
