// linear_gguf: out = input @ w^T + bias.
#include "../kernel.h"
#include "../threads.h"
#include "gguf_rows.h"
#include "gguf_weights.h"

namespace infini::cpu {
namespace {

struct Sizes {
    int64_t m, n, k;
    int dtype;
    bool bias;
};

// In floating point, by the engine for matrix products.
template <int format>
std::unique_ptr<Plan> plan_exact(const Sizes &s) {
    Matmul product;
    product.m = s.m, product.n = s.n, product.k = s.k;
    product.a = {nullptr, s.dtype, s.k, 1, 0};
    product.c = {nullptr, s.dtype, s.n, 1, 0};
    const Epilogue any;
    const GgufWeights<format> unknown(nullptr, s.k);
    Matmul sample = product;
    sample.epilogue = s.bias ? &any : nullptr, sample.weights = &unknown;
    return make_plan(
        [=](const Arguments &arguments) {
            const GgufWeights<format> weights(arguments.pointer<void>(2), product.k);
            Epilogue epilogue;
            Matmul p = product;
            if (s.bias) {
                epilogue.bias = arguments.pointer<void>(3);
                epilogue.bias_dtype = p.c.dtype;
                p.epilogue = &epilogue;
            }
            p.c.data = arguments.pointer<void>(0);
            p.a.data = arguments.pointer<void>(1);
            p.weights = &weights;
            matmul(p, arguments.workspace());
        },
        matmul_workspace(sample));
}

// Sums over the units of a row go from the first to the last, each exact in I32, so that a result
// does not depend on the rows beside it.
template <int format>
void multiply(const GgufRows &x, int64_t m0, int64_t m, const uint8_t *row, float *y) {
    using G = Gguf<format>;
    float sums[8] = {};
    for (int64_t unit = 0; unit < x.units; ++unit) {
        uint8_t codes[32];
        gguf_codes<format>(row, unit, codes);
        const GgufFactors f = gguf_factors<format>(row, unit);
        for (int64_t i = 0; i < m; ++i) {
            const int64_t at = (m0 + i) * x.units + unit;
            const int8_t *from = x.codes + at * 32;
            int32_t part[2] = {}, total = 0;
            for (int j = 0; j < 32; ++j) {
                const int code =
                    format == kQ8_0 ? int(int8_t(codes[j])) : int(codes[j]) - G::kOffset;
                part[j / 16] += code * from[j];
            }
            total = G::kHasParts ? f.part[0] * part[0] + f.part[1] * part[1] : part[0] + part[1];
            sums[i] = fma(float(total), f.scale * x.scale[at], sums[i]);
            if constexpr (G::kHasMinimum) sums[i] = fma(f.minimum, x.sum[at], sums[i]);
        }
    }
    for (int64_t i = 0; i < m; ++i) y[i] = sums[i];
}

template <int format>
std::unique_ptr<Plan> plan_bytes(const Sizes &s) {
    const int64_t units = s.k / 32;
    return make_plan(
        [=](const Arguments &arguments) {
            const GgufRows x(arguments.workspace(), s.m, units);
            const void *input = arguments.pointer<void>(1);
            const size_t row_grain =
                size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(s.k, 1)));
            parallel_for(size_t(s.m), row_grain, [&](size_t begin, size_t end) {
                for (size_t row = begin; row < end; ++row) x.load(int64_t(row), input, s.dtype);
            });
            const uint8_t *weight = arguments.pointer<uint8_t>(2);
            const void *bias = s.bias ? arguments.pointer<void>(3) : nullptr;
            void *out = arguments.pointer<void>(0);
            const size_t grain =
                size_t(std::max<int64_t>(1, 65536 / std::max<int64_t>(s.k * s.m, 1)));
            parallel_for(size_t(s.n), grain, [&](size_t begin, size_t end) {
                for (int64_t column = int64_t(begin); column < int64_t(end); ++column) {
                    const uint8_t *row = weight + column * Gguf<format>::row_bytes(s.k);
                    for (int64_t m0 = 0; m0 < s.m; m0 += 8) {
                        const int64_t m = std::min<int64_t>(8, s.m - m0);
                        float y[8];
                        multiply<format>(x, m0, m, row, y);
                        for (int64_t i = 0; i < m; ++i) {
                            if (bias) y[i] += load_as<float>(s.dtype, bias, column);
                            store_as<float>(s.dtype, out, (m0 + i) * s.n + column, y[i]);
                        }
                    }
                }
            });
        },
        GgufRows::bytes(s.m, units));
}

std::unique_ptr<Plan> plan_linear_gguf(const Operation &op) {
    const Tensor out = op.tensor(0), input = op.tensor(1);
    Sizes s;
    s.n = out.size(-1), s.k = input.size(-1), s.dtype = out.dtype;
    s.m = s.n == 0 ? 0 : out.numel() / s.n;
    s.bias = bool(op.tensor(3));
    const bool quantise = op.integer(1) != 0;
    return visit_gguf(op.integer(0), [&]<int format>(std::integral_constant<int, format>) {
        return quantise ? plan_bytes<format>(s) : plan_exact<format>(s);
    });
}

INFINI_KERNEL("linear_gguf", plan_linear_gguf);

}  // namespace
}  // namespace infini::cpu
