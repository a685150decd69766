// The last token of each slot that is named: first such slots are cleared (kClear), then raised.
#include "slots.cuh"

using namespace infini;

INFINI_ENTRY(SlotsParams, 256, 1) {
    const int64_t token = grid_thread();
    if (token >= p.tokens) return;
    const int64_t slot = slot_of(p, token);
    if (slot < 0) return;
    if (kClear)
        p.last[slot] = -1;
    else
        atomicMax(&p.last[slot], int32_t(token));
}
