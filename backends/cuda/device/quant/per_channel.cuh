// A block for each row: its range, then its codes. The second reading finds the row in a cache.
// kSymmetric: no zero point.
#include "int8.cuh"

namespace infini {

constexpr int kThreads = 256;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ChannelParams, kThreads, 1) {
    constexpr int n = kVector;
    const int64_t row = blockIdx.x;
    const T *x = static_cast<const T *>(p.x) + row * p.vectors * n;
    float low = infinity<float>(), high = -infinity<float>();
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < p.vectors; i += kThreads) {
        float v[n];
        widen(load_some<n>(x + i * n, p.whole), v);
#pragma unroll
        for (int k = 0; k < n; ++k) low = fold::Min()(low, v[k]), high = fold::Max()(high, v[k]);
    }
    low = fold_block<kThreads>(low, fold::Min());
    high = fold_block<kThreads>(high, fold::Max());
    if (p.vectors == 0) low = high = 0;
    const float span = kSymmetric ? fold::Max()(-low, high) / 127.0f : (high - low) / 255.0f;
    const float scale = fold::Max()(span, 1e-8f);
    const float zero = kSymmetric ? 0.0f : -low / scale - 128.0f;
    if (threadIdx.x == 0) {
        p.scales[row] = scale;
        if (!kSymmetric) p.zeros[row] = zero;
    }
    int8_t *out = p.out + row * p.vectors * n;
#pragma unroll 2
    for (int64_t i = threadIdx.x; i < p.vectors; i += kThreads) {
        float v[n];
        widen(load_some<n>(x + i * n, p.whole), v);
        Vec<int8_t, n> codes;
#pragma unroll
        for (int k = 0; k < n; ++k)
            codes[k] = code_of(v[k], scale, zero, kSymmetric ? -127.0f : -128.0f);
        store_some<n>(out + i * n, codes, p.whole);
    }
}
