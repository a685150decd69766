// The row that each entry of an index of type I names, for a sort; or (kLast) the last entry of
// each row. Negative numbers count from the end.
#include "update_params.h"

using namespace infini;

INFINI_ENTRY(UpdateKeysParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries) return;
    int64_t row = static_cast<const I *>(p.index)[i * p.step];
    if (row < 0) row += p.rows;
    const bool named = row >= 0 && row < p.rows;
    if (!kLast)
        p.keys[i] = uint32_t(named ? row : p.rows);
    else if (named)
        atomicMax(&p.last[row], int32_t(i));
}
