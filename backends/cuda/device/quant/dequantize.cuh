// dequantize_awq and dequantize_gptq: (q - z) * scale, 8 columns for each thread. kAwq: a word has
// 8 columns of a row in AWQ's order; else 8 rows of a column.
#include "packed_params.h"
#include "words.cuh"

namespace infini {

// The nibble of a word that holds column j.
INFINI_DEVICE int nibble(int j) { return kAwq ? j % 2 * 4 + j / 2 : j; }

struct Group {
    float scale[8], zero[8];
};

INFINI_DEVICE void load_group(const DequantizeParams &p, int64_t group, int64_t word, Group &to) {
    const f16 *scales = static_cast<const f16 *>(p.scales) + (group * p.columns + word) * 8;
    widen(load_some<8>(scales, p.whole_scales), to.scale);
    const uint32_t zeros = p.zeros[group * p.columns + word];
#pragma unroll
    for (int j = 0; j < 8; ++j) to.zero[j] = float(zeros >> (4 * nibble(j)) & 15) + (kAwq ? 0 : 1);
}

INFINI_DEVICE void put(const DequantizeParams &p, int64_t row, int64_t word, const float (&q)[8],
                       const Group &group) {
    float value[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) value[j] = (q[j] - group.zero[j]) * group.scale[j];
    store_some<8>(static_cast<f16 *>(p.out) + (row * p.columns + word) * 8, narrow<f16>(value),
                  p.whole_out);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(DequantizeParams, 256, 1) {
    const int64_t word = grid_thread();
    if (word >= p.columns) return;
    const int64_t bands = kAwq ? p.rows : p.rows / 8;
    int64_t loaded = -1;
    Group group;
    for (int64_t band = blockIdx.y; band < bands; band += gridDim.y) {
        float q[8];
        if constexpr (kAwq) {
            const int64_t here = band / p.group_rows;
            if (here != loaded) load_group(p, loaded = here, word, group);
            const uint32_t codes = p.weights[band * p.columns + word];
#pragma unroll
            for (int j = 0; j < 8; ++j) q[j] = float(codes >> (4 * nibble(j)) & 15);
            put(p, band, word, q, group);
        } else {
            const uint32_t *weights = p.weights + (band * p.columns + word) * 8;
            const Vec<uint32_t, 4> low = load_some<4>(weights, p.whole_weights);
            const Vec<uint32_t, 4> high = load_some<4>(weights + 4, p.whole_weights);
#pragma unroll 1
            for (int r = 0; r < 8; ++r) {
                int64_t here = p.group_of[band * 8 + r] % p.groups;
                here += here < 0 ? p.groups : 0;
                if (here != loaded) load_group(p, loaded = here, word, group);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    q[j] = float((j < 4 ? low[j] : high[j - 4]) >> (4 * r) & 15);
                put(p, band * 8 + r, word, q, group);
            }
        }
    }
}
