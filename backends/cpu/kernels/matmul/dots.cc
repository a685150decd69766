#include "dots.h"

#include <algorithm>
#include <atomic>

#include "../threads.h"
#include "finish.h"
#include "pack.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kVector = int64_t(kWidth<float>);
constexpr int64_t kMostRows = 256;     // converted at a time
constexpr int64_t kMostColumns = 256;  // per thread: they fit in L2
constexpr int kDotRows = 4;            // processed together

// y[i][j] for m rows of x and `count` columns of b. A sum consists of two vectors of partial sums,
// added at the end, for any m and count. Rows of x are zero-padded to whole vectors.
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
    constexpr int count = m > 2 ? 2 : 4;  // limited by the registers for sums
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

// The stride of rows of x: not a power of two, which would cause conflicts in L1.
int64_t row_distance(const Matmul &p) { return round_up(p.k, 16) + 16; }

// Columns used by many rows are widened once, in groups; this does not change any bits.
constexpr int64_t kWideColumns = 32;
bool widens(const Matmul &p) { return p.b.dtype != INFINI_DTYPE_F32 && p.m > 2 * kDotRows; }
int64_t worker_count(const Matmul &p) { return p.threads ? int64_t(thread_count()) : 1; }

int64_t x_floats(const Matmul &p) {
    return round_up(std::min(p.m, kMostRows) * row_distance(p), 16);
}

// Computes rows [row, row + rows) of the product, whose floats are in x, and columns [column,
// column + n).
template <class T>
void multiply_block(const Matmul &p, const float *x, int64_t row, int64_t rows, const T *b,
                    int64_t stride, int64_t column, int64_t n) {
    alignas(64) float y[kDotRows * kMostColumns];
    const int64_t x_stride = row_distance(p);
    for (int64_t r = 0; r < rows; r += kDotRows) {
        const int64_t few = std::min<int64_t>(kDotRows, rows - r);
        with_few_rows(few, [&]<int m>(std::integral_constant<int, m>) {
            dot_columns<T, m>(x + r * x_stride, x_stride, p.k, b, stride, n, y);
        });
        finish_tile(p, y, n, row + r, column, few, n);
    }
}

int64_t float_bytes(int dtype) {
    return dtype == INFINI_DTYPE_F32 ? 4 : dtype == INFINI_DTYPE_F8 ? 1 : 2;
}

}  // namespace

bool dots_take(const Matmul &p) {
    return !p.weights && is_float(p.a.dtype) && is_float(p.b.dtype) && p.b.row_stride == 1;
}

size_t dots_workspace(const Matmul &p) {
    const int64_t wide = widens(p) ? worker_count(p) * kWideColumns * row_distance(p) : 0;
    return size_t(x_floats(p) + wide) * sizeof(float);
}

void dots(const Matmul &p, void *workspace) {
    auto *x = static_cast<float *>(workspace);
    float *wide = x + x_floats(p);
    const int64_t stride = row_distance(p), threads = worker_count(p);
    const int64_t k = std::max<int64_t>(p.k, 1);
    auto widen = [&](float *to, const Matrix &from, int64_t line, int64_t line_stride,
                     int64_t step) {
        to_f32(to,
               static_cast<const char *>(from.data) + line * line_stride * float_bytes(from.dtype),
               from.dtype, size_t(p.k), step);
    };
    for (int64_t row = 0; row < p.m; row += kMostRows) {
        const int64_t rows = std::min(kMostRows, p.m - row);
        maybe_parallel(p.threads, rows, divide_up(64 << 10, k), [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                widen(x + i * stride, p.a, row + i, p.a.row_stride, p.a.col_stride);
                std::fill(x + i * stride + p.k, x + (i + 1) * stride, 0.0f);
            }
        });
        // Chunks of at least about 128 Ki multiplications, and several per thread.
        int64_t columns = std::max(divide_up(p.n, threads * 4), divide_up(128 << 10, k * rows));
        columns = std::min(round_up(columns, 16), widens(p) ? kWideColumns : kMostColumns);
        const int64_t pieces = divide_up(p.n, columns);
        std::atomic<int64_t> next{0};
        auto compute = [&](size_t begin, size_t end) {
            for (size_t worker = begin; worker < end; ++worker)
                for (int64_t piece;
                     (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
                    const int64_t column = piece * columns, n = std::min(columns, p.n - column);
                    if (widens(p)) {
                        float *mine = wide + int64_t(worker) * kWideColumns * stride;
                        for (int64_t j = 0; j < n; ++j)
                            widen(mine + j * stride, p.b, column + j, p.b.col_stride, 1);
                        multiply_block(p, x, row, rows, mine, stride, column, n);
                        continue;
                    }
                    visit_operand<DotF32>(p.b.dtype, [&]<class T>(Type<T>) {
                        const T *b = static_cast<const T *>(p.b.data) + column * p.b.col_stride;
                        multiply_block(p, x, row, rows, b, p.b.col_stride, column, n);
                    });
                }
        };
        maybe_parallel(p.threads, std::min(threads, pieces), 1, compute);
    }
}

}  // namespace infini::cpu
