// Offsets, problem sizes and permutations for grouped products.
#include "align_params.h"

using namespace infini;

INFINI_ENTRY(PrepareParams, 256, 1) {
    const int64_t i = grid_thread();
    const uint32_t all = p.first[p.experts];  // pairs that have an expert
    if (i <= p.experts) p.offsets[i] = int32_t(p.first[i]);
    if (i < p.experts) {
        const uint32_t count = p.first[i + 1] - p.first[i];
        if (p.scales) p.scales[i] = int32_t((count + 127) / 128 * 128);
        int32_t *first = p.sizes1 + 3 * i, *second = p.sizes2 + 3 * i;
        first[0] = int32_t(count), first[1] = int32_t(2 * p.n), first[2] = int32_t(p.k);
        second[0] = int32_t(count), second[1] = int32_t(p.k), second[2] = int32_t(p.n);
    }
    if (i < p.pairs) {
        const uint32_t pair = p.order[i];
        p.token[i] = i < all ? int32_t(p.choices.divide(pair)) : 0;
        p.place[pair] = i < all ? int32_t(i) : 0;
    }
}
