// histc and bincount: a block counts a piece of the input, in shared memory if the bins fit there
// (kBins of them), else in a table in memory that all blocks share. Counts are integers, so their
// order does not matter. kHistogram: bins of equal width.
#include "count_params.h"

namespace infini {

// The bin of an element, or one beyond all.
INFINI_DEVICE uint64_t bin_of(const CountParams &p, T x) {
    if constexpr (kHistogram) {
        const double value = convert<double>(x);
        if (!(value >= p.least && value <= p.greatest)) return ~uint64_t(0);
        const int64_t bin = int64_t(floor((value - p.least) / p.width));
        return uint64_t(bin < p.bins - 1 ? bin : p.bins - 1);
    } else {
        return uint64_t(convert<int64_t>(x));  // negative ones are beyond
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
