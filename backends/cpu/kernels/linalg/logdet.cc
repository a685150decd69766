// logdet, det and slogdet: from an LU factorisation with partial pivoting.
#include "linalg/lu.h"

namespace infini::cpu {
namespace {

struct LogDet {
    double sign, log;  // 0 and -infinity if a pivot is 0
};

// The pivots of an n x n matrix, and its row exchanges.
struct Factors {
    const double *diagonal;
    int64_t step, n, pivots;
    const int64_t *swaps;

    double pivot(int64_t k) const { return diagonal[k * step]; }
    bool is_swapped(int64_t k) const { return swaps[k] != k; }
};

LogDet log_det(const Factors &lu) {
    LogDet result = {1, 0};
    for (int64_t k = 0; k < lu.pivots; ++k) {
        if ((lu.pivot(k) < 0) != lu.is_swapped(k)) result.sign = -result.sign;
        result.log += std::log(std::abs(lu.pivot(k)));
    }
    if (lu.pivots == lu.n) return result;
    if (std::isnan(lu.pivot(lu.pivots))) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return {nan, nan};
    }
    return {0, -std::numeric_limits<double>::infinity()};
}

double det(const Factors &lu) {
    if (lu.pivots < lu.n) return lu.pivot(lu.pivots) * 0;  // NaN propagates
    // The exponent is kept separately, so that only the result can overflow or underflow.
    double product = 1;
    int64_t exponent = 0;
    for (int64_t k = 0; k < lu.n; ++k) {
        int more = 0;
        product = std::frexp(product * lu.pivot(k) * (lu.is_swapped(k) ? -1 : 1), &more);
        exponent += more;
    }
    return std::ldexp(product, int(std::clamp<int64_t>(exponent, -4000, 4000)));
}

// Calls store(arguments, index, factors) for every matrix of a tensor.
template <class Store>
std::unique_ptr<Plan> plan_factors(const Operation &operation, int input, double least,
                                   const Store &store) {
    const Matrices x(operation.tensor(input), 2);
    const int64_t n = x.rows;
    const bool parallel = is_worth_threads(x);
    // In double precision also for F32: errors of the logarithm are relative ones of determinants.
    auto by_blocks = [=](const Arguments *a, int64_t i, Room &room) {
        using T = double;
        const Part<T> matrix = {room.take<T>(n * n), n};
        double *pivots = room.take<double>(n);
        int64_t *swaps = room.take<int64_t>(n);
        int *found = room.take<int>(n);
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a) x.load(matrix.data, a->pointer<void>(input), i);
        if (a && !is_finite(matrix.data, n * n)) return false;
        blocks.factor(matrix, n, n, found);
        room.take<char>(int64_t(blocks.bytes()));
        if (!a) return true;
        if (!has_pivots(matrix, n, least)) return false;
        for (int64_t k = 0; k < n; ++k) pivots[k] = matrix.row(k)[k];
        std::copy_n(found, n, swaps);
        store(*a, i, Factors{pivots, 1, n, n, swaps});
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        int64_t *swaps = reinterpret_cast<int64_t *>(room + n * n);
        x.load(room, a.pointer<void>(input), i);
        store(a, i, Factors{room, n + 1, n, factor_lu(room, n, swaps, least), swaps});
    };
    return plan_with_blocks(x.count(), n >= kBlocksFrom, by_blocks, n * n + n, n * n * (n / 2 + 8),
                            body);
}

std::unique_ptr<Plan> plan_logdet(const Operation &operation) {
    const Matrices y(operation.tensor(0), operation.tensor(0).ndim);
    const double least = operation.tensor(1).dtype == INFINI_DTYPE_F64 ? 1e-12 : 1e-6;
    return plan_factors(operation, 1, least, [=](const Arguments &a, int64_t, const Factors &lu) {
        const LogDet found = log_det(lu);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const double result = found.sign < 0 ? nan : found.log;
        y.store(a.pointer<void>(0), 0, &result);
    });
}

std::unique_ptr<Plan> plan_det(const Operation &operation) {
    const Matrices y(operation.tensor(0), 0);
    return plan_factors(operation, 1, 0, [=](const Arguments &a, int64_t i, const Factors &lu) {
        const double result = det(lu);
        y.store(a.pointer<void>(0), i, &result);
    });
}

std::unique_ptr<Plan> plan_slogdet(const Operation &operation) {
    const Matrices sign(operation.tensor(0), 0), log(operation.tensor(1), 0);
    return plan_factors(operation, 2, 0, [=](const Arguments &a, int64_t i, const Factors &lu) {
        const LogDet result = log_det(lu);
        sign.store(a.pointer<void>(0), i, &result.sign);
        log.store(a.pointer<void>(1), i, &result.log);
    });
}

std::unique_ptr<Plan> plan_determinant(const Operation &operation) {
    if (operation.is("det")) return plan_det(operation);
    if (operation.is("slogdet")) return plan_slogdet(operation);
    return plan_logdet(operation);
}

INFINI_KERNEL("det", plan_determinant);

}  // namespace
}  // namespace infini::cpu
