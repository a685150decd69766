// logdet: the logarithm of a determinant, from an LU factorisation with partial pivoting in double.
#include <cmath>
#include <limits>

#include "convert.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

// log(det) of the n x n matrix m, which is overwritten. A pivot of at most `least` counts as 0.
double logdet(double *m, int64_t n, double least) {
    double sum = 0;
    bool negative = false;
    for (int64_t k = 0; k < n; ++k) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; ++i)
            if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
        const double value = m[pivot * n + k];
        if (std::abs(value) <= least) return -std::numeric_limits<double>::infinity();
        if (pivot != k) {
            for (int64_t j = k; j < n; ++j) std::swap(m[pivot * n + j], m[k * n + j]);
            negative = !negative;
        }
        if (value < 0) negative = !negative;
        sum += std::log(std::abs(value));
        const double *row = m + k * n;
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / (n - k)));
        parallel_for(size_t(n - k - 1), grain, [=](size_t begin, size_t end) {
            for (int64_t i = k + 1 + int64_t(begin); i < k + 1 + int64_t(end); ++i) {
                double *other = m + i * n;
                const double factor = other[k] / value;
                for (int64_t j = k + 1; j < n; ++j) other[j] -= factor * row[j];
            }
        });
    }
    return negative ? std::numeric_limits<double>::quiet_NaN() : sum;
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
