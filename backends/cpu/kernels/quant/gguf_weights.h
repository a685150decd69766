// GGUF weights [n, k] as the matrix [k, n] of a product in floating point.
#pragma once

#include <algorithm>

#include "../matmul/matmul.h"
#include "gguf_blocks.h"

namespace infini::cpu {

template <int format>
class GgufWeights final : public Weights {
public:
    GgufWeights(const void *packed, int64_t k)
        : packed_(static_cast<const uint8_t *>(packed)), row_bytes_(Gguf<format>::row_bytes(k)) {}

    void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                int64_t stride) const override {
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < k; i += 32) {
                float values[32];
                gguf_values<format>(packed_ + (n0 + j) * row_bytes_, (k0 + i) / 32, values);
                const int64_t count = std::min<int64_t>(32, k - i);
                for (int64_t p = 0; p < count; ++p) panel[(i + p) * stride + j] = values[p];
            }
        }
    }

    bool multiply(int64_t m, const float *x, int64_t k, int64_t n0, int64_t n,
                  float *y) const override {
        for (int64_t j = 0; j < n; ++j) {
            const uint8_t *row = packed_ + (n0 + j) * row_bytes_;
            F32 sums[kFewRows] = {};
            for (int64_t p = 0; p < k; p += 32) {
                float values[32];
                gguf_values<format>(row, p / 32, values);
                for (int64_t i = 0; i < m; ++i) {
#pragma GCC unroll 8
                    for (size_t v = 0; v < 32; v += kWidth<float>) {
                        sums[i] = fma(load<F32>(values + v), load<F32>(x + i * k + p + v), sums[i]);
                    }
                }
            }
            for (int64_t i = 0; i < m; ++i) y[i * n + j] = reduce_add(sums[i]);
        }
        return true;
    }

private:
    const uint8_t *packed_;
    int64_t row_bytes_;
};

}  // namespace infini::cpu
