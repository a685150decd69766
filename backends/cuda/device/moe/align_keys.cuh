// The group of each pair. kPadded: 0 for id -1, then the experts as a map says; else the experts.
// Pairs that are left out have the number behind the last group.
#include "align_params.h"

using namespace infini;

INFINI_ENTRY(AlignKeysParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.pairs) return;
    int64_t id = p.ids[i];
    bool known = id >= 0 && id < p.experts;
    if (kPadded && known && p.map) {
        id = p.map[id];
        known = id >= 0 && id < p.experts;
    } else if (kPadded && id == -1) {
        known = true;
    }
    const int64_t groups = p.experts + kPadded;
    p.keys[i] = uint32_t(known ? id + kPadded : groups);
}
