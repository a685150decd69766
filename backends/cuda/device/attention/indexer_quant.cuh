// fp8_indexer_quant: rows of T in e4m3 with a scale that is a power of two, multiplied into the
// row's weight of type U. A warp for each row, vectors of kVector elements.
#include "indexer_params.h"
#include "words.cuh"

namespace infini {

constexpr int kWarps = 8;
constexpr float kLargestCode = 448.0f;

// The least power of two that is not less than the greatest element (1e-4 at least) by the largest
// code.
INFINI_DEVICE float power_scale(float greatest) {
    const uint32_t bits = bit_cast<uint32_t>((greatest > 1e-4f ? greatest : 1e-4f) / kLargestCode);
    return bit_cast<float>((bits + 0x007fffffu) & 0x7f800000u);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(IndexerQuantParams, kWarps *kWarp, 1) {
    constexpr int n = kVector;
    const int64_t row = int64_t(blockIdx.x) * kWarps + warp();
    if (row >= p.rows) return;
    const T *q = static_cast<const T *>(p.q) + row * p.vectors * n;
    float most = 0;
    for (int64_t i = lane(); i < p.vectors; i += kWarp) {
        float v[n];
        widen(load_some<n>(q + i * n, p.whole), v);
#pragma unroll
        for (int k = 0; k < n; ++k) {
            const float size = v[k] < 0 ? -v[k] : v[k];
            most = size > most ? size : most;
        }
    }
    const float scale = power_scale(fold_warp(most, fold::Max())), inverse = 1 / scale;
    for (int64_t i = lane(); i < p.vectors; i += kWarp) {
        float v[n];
        widen(load_some<n>(q + i * n, p.whole), v);
        Vec<uint8_t, n> codes;
#pragma unroll
        for (int k = 0; k < n; ++k) codes[k] = convert<f8>(v[k] * inverse).bits;
        store_some<n>(p.out + (row * p.vectors + i) * n, codes, p.whole);
    }
    if (lane() == 0)
        p.weights_out[row] = convert<float>(static_cast<const U *>(p.weights)[row]) * scale;
}
