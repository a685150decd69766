// Products of few rows with a large matrix of doubles: as in gemv.cc, each element is read once and
// in memory order.
#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "gemv.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kMostRows = 4, kMostColumns = 512;
constexpr int64_t kLanes = int64_t(kWidth<double>);

// y[i * n + j] for m rows of x and n columns of b, which are contiguous along k.
template <int m>
[[gnu::noinline]] void dot_columns(const double *x, int64_t k, const double *b, int64_t stride,
                                   int64_t n, double *y) {
    constexpr int kUnroll = m == 1 ? 4 : m == 2 ? 2 : 1;
    for (int64_t j = 0; j < n; ++j, b += stride) {
        F64 sums[m][kUnroll] = {};
        int64_t p = 0;
        for (; p + kUnroll * kLanes <= k; p += kUnroll * kLanes) {
#pragma GCC unroll 4
            for (int u = 0; u < kUnroll; ++u) {
                const F64 w = load<F64>(b + p + u * kLanes);
#pragma GCC unroll 4
                for (int i = 0; i < m; ++i)
                    sums[i][u] = fma(load<F64>(x + i * k + p + u * kLanes), w, sums[i][u]);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < m; ++i) {
            F64 sum = sums[i][0];
#pragma GCC unroll 4
            for (int u = 1; u < kUnroll; ++u) sum += sums[i][u];
            double total = reduce_add(sum);
            for (int64_t q = p; q < k; ++q) total += x[i * k + q] * b[q];
            y[i * n + j] = total;
        }
    }
}

// The same for a b that is contiguous along n: rows of b times scalars of x.
template <int m>
[[gnu::noinline]] void add_rows(const double *x, int64_t k, const double *b, int64_t stride,
                                int64_t n, double *y) {
    constexpr int kTogether = 4;
    std::fill(y, y + m * n, 0.0);
    const auto add = [&]<int count>(std::integral_constant<int, count>, int64_t p) {
        const double *rows = b + p * stride;
        int64_t j = 0;
        for (; j + kLanes <= n; j += kLanes) {
            F64 w[count];
#pragma GCC unroll 4
            for (int q = 0; q < count; ++q) w[q] = load<F64>(rows + q * stride + j);
#pragma GCC unroll 4
            for (int i = 0; i < m; ++i) {
                F64 sum = load<F64>(y + i * n + j);
#pragma GCC unroll 4
                for (int q = 0; q < count; ++q)
                    sum = fma(broadcast<F64>(x[i * k + p + q]), w[q], sum);
                store(y + i * n + j, sum);
            }
        }
        for (; j < n; ++j)
            for (int i = 0; i < m; ++i)
                for (int q = 0; q < count; ++q)
                    y[i * n + j] += x[i * k + p + q] * rows[q * stride + j];
    };
    int64_t p = 0;
    for (; p + kTogether <= k; p += kTogether) add(std::integral_constant<int, kTogether>{}, p);
    for (; p < k; ++p) add(std::integral_constant<int, 1>{}, p);
}

bool is_dense(const Matmul &p) {
    return (p.a.col_stride == 1 || p.k <= 1) && (p.a.row_stride == p.k || p.m == 1);
}

}  // namespace

bool gemv_f64_takes(const Matmul &p) {
    return p.m <= kMostRows && p.a.dtype == INFINI_DTYPE_F64 && !p.weights &&
           (p.b.row_stride == 1 || p.b.col_stride == 1);
}

size_t gemv_f64_workspace(const Matmul &p) {
    return is_dense(p) ? 0 : size_t(p.m * p.k) * sizeof(double);
}

void gemv_f64(const Matmul &p, void *workspace) {
    const auto *x = static_cast<const double *>(p.a.data);
    if (!is_dense(p)) {
        auto *copy = static_cast<double *>(workspace);
        for (int64_t i = 0; i < p.m; ++i)
            for (int64_t q = 0; q < p.k; ++q)
                copy[i * p.k + q] = x[i * p.a.row_stride + q * p.a.col_stride];
        x = copy;
    }
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    // Chunks of at least about 16 Ki elements, and several per thread.
    int64_t columns =
        std::max(divide_up(p.n, threads * 4), divide_up(16 << 10, std::max<int64_t>(p.k, 1)));
    columns = std::min(round_up(columns, 16), kMostColumns);
    maybe_parallel(p.threads, divide_up(p.n, columns), 1, [&](size_t begin, size_t end) {
        alignas(64) double y[kMostRows * kMostColumns];
        for (int64_t piece = int64_t(begin); piece < int64_t(end); ++piece) {
            const int64_t column = piece * columns, n = std::min(columns, p.n - column);
            const auto *b = static_cast<const double *>(p.b.data) + column * p.b.col_stride;
            with_rows(p.m, [&]<int rows>(std::integral_constant<int, rows>) {
                constexpr int m = std::min<int>(rows, kMostRows);
                if (p.b.row_stride == 1)
                    dot_columns<m>(x, p.k, b, p.b.col_stride, n, y);
                else
                    add_rows<m>(x, p.k, b, p.b.row_stride, n, y);
            });
            finish_tile(p, y, n, 0, column, p.m, n);
        }
    });
}

}  // namespace infini::cpu
