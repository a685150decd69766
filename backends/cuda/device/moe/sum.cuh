// The sum of the rows that a token's experts gave, in vectors of kVector T.
#include "align_params.h"
#include "words.cuh"

using namespace infini;

INFINI_ENTRY(MoeSumParams, 256, 1) {
    const int64_t at = grid_thread();
    if (at >= p.vectors) return;
    for (int64_t token = blockIdx.y; token < p.tokens; token += gridDim.y) {
        const T *x = static_cast<const T *>(p.x) + token * p.x_token + at * p.x_step;
        float sum[kVector] = {};
#pragma unroll 4
        for (int64_t k = 0; k < p.choices; ++k) {
            float row[kVector];
            widen(load_some<kVector>(x + k * p.x_choice, p.whole), row);
#pragma unroll
            for (int i = 0; i < kVector; ++i) sum[i] += row[i];
        }
        store_some<kVector>(static_cast<T *>(p.y) + token * p.y_token + at * p.y_step,
                            narrow<T>(sum), p.whole);
    }
}
