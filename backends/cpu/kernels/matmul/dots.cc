#include "dots.h"

#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "pack.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kVector = int64_t(kWidth<float>);
constexpr int64_t kMostRows = 256;     // converted at a time
constexpr int64_t kMostColumns = 256;  // of a thread, whose elements stay in the second cache
constexpr int kDotRows = 4;            // at a time

// y[i][j] for m rows of x and `count` columns of b. A sum is two vectors of partial sums, added up
// at the end, whatever m and count are. Rows of x are filled with zeros to whole vectors.
template <class T, int m, int count>
INFINI_SIMD void dot(const float *x, int64_t x_stride, int64_t k, const T *b, int64_t stride,
                     float *y, int64_t y_stride) {
    F32 sums[m][count][2] = {};
    auto add = [&](int64_t p, const F32 *w, int u) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int i = 0; i < m; ++i) {
            F32 xv = load<F32>(x + i * x_stride + p);
#pragma GCC unroll 4
            for (int j = 0; j < count; ++j) sums[i][j][u] = fma(xv, w[j], sums[i][j][u]);
        }
    };
    F32 first[count], second[count];
    int64_t p = 0;
    for (; p + 2 * kVector <= k; p += 2 * kVector) {
#pragma GCC unroll 4
        for (int j = 0; j < count; ++j) widen_two(b + j * stride + p, first[j], second[j]);
        add(p, first, 0), add(p + kVector, second, 1);
    }
    if (p + kVector <= k) {
        for (int j = 0; j < count; ++j) first[j] = widen_f32(b + j * stride + p);
        add(p, first, 0);
        p += kVector;
    }
    if (p < k) {
        for (int j = 0; j < count; ++j) first[j] = load_f32(b + j * stride + p, size_t(k - p));
        add(p, first, 0);
    }
#pragma GCC unroll 4
    for (int i = 0; i < m; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < count; ++j)
            y[i * y_stride + j] = reduce_add(sums[i][j][0] + sums[i][j][1]);
}

template <class T, int m>
[[gnu::noinline]] void dot_columns(const float *x, int64_t x_stride, int64_t k, const T *b,
                                   int64_t stride, int64_t n, float *y) {
    constexpr int count = m > 2 ? 2 : 4;  // sums that the registers hold
    int64_t j = 0;
    for (; j + count <= n; j += count)
        dot<T, m, count>(x, x_stride, k, b + j * stride, stride, y + j, n);
    for (; j < n; ++j) dot<T, m, 1>(x, x_stride, k, b + j * stride, stride, y + j, n);
}

template <class F>
INFINI_SIMD void with_few_rows(int64_t m, F &&f) {
    switch (m) {
        case 1:
            return f(std::integral_constant<int, 1>{});
        case 2:
            return f(std::integral_constant<int, 2>{});
        case 3:
            return f(std::integral_constant<int, 3>{});
        default:
            return f(std::integral_constant<int, kDotRows>{});
    }
}

bool is_float(int dtype) {
    return dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F16 ||
           dtype == INFINI_DTYPE_F8;
}

// Of rows of x: not at a power of two, or all would want the same place in the first cache.
int64_t row_distance(const Matmul &p) { return round_up(p.k, 16) + 16; }

}  // namespace

bool dots_take(const Matmul &p) {
    return !p.weights && is_float(p.a.dtype) && is_float(p.b.dtype) && p.b.row_stride == 1;
}

size_t dots_workspace(const Matmul &p) {
    return size_t(round_up(std::min(p.m, kMostRows) * row_distance(p) * 4, 64));
}

void dots(const Matmul &p, void *workspace) {
    auto *x = static_cast<float *>(workspace);
    const int64_t x_stride = row_distance(p);
    const int64_t bytes = p.a.dtype == INFINI_DTYPE_F32 ? 4 : p.a.dtype == INFINI_DTYPE_F8 ? 1 : 2;
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    for (int64_t row = 0; row < p.m; row += kMostRows) {
        const int64_t rows = std::min(kMostRows, p.m - row);
        auto convert = [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                float *to = x + i * x_stride;
                to_f32(to, static_cast<const char *>(p.a.data) + (row + i) * p.a.row_stride * bytes,
                       p.a.dtype, size_t(p.k), p.a.col_stride);
                std::fill(to + p.k, to + x_stride, 0.0f);
            }
        };
        maybe_parallel(p.threads, rows, divide_up(64 << 10, std::max<int64_t>(p.k, 1)), convert);
        // Pieces of some 128 Ki multiplications at least, and some for each thread.
        int64_t columns = std::max(divide_up(p.n, threads * 4),
                                   divide_up(128 << 10, std::max<int64_t>(p.k, 1) * rows));
        columns = std::min(round_up(columns, 16), kMostColumns);
        auto compute = [&](size_t begin, size_t end) {
            alignas(64) float y[kDotRows * kMostColumns];
            for (int64_t piece = int64_t(begin); piece < int64_t(end); ++piece) {
                const int64_t column = piece * columns, n = std::min(columns, p.n - column);
                for (int64_t r = 0; r < rows; r += kDotRows) {
                    const int64_t few = std::min<int64_t>(kDotRows, rows - r);
                    with_few_rows(few, [&]<int m>(std::integral_constant<int, m>) {
                        visit_operand<DotF32>(p.b.dtype, [&]<class T>(Type<T>) {
                            const T *b = static_cast<const T *>(p.b.data) + column * p.b.col_stride;
                            dot_columns<T, m>(x + r * x_stride, x_stride, p.k, b, p.b.col_stride, n,
                                              y);
                        });
                    });
                    finish_tile(p, y, n, row + r, column, few, n);
                }
            }
        };
        maybe_parallel(p.threads, divide_up(p.n, columns), 1, compute);
    }
}

}  // namespace infini::cpu
