// The rows of a token's pairs, summed in the order of its choices. The host gives T and kVector:
// rows are multiples of 16 bytes.
#include "experts_params.h"
#include "prelude.cuh"

INFINI_ENTRY(infini::SumPairsParams, 256, 1) {
    using namespace infini;
    constexpr int kRun = kVector ? kWide<T> : 1;
    const int64_t runs = p.columns / kRun;
    for (int64_t run = grid_thread(); run < p.tokens * runs; run += grid_threads()) {
        const int64_t token = run / runs, column = run % runs * kRun;
        float sums[kRun] = {};
        for (int i = 0; i < p.choices; ++i) {
            const int64_t pair = token * p.choices + i;
            const int row = p.places[pair];
            if (row < 0) continue;
            const float scale = p.scales ? p.scales[pair] : 1.0f;
            const Vec<T, kRun> values =
                load<kRun>(static_cast<const T *>(p.rows) + row * p.columns + column);
#pragma unroll
            for (int j = 0; j < kRun; ++j) sums[j] += scale * convert<float>(values[j]);
        }
        store(static_cast<T *>(p.out) + token * p.columns + column, narrow<T, kRun>(sums));
    }
}
