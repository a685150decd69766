// linear_gguf: out = input @ w^T + bias.
#include "../floats.h"
#include "../kernel.h"
#include "../threads.h"
#include "gguf_gemm.h"
#include "gguf_gemv.h"
#include "gguf_weights.h"

namespace infini::cpu {
namespace {

struct Sizes {
    int64_t m, n, k;
    int dtype;
    bool bias, interleaved;  // interleaved: the layout of the weights
};

template <int format>
GgufMatrix<format> matrix(const Sizes &s, const uint8_t *weight) {
    return {weight, s.n, Gguf<format>::row_bytes(s.k), s.interleaved};
}

// In floating point, by the matrix product engine.
template <int format>
std::unique_ptr<Plan> plan_exact(const Sizes &s) {
    Matmul product;
    product.m = s.m, product.n = s.n, product.k = s.k;
    product.a = {nullptr, s.dtype, s.k, 1, 0};
    product.c = {nullptr, s.dtype, s.n, 1, 0};
    const Epilogue any;
    const GgufWeights<format> unknown(matrix<format>(s, nullptr));
    Matmul sample = product;
    sample.epilogue = s.bias ? &any : nullptr, sample.weights = &unknown;
    return make_plan(
        [=](const Arguments &arguments) {
            const GgufWeights<format> weights(matrix<format>(s, arguments.pointer<uint8_t>(2)));
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

// The pointers of a call.
struct Call {
    const void *input;
    const uint8_t *weight;
    const void *bias;  // or null
    void *out;

    Call(const Arguments &a, bool has_bias)
        : input(a.pointer<void>(1)),
          weight(a.pointer<uint8_t>(2)),
          bias(has_bias ? a.pointer<void>(3) : nullptr),
          out(a.pointer<void>(0)) {}
};

// Stores results of some columns of some rows, with the bias: y[row * stride + column]. The number
// of columns is usually kColumns.
template <int64_t kColumns>
void store_results(const Sizes &s, const Call &call, const float *y, int64_t stride, int64_t row,
                   int64_t rows, int64_t column, int64_t columns) {
    visit_single(s.dtype, [&]<class T>(Type<T>) {
        constexpr size_t kRoom = std::max(size_t(kColumns), kWidth<float>);  // at least a vector
        float bias[kRoom] = {}, sums[kRoom];
        if (call.bias) {
            load_block(bias, static_cast<const T *>(call.bias) + column, size_t(columns));
        }
        for (int64_t i = 0; i < rows; ++i) {
            T *to = static_cast<T *>(call.out) + (row + i) * s.n + column;
            const float *from = y + i * stride;
            if (call.bias) {
                for (int64_t j = 0; j < columns; ++j) sums[j] = from[j] + bias[j];
                from = sums;
            }
            if (columns == kColumns) {
                store_block(to, from, kColumns);
            } else {
                store_block(to, from, size_t(columns));
            }
        }
    });
}

template <int kTogether>
void quantise(const GgufRows<kTogether> &x, const void *input, int dtype) {
    const int64_t work = std::max<int64_t>(x.units * 32 * kTogether, 1);
    parallel_for(size_t(x.groups()), size_t(32768 / work + 1), [&](size_t begin, size_t end) {
        for (size_t group = begin; group < end; ++group) x.quantise(int64_t(group), input, dtype);
    });
}

#ifdef INFINI_GGUF_VECTORS

constexpr int64_t kFewGgufRows = 4;  // rows multiplied without unpacking

// A group of weight rows times kM input rows.
template <int format, int kM>
void multiply_group(const GgufMatrix<format> &weight, int64_t row, const GgufRows<1> &x, float *y,
                    int64_t stride) {
    constexpr int kUnits = Gguf<format>::kUnits;
    constexpr int64_t kPiece = 64 / kUnits;  // blocks that are interleaved at a time
    uint8_t copy[kPiece * Gguf<format>::kBytes * kGgufRows];
    GgufFloats sums[kM][kGgufVectors] = {};
    const int64_t blocks = x.units / kUnits, piece = weight.interleaved ? blocks : kPiece;
    for (int64_t block = 0; block < blocks; block += piece) {
        const int64_t count = std::min(piece, blocks - block);
        const uint8_t *from = weight.group(row, block, count, copy);
        gguf_multiply<format, kM>(from, count, x, block * kUnits, sums);
    }
    for (int i = 0; i < kM; ++i) std::memcpy(y + i * stride, sums[i], sizeof sums[i]);
}

template <int format>
void multiply_few(const Sizes &s, const Call &call, char *workspace) {
    using Kind = GgufFewKind<format>;
    const GgufRows<1> x(workspace, s.m, s.k / 32, Kind::kOffset, Kind::kStart);
    quantise(x, call.input, s.dtype);
    const GgufMatrix<format> weight = matrix<format>(s, call.weight);
    // Columns that are assigned to one thread, and columns that are stored together.
    constexpr int64_t kShared = 2 * kGgufRows, kColumns = 2 * kShared;
    // Layers of small models take only a few microseconds, but using threads pays off there, too.
    const size_t grain = size_t(12288 / std::max<int64_t>(s.k * s.m * kShared, 1) + 1);
    parallel_for(size_t((s.n + kShared - 1) / kShared), grain, [&](size_t begin, size_t end) {
        const int64_t last = std::min(s.n, int64_t(end) * kShared);
        for (int64_t column = int64_t(begin) * kShared; column < last; column += kColumns) {
            const int64_t columns = std::min(kColumns, last - column);
            float y[kFewGgufRows][kColumns];
            for (int64_t j = 0; j < columns; j += kGgufRows) {
                switch (s.m) {
                    case 1:
                        multiply_group<format, 1>(weight, column + j, x, y[0] + j, kColumns);
                        break;
                    case 2:
                        multiply_group<format, 2>(weight, column + j, x, y[0] + j, kColumns);
                        break;
                    case 3:
                        multiply_group<format, 3>(weight, column + j, x, y[0] + j, kColumns);
                        break;
                    default:
                        multiply_group<format, 4>(weight, column + j, x, y[0] + j, kColumns);
                }
            }
            store_results<kColumns>(s, call, y[0], kColumns, 0, s.m, column, columns);
        }
    });
}

template <int format>
void multiply_many(const Sizes &s, const Call &call, char *workspace) {
    using Kind = GgufTileKind<format>;
    const int64_t units = s.k / 32;
    const GgufMatrix<format> weight = matrix<format>(s, call.weight);
    const GgufRows<kGgufTile> x(workspace, s.m, units, Kind::kOffset);
    quantise(x, call.input, s.dtype);
    constexpr int64_t kRows = 256;  // rows whose codes stay in L2
    const int64_t panels = (s.n + kGgufColumns - 1) / kGgufColumns;
    const int64_t bands = (s.m + kRows - 1) / kRows;
    const int64_t work = std::min(s.m, kRows) * kGgufColumns * std::max<int64_t>(s.k, 1);
    const size_t grain = size_t(262144 / work + 1);
    parallel_for(size_t(panels * bands), grain, [&](size_t begin, size_t end) {
        GgufPanelUnit panel[kGgufPanelUnits];
        alignas(64) float y[kRows * kGgufColumns];
        for (int64_t item = int64_t(begin); item < int64_t(end); ++item) {
            const int64_t column = item % panels * kGgufColumns, row = item / panels * kRows;
            const int64_t columns = std::min<int64_t>(kGgufColumns, s.n - column);
            const int64_t rows = std::min(kRows, s.m - row);
            const int64_t tiles = (rows + kGgufTile - 1) / kGgufTile;
            std::memset(y, 0, size_t(tiles * kGgufTile * kGgufColumns) * sizeof(float));
            for (int64_t first = 0; first < units; first += kGgufPanelUnits) {
                const int64_t count = std::min(kGgufPanelUnits, units - first);
                gguf_unpack<format>(weight, column, first, count, panel);
                for (int64_t tile = 0; tile < tiles; ++tile) {
                    const int64_t at = ((row / kGgufTile + tile) * units + first) * kGgufTile;
                    const GgufTileRows here{x.codes + at * 32, x.scale + at, x.sum + at,
                                            x.base + at, x.early + at};
                    gguf_multiply_tile<Kind>(panel, here, count,
                                             y + tile * kGgufTile * kGgufColumns);
                }
            }
            store_results<kGgufColumns>(s, call, y, kGgufColumns, row, rows, column, columns);
        }
    });
}

// A result does not depend on the other rows: both ways of multiplying sum in the same order.
template <int format>
std::unique_ptr<Plan> plan_bytes(const Sizes &s) {
    if (s.m == 0) return make_plan([](const Arguments &) {});
    if (s.m <= kFewGgufRows) {
        return make_plan(
            [=](const Arguments &a) { multiply_few<format>(s, Call(a, s.bias), a.workspace()); },
            GgufRows<1>::bytes(s.m, s.k / 32));
    }
    return make_plan(
        [=](const Arguments &a) { multiply_many<format>(s, Call(a, s.bias), a.workspace()); },
        GgufRows<kGgufTile>::bytes(s.m, s.k / 32));
}

#else

// Without byte vectors: unit by unit.
template <int format>
void multiply(const GgufRows<1> &x, int64_t row, int64_t rows, const GgufMatrix<format> &weight,
              int64_t column, float *y) {
    using G = Gguf<format>;
    for (int64_t i = 0; i < rows; ++i) y[i] = 0;
    for (int64_t unit = 0; unit < x.units; ++unit) {
        uint8_t codes[32], copy[G::kBytes];
        const uint8_t *block = weight.block(column, unit / G::kUnits, copy);
        gguf_codes<format>(block, int(unit % G::kUnits), codes);
        const GgufFactors f = gguf_factors<format>(block, int(unit % G::kUnits));
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t at = (row + i) * x.units + unit;
            const int8_t *from = x.codes + at * 32;
            int32_t part[2] = {};
            for (int j = 0; j < 32; ++j) {
                const int code =
                    format == kQ8_0 ? int(int8_t(codes[j])) : int(codes[j]) - G::kOffset;
                part[j / 16] += code * from[j];
            }
            const int32_t sum =
                G::kHasParts ? f.part[0] * part[0] + f.part[1] * part[1] : part[0] + part[1];
            y[i] = fma(float(sum), f.scale * x.scale[at], y[i]);
            if constexpr (G::kHasMinimum) y[i] = fma(f.minimum, x.sum[at], y[i]);
        }
    }
}

template <int format>
std::unique_ptr<Plan> plan_bytes(const Sizes &s) {
    const int64_t units = s.k / 32;
    return make_plan(
        [=](const Arguments &a) {
            const Call call(a, s.bias);
            const GgufRows<1> x(a.workspace(), s.m, units, 0);
            quantise(x, call.input, s.dtype);
            const GgufMatrix<format> weight = matrix<format>(s, call.weight);
            const size_t grain = size_t(65536 / std::max<int64_t>(s.k * s.m, 1) + 1);
            parallel_for(size_t(s.n), grain, [&](size_t begin, size_t end) {
                constexpr int64_t kRows = 8;
                for (int64_t column = int64_t(begin); column < int64_t(end); ++column) {
                    for (int64_t row = 0; row < s.m; row += kRows) {
                        const int64_t rows = std::min(kRows, s.m - row);
                        float y[kRows];
                        multiply<format>(x, row, rows, weight, column, y);
                        store_results<1>(s, call, y, 1, row, rows, column, 1);
                    }
                }
            });
        },
        GgufRows<1>::bytes(s.m, units));
}

#endif

std::unique_ptr<Plan> plan_linear_gguf(const Operation &op) {
    const Tensor out = op.tensor(0), input = op.tensor(1);
    Sizes s;
    s.n = out.size(-1), s.k = input.size(-1), s.dtype = out.dtype;
    s.m = s.n == 0 ? 0 : out.numel() / s.n;
    s.bias = bool(op.tensor(3)), s.interleaved = op.integer(2) != 0;
    const bool quantise = op.integer(1) != 0;
    return visit_gguf(op.integer(0), [&]<int format>(std::integral_constant<int, format>) {
        return quantise ? plan_bytes<format>(s) : plan_exact<format>(s);
    });
}

INFINI_KERNEL("linear_gguf", plan_linear_gguf);

}  // namespace
}  // namespace infini::cpu
