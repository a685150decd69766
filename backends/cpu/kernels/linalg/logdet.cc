// logdet, det and slogdet: from an LU factorisation with partial pivoting in double.
#include <limits>

#include "linalg/lu.h"

namespace infini::cpu {
namespace {

struct LogDet {
    double sign, log;  // 0 and -infinity: a pivot is 0
};

// `room`: n^2 doubles with the matrix, then n integers.
LogDet log_det(double *room, int64_t n, double least) {
    int64_t *swaps = reinterpret_cast<int64_t *>(room + n * n);
    const int64_t pivots = factor_lu(room, n, swaps, least);
    LogDet result = {1, 0};
    for (int64_t k = 0; k < pivots; ++k) {
        const double pivot = room[k * n + k];
        if ((pivot < 0) != (swaps[k] != k)) result.sign = -result.sign;
        result.log += std::log(std::abs(pivot));
    }
    if (pivots == n) return result;
    if (std::isnan(room[pivots * n + pivots])) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return {nan, nan};
    }
    return {0, -std::numeric_limits<double>::infinity()};
}

double det(double *room, int64_t n) {
    int64_t *swaps = reinterpret_cast<int64_t *>(room + n * n);
    const int64_t pivots = factor_lu(room, n, swaps, 0);
    if (pivots < n) return room[pivots * n + pivots] * 0;  // NaN stays
    // The exponent is kept apart, so that only the result can leave the range.
    double product = 1;
    int64_t exponent = 0;
    for (int64_t k = 0; k < n; ++k) {
        int more = 0;
        product = std::frexp(product * room[k * n + k] * (swaps[k] != k ? -1 : 1), &more);
        exponent += more;
    }
    return std::ldexp(product, int(std::clamp<int64_t>(exponent, -4000, 4000)));
}

int64_t room_of(const Matrices &x) { return x.size() + x.rows; }
int64_t work_of(const Matrices &x) { return x.size() * (x.rows / 2 + 8); }

std::unique_ptr<Plan> plan_logdet(const Operation &operation) {
    const Matrices y(operation.tensor(0), operation.tensor(0).ndim), x(operation.tensor(1), 2);
    const double least = x.dtype == INFINI_DTYPE_F64 ? 1e-12 : 1e-6;
    return plan_batch(1, room_of(x), work_of(x), [=](const Arguments &a, int64_t, double *room) {
        x.load(room, a.pointer<void>(1), 0);
        const LogDet found = log_det(room, x.rows, least);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const double result = found.sign < 0 ? nan : found.log;
        y.store(a.pointer<void>(0), 0, &result);
    });
}

std::unique_ptr<Plan> plan_det(const Operation &operation) {
    const Matrices y(operation.tensor(0), 0), x(operation.tensor(1), 2);
    return plan_batch(x.count(), room_of(x), work_of(x),
                      [=](const Arguments &a, int64_t i, double *room) {
                          x.load(room, a.pointer<void>(1), i);
                          const double result = det(room, x.rows);
                          y.store(a.pointer<void>(0), i, &result);
                      });
}

std::unique_ptr<Plan> plan_slogdet(const Operation &operation) {
    const Matrices sign(operation.tensor(0), 0), log(operation.tensor(1), 0);
    const Matrices x(operation.tensor(2), 2);
    return plan_batch(x.count(), room_of(x), work_of(x),
                      [=](const Arguments &a, int64_t i, double *room) {
                          x.load(room, a.pointer<void>(2), i);
                          const LogDet result = log_det(room, x.rows, 0);
                          sign.store(a.pointer<void>(0), i, &result.sign);
                          log.store(a.pointer<void>(1), i, &result.log);
                      });
}

INFINI_KERNEL("logdet", plan_logdet);
INFINI_KERNEL("det", plan_det);
INFINI_KERNEL("slogdet", plan_slogdet);

}  // namespace
}  // namespace infini::cpu
