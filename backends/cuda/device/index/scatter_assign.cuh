// The last update of each place is written. Elements E are only moved.
#include "scatter.cuh"

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries.count) return;
    const Entry entry = entry_at(p, i);
    if (entry.place < 0 || p.last[entry.place] != i) return;
    static_cast<E *>(p.out)[offset_of(p, entry.place)] =
        static_cast<const E *>(p.updates)[entry.update];
}
