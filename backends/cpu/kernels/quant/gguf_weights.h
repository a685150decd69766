// GGUF weights [n, k] as the matrix [k, n] of a floating-point product.
#pragma once

#include <algorithm>

#include "../matmul/matmul.h"
#include "gguf_blocks.h"

namespace infini::cpu {

template <int format>
class GgufWeights final : public Weights {
public:
    explicit GgufWeights(const GgufMatrix<format> &matrix) : matrix_(matrix) {}

    void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                int64_t stride) const override {
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < k; i += 32) {
                float values[32];
                load_unit(n0 + j, (k0 + i) / 32, values);
                const int64_t count = std::min<int64_t>(32, k - i);
                for (int64_t p = 0; p < count; ++p) panel[(i + p) * stride + j] = values[p];
            }
        }
    }

    bool multiply(int64_t m, const float *x, int64_t k, int64_t n0, int64_t n,
                  float *y) const override {
        for (int64_t j = 0; j < n; ++j) {
            F32 sums[kFewRows] = {};
            for (int64_t p = 0; p < k; p += 32) {
                float values[32];
                load_unit(n0 + j, p / 32, values);
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
    INFINI_SIMD void load_unit(int64_t row, int64_t unit, float *values) const {
        constexpr int kUnits = Gguf<format>::kUnits;
        uint8_t copy[Gguf<format>::kBytes];
        gguf_values<format>(matrix_.block(row, unit / kUnits, copy), int(unit % kUnits), values);
    }

    GgufMatrix<format> matrix_;
};

}  // namespace infini::cpu
