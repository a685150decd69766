// The lengths of the groups in whole blocks.
#include "align_params.h"

using namespace infini;

INFINI_ENTRY(AlignParams, 256, 1) {
    const int64_t group = grid_thread();
    if (group >= p.groups) return;
    const uint32_t count = p.first[group + 1] - p.first[group];
    p.starts[group] = uint32_t((count + p.block - 1) / p.block * p.block);
}
