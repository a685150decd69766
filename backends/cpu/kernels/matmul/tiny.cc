#include "tiny.h"

#include <algorithm>
#include <type_traits>

namespace infini::cpu {

namespace {

constexpr int64_t kVector = int64_t(kWidth<float>);

// A dense F32 copy [rows, columns] with a stride, or the matrix itself if it is one.
const float *floats(const Matrix &x, int64_t rows, int64_t columns, int64_t stride, float *copy) {
    const bool dense = x.col_stride == 1 && x.row_stride == columns && columns == stride;
    if (x.dtype == INFINI_DTYPE_F32 && dense) return static_cast<const float *>(x.data);
    // What is behind the columns is multiplied too, and products of denormal numbers are slow.
    for (int64_t i = 0; i < rows; ++i)
        std::fill(copy + i * stride + columns, copy + (i + 1) * stride, 0.0f);
    if (x.dtype == INFINI_DTYPE_F32) {
        const auto *from = static_cast<const float *>(x.data);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
                copy[i * stride + j] = from[i * x.row_stride + j * x.col_stride];
        return copy;
    }
    const int64_t bytes = x.dtype == INFINI_DTYPE_F8 ? 1 : 2;
    const auto *data = static_cast<const char *>(x.data);
    if (dense) {
        to_f32(copy, data, x.dtype, size_t(rows * columns));
        return copy;
    }
    if (x.col_stride != 1 && x.row_stride == 1) {
        float column[kTinyElements];
        for (int64_t j = 0; j < columns; ++j) {
            to_f32(column, data + j * x.col_stride * bytes, x.dtype, size_t(rows));
            for (int64_t i = 0; i < rows; ++i) copy[i * stride + j] = column[i];
        }
        return copy;
    }
    for (int64_t i = 0; i < rows; ++i)
        to_f32(copy + i * stride, data + i * x.row_stride * bytes, x.dtype, size_t(columns),
               x.col_stride);
    return copy;
}

// Computes `rows` rows of c, all columns; the rows of b are padded to whole vectors.
template <int rows>
INFINI_SIMD void multiply(const Matmul &p, const float *a, const float *b, int64_t stride,
                          int64_t row) {
    const bool direct = stores_sums<float>(p), runs = stores_runs(p);
    float lines[rows][kTinyColumns + kVector];
    for (int64_t j = 0; j < p.n; j += kVector) {
        F32 sums[rows] = {};
        for (int64_t q = 0; q < p.k; ++q) {
            F32 bv = load<F32>(b + q * stride + j);
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i)
                sums[i] = fma(broadcast<F32>(a[(row + i) * p.k + q]), bv, sums[i]);
        }
        for (int i = 0; i < rows; ++i) {
            if (runs) {
                store(lines[i] + j, sums[i]);
            } else if (direct && j + kVector <= p.n) {
                float *c = static_cast<float *>(p.c.data) + (row + i) * p.c.row_stride + j;
                F32 value = sums[i] * float(p.alpha);
                if (p.beta != 0) value = value + load<F32>(c) * float(p.beta);
                store(c, value);
            } else {
                float values[kVector];
                store(values, sums[i]);
                finish_run(p, values, row + i, j, p.n - j < kVector ? p.n - j : kVector);
            }
        }
    }
    for (int i = 0; i < rows && runs; ++i) finish_run(p, lines[i], row + i, 0, p.n);
}

#if defined(__AVX512F__)
// Floats with contiguous rows of b and c, read in place.
template <int rows>
INFINI_SIMD void multiply_here(const Matmul &p, int64_t row) {
    const auto *a = static_cast<const float *>(p.a.data) + row * p.a.row_stride;
    const auto *b = static_cast<const float *>(p.b.data);
    float *c = static_cast<float *>(p.c.data) + row * p.c.row_stride;
    for (int64_t j = 0; j < p.n; j += kVector) {
        const auto some = __mmask16(p.n - j < kVector ? (1u << (p.n - j)) - 1 : 0xffff);
        F32 sums[rows] = {};
        for (int64_t q = 0; q < p.k; ++q) {
            const F32 bv = F32(_mm512_maskz_loadu_ps(some, b + q * p.b.row_stride + j));
#pragma GCC unroll 8
            for (int i = 0; i < rows; ++i)
                sums[i] =
                    fma(broadcast<F32>(a[i * p.a.row_stride + q * p.a.col_stride]), bv, sums[i]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
            float *to = c + i * p.c.row_stride + j;
            F32 value = sums[i] * float(p.alpha);
            if (p.beta != 0) value = value + F32(_mm512_maskz_loadu_ps(some, to)) * float(p.beta);
            _mm512_mask_storeu_ps(to, some, __m512(value));
        }
    }
}
#endif

template <int n>
using Count = std::integral_constant<int, n>;

// Calls f with blocks of at most eight rows: sums of fewer would wait for each other.
template <class F>
void each_block(int64_t rows, const F &f) {
    int64_t row = 0;
    for (; row + 8 <= rows; row += 8) f(Count<8>(), row);
    if (rows - row >= 4) f(Count<4>(), row), row += 4;
    switch (rows - row) {
        case 3:
            return f(Count<3>(), row);
        case 2:
            return f(Count<2>(), row);
        case 1:
            return f(Count<1>(), row);
    }
}

}  // namespace

void tiny(const Matmul &p) {
#if defined(__AVX512F__)
    if (p.a.dtype == INFINI_DTYPE_F32 && p.b.dtype == INFINI_DTYPE_F32 && p.b.col_stride == 1 &&
        stores_sums<float>(p)) {
        return each_block(p.m,
                          [&]<int rows>(Count<rows>, int64_t row) { multiply_here<rows>(p, row); });
    }
#endif
    float a_copy[kTinyElements], b_copy[kTinyElements];
    const int64_t stride = (p.n + kVector - 1) / kVector * kVector;
    const float *a = floats(p.a, p.m, p.k, p.k, a_copy);
    const float *b = floats(p.b, p.k, p.n, stride, b_copy);
    each_block(p.m,
               [&]<int rows>(Count<rows>, int64_t row) { multiply<rows>(p, a, b, stride, row); });
}

}  // namespace infini::cpu
