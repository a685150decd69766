// Counts as numbers of the result's type.
#include "count_params.h"

using namespace infini;

INFINI_ENTRY(CountParams, 256, 1) {
    const int64_t bin = grid_thread();
    if (bin >= p.bins) return;
    const int64_t count = static_cast<const int64_t *>(p.tables)[bin];
    static_cast<R *>(p.y)[bin * p.out_step] = convert<R>(count);
}
