// logdet: the logarithm of a determinant, from an LU factorisation with partial pivoting in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "convert.h"
#include "kernel.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPanel = 16;  // columns that are factored before the rest is updated

// Some rows of the rest, from column `begin` on: minus the panel's rows, each with its factor. The
// factors stand in the rows, from column `first` on.
template <int kRows>
void subtract(double *rows, const double *panel, int64_t n, int64_t first, int64_t width,
              int64_t begin) {
    auto columns = [&]<class V, int kCount>(V, std::integral_constant<int, kCount>, int64_t j) {
        constexpr int64_t kStep = kLanes<V>;
        V sum[kRows][kCount];
        for (int i = 0; i < kRows; ++i)
            for (int c = 0; c < kCount; ++c) sum[i][c] = load<V>(rows + i * n + j + c * kStep);
        for (int64_t k = 0; k < width; ++k)
            for (int c = 0; c < kCount; ++c) {
                const V line = load<V>(panel + k * n + j + c * kStep);
                for (int i = 0; i < kRows; ++i)
                    sum[i][c] = fma(broadcast<V>(-rows[i * n + first + k]), line, sum[i][c]);
            }
        for (int i = 0; i < kRows; ++i)
            for (int c = 0; c < kCount; ++c) store(rows + i * n + j + c * kStep, sum[i][c]);
    };
    constexpr int64_t kWide = 2 * kWidth<double>;
    int64_t j = begin;
    for (; j + kWide <= n; j += kWide) columns(F64(), std::integral_constant<int, 2>(), j);
    for (; j < n; ++j) columns(double(), std::integral_constant<int, 1>(), j);
}

// log(det) of the n x n matrix m, which is overwritten. A pivot of at most `least` counts as 0.
double logdet(double *m, int64_t n, double least) {
    double result = 0;
    bool negative = false;
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = std::min(first + kPanel, n);
        for (int64_t k = first; k < last; ++k) {
            int64_t pivot = k;
            for (int64_t i = k + 1; i < n; ++i)
                if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
            const double value = m[pivot * n + k];
            if (std::abs(value) <= least) return -std::numeric_limits<double>::infinity();
            if (pivot != k) {
                std::swap_ranges(m + pivot * n + first, m + pivot * n + n, m + k * n + first);
                negative = !negative;
            }
            if (value < 0) negative = !negative;
            result += std::log(std::abs(value));
            for (int64_t i = k + 1; i < n; ++i) {
                double *row = m + i * n;
                row[k] /= value;
                for (int64_t j = k + 1; j < last; ++j) row[j] -= row[k] * m[k * n + j];
            }
        }
        // What lies right of the panel: its own rows one after the other, then all rows below.
        const double *panel = m + first * n;
        for (int64_t i = first + 1; i < last; ++i)
            subtract<1>(m + i * n, panel, n, first, i - first, last);
        const size_t grain = size_t(std::max<int64_t>(4, 8192 / (n - first)));
        parallel_for(size_t(n - last), grain, [=](size_t begin, size_t end) {
            int64_t i = last + int64_t(begin);
            for (; i + 4 <= last + int64_t(end); i += 4)
                subtract<4>(m + i * n, panel, n, first, last - first, last);
            for (; i < last + int64_t(end); ++i)
                subtract<1>(m + i * n, panel, n, first, last - first, last);
        });
    }
    return negative ? std::numeric_limits<double>::quiet_NaN() : result;
}

std::unique_ptr<Plan> plan_logdet(const Operation &operation) {
    const Shape x(operation.tensor(1));
    const int64_t n = x.size[0];
    auto run = [=](const Arguments &a) {
        double *m = reinterpret_cast<double *>(a.workspace());
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j)
                m[i * n + j] =
                    load_as<double>(x.dtype, a.pointer<void>(1), i * x.stride[0] + j * x.stride[1]);
        store_as(x.dtype, a.pointer<void>(0), 0,
                 logdet(m, n, x.dtype == INFINI_DTYPE_F64 ? 1e-12 : 1e-6));
    };
    return make_plan(run, size_t(n * n) * sizeof(double));
}

INFINI_KERNEL("logdet", plan_logdet);

}  // namespace
}  // namespace infini::cpu
