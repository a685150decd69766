// kv_caching: words W of elements E go to rows behind those of the past, of which L says how many.
// Keys and values are the two rows of the grid.
#include "slots_params.h"
#include "words.cuh"

using namespace infini;

INFINI_ENTRY(AppendParams, 256, 1) {
    const int k = int(blockIdx.y);
    const int64_t i = grid_thread();
    if (i >= p.words[k].count) return;
    int64_t offset[4];
    p.words[k].at(i, offset);
    const int64_t past = int64_t(static_cast<const L *>(p.past)[offset[3]]);
    const int64_t row = past + offset[2];
    if (past >= p.rows || row < 0 || row >= p.rows) return;
    store_word<E>(static_cast<char *>(p.cache[k]) + offset[0] + row * p.row[k],
                  load_word<W, E>(static_cast<const char *>(p.from[k]) + offset[1], p.whole),
                  p.whole);
}
