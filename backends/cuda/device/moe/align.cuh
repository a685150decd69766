// Where each place of the blocks gets its pair from, and whose block it is.
#include "align_params.h"

namespace infini {

// The group that has a place below the total: the last one that begins there or before.
INFINI_DEVICE int64_t group_at(const AlignParams &p, int64_t place) {
    int64_t low = 0, high = p.groups;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p.starts[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(AlignParams, 256, 1) {
    const int64_t i = grid_thread(), total = *p.total;
    if (i < p.capacity) {
        int64_t pair = p.pairs;
        if (i < total) {
            const int64_t group = group_at(p, i), at = p.first[group] + (i - p.starts[group]);
            if (at < p.first[group + 1]) pair = p.order[at];
        }
        p.sorted[i] = int32_t(pair);
    }
    if (i < p.blocks)
        p.labels[i] = i * p.block < total ? int32_t(group_at(p, i * p.block) - 1) : -1;
}
