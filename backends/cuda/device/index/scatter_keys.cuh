// The place of each entry, for a sort; or (kLast) the last entry of each place, an integer maximum,
// so that the order of the threads does not matter.
#include "scatter.cuh"

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries.count) return;
    const int64_t place = entry_at(p, i).place;
    if (!kLast)
        p.keys[i] = uint32_t(place < 0 ? p.groups : place);
    else if (place >= 0)
        atomicMax(&p.last[place], int32_t(i));
}
