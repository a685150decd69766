// dequantize_awq and dequantize_gptq: 4-bit weights to F16. Both process blocks of columns; the
// scales and zeros of a block are expanded once per group of rows. q - z is exact and so is its
// product with an F16 scale in F32: only the store rounds.
#include "convert.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kColumns = 256;  // per block; a multiple of 8

struct Group {
    float scale[kColumns], zero[kColumns];
};

// The nibble of a word that holds column j.
constexpr int kAwq[8] = {0, 4, 1, 5, 2, 6, 3, 7};
constexpr int kPlain[8] = {0, 1, 2, 3, 4, 5, 6, 7};

void expand(Group &group, const f16 *scales, const uint32_t *zeros, const int *nibble, float more,
            int64_t columns) {
    load_block(group.scale, scales, size_t(columns));
    for (int64_t i = 0; i < columns; ++i)
        group.zero[i] = float(zeros[i / 8] >> (4 * nibble[i % 8]) & 15) + more;
}

template <class Word>
INFINI_SIMD void store_codes(f16 *out, Word codes, const Group &group, int64_t column) {
    const F32 q = cast<F32>(as<I32>(codes));
    store_f32(out + column, (q - load<F32>(group.zero + column)) * load<F32>(group.scale + column));
}

// One row, with eight columns per word in AWQ's order. A vector is half a word to two words.
void awq_row(f16 *out, const uint32_t *words, const Group &group, int64_t columns) {
    constexpr int64_t kStep = kWidth<float>;
    constexpr int64_t kParts = kStep < 8 ? 8 / kStep : 1;
    U32 shifts[kParts];
    for (int64_t i = 0; i < kParts * kStep; ++i)
        shifts[i / kStep][i % kStep] = uint32_t(4 * kAwq[i % 8]);
    int64_t column = 0;
    for (; column + kParts * kStep <= columns; column += kParts * kStep) {
        U32 word = broadcast<U32>(words[column / 8]);
        if constexpr (kStep == 16)
            word = select(iota<U32>() < 8u, word, broadcast<U32>(words[column / 8 + 1]));
        for (int64_t part = 0; part < kParts; ++part)
            store_codes(out, (word >> shifts[part]) & 15u, group, column + part * kStep);
    }
    for (; column < columns; ++column) {
        const float q = float(words[column / 8] >> (4 * kAwq[column % 8]) & 15);
        from_float(out[column], (q - group.zero[column]) * group.scale[column]);
    }
}

// One row, with one nibble of each word.
void gptq_row(f16 *out, const uint32_t *words, int nibble, const Group &group, int64_t columns) {
    int64_t column = 0;
    for (; column + int64_t(kWidth<float>) <= columns; column += kWidth<float>)
        store_codes(out, (load<U32>(words + column) >> uint32_t(4 * nibble)) & 15u, group, column);
    for (; column < columns; ++column) {
        const float q = float(words[column] >> (4 * nibble) & 15);
        from_float(out[column], (q - group.zero[column]) * group.scale[column]);
    }
}

// Calls body(first row, row end, first column, columns) for blocks of rows and columns, on threads.
template <class Body>
void blocks(int64_t rows, int64_t columns, int64_t row_step, const Body &body) {
    if (rows == 0 || columns == 0) return;
    const int64_t across = (columns + kColumns - 1) / kColumns;
    const int64_t down = (rows + row_step - 1) / row_step;
    const int64_t work = row_step * (columns < kColumns ? columns : kColumns);
    parallel_for(size_t(across * down), size_t(1 + 32768 / work), [&](size_t begin, size_t end) {
        for (size_t item = begin; item < end; ++item) {
            const int64_t row = int64_t(item) / across * row_step;
            const int64_t column = int64_t(item) % across * kColumns;
            body(row, row + row_step < rows ? row + row_step : rows, column,
                 columns - column < kColumns ? columns - column : kColumns);
        }
    });
}

std::unique_ptr<Plan> plan_dequantize_awq(const Operation &op) {
    const int64_t rows = op.tensor(0).size(0), columns = op.tensor(0).size(1);
    const int64_t groups = op.tensor(2).size(0), group_rows = rows / groups;
    return make_plan([=](const Arguments &arguments) {
        f16 *out = arguments.pointer<f16>(0);
        const uint32_t *weights = arguments.pointer<const uint32_t>(1);
        const f16 *scales = arguments.pointer<const f16>(2);
        const uint32_t *zeros = arguments.pointer<const uint32_t>(3);
        const int64_t step = group_rows < 64 ? group_rows : 64;
        blocks(rows, columns, step > 0 ? step : 1,
               [&](int64_t row, int64_t row_end, int64_t column, int64_t count) {
                   Group group;
                   for (int64_t loaded = -1; row < row_end; ++row) {
                       const int64_t g = row / group_rows;
                       if (g != loaded)
                           expand(group, scales + g * columns + column,
                                  zeros + (g * columns + column) / 8, kAwq, 0.0f, count);
                       loaded = g;
                       const int64_t at = row * columns + column;
                       awq_row(out + at, weights + at / 8, group, count);
                   }
               });
    });
}

std::unique_ptr<Plan> plan_dequantize_gptq(const Operation &op) {
    const int64_t rows = op.tensor(0).size(0), columns = op.tensor(0).size(1);
    const int64_t groups = op.tensor(2).size(0);
    return make_plan([=](const Arguments &arguments) {
        f16 *out = arguments.pointer<f16>(0);
        const uint32_t *weights = arguments.pointer<const uint32_t>(1);
        const f16 *scales = arguments.pointer<const f16>(2);
        const uint32_t *zeros = arguments.pointer<const uint32_t>(3);
        const int32_t *group_of = arguments.pointer<const int32_t>(4);
        blocks(rows, columns, 64, [&](int64_t row, int64_t row_end, int64_t column, int64_t count) {
            Group group;
            for (int64_t loaded = -1; row < row_end; ++row) {
                int64_t g = group_of[row] % groups;
                g += g < 0 ? groups : 0;
                if (g != loaded)
                    expand(group, scales + g * columns + column, zeros + (g * columns + column) / 8,
                           kPlain, 1.0f, count);
                loaded = g;
                gptq_row(out + row * columns + column, weights + row / 8 * columns + column,
                         int(row % 8), group, count);
            }
        });
    });
}

std::unique_ptr<Plan> plan_dequantize(const Operation &operation) {
    return operation.is("dequantize_awq") ? plan_dequantize_awq(operation)
                                          : plan_dequantize_gptq(operation);
}

INFINI_KERNEL("dequantize", plan_dequantize);

}  // namespace
}  // namespace infini::cpu
