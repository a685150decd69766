// Determinants from LU factors. kResult: 0 the determinant, 1 its sign and the logarithm of its
// absolute value, 2 its logarithm.
#pragma once

#include "dense.cuh"

namespace infini {

// The exponent is kept separately, so that only the result can overflow or underflow.
struct ScaledProduct {
    double value;
    int64_t exponent;
};
struct MultiplyScaled {
    INFINI_DEVICE ScaledProduct operator()(ScaledProduct a, ScaledProduct b) const {
        int more = 0;
        const double value = frexp(a.value * b.value, &more);
        return {value, a.exponent + b.exponent + more};
    }
};

// Computed from the diagonal of the n x n factors in m. is_swapped(k): row k was swapped with a
// later one. If `pivots` is less than n, the matrix is singular, or the next pivot is NaN.
template <class Element, class IsSwapped>
INFINI_DEVICE void store_determinant(const MatrixParams &y, const MatrixParams &z, int64_t index,
                                     const Element *m, int64_t n, int64_t pivots,
                                     IsSwapped is_swapped) {
    ScaledProduct product = {1, 0};
    if (pivots == n) {
        INFINI_ROLLED
        for (int64_t k = thread(); k < n; k += kThreads) {
            const double pivot = m[k * n + k];
            product = MultiplyScaled()(product, {is_swapped(k) ? -pivot : pivot, 0});
        }
        product = fold_large_block<kThreads>(product, MultiplyScaled());
    }
    if (thread() != 0) return;
    const double none = pivots < n ? double(m[pivots * n + pivots]) * 0 : 0;  // keeps NaN
    if constexpr (kResult == 0) {
        const int64_t e = product.exponent;
        const int exponent = int(e < -4000 ? -4000 : e > 4000 ? 4000 : e);
        store_number(y, index, pivots < n ? none : ldexp(product.value, exponent));
        return;
    }
    constexpr double kLog2 = 0.693147180559945309417232121458;
    const double size = pivots < n ? none - infinity<double>()
                                   : log(fabs(product.value)) + double(product.exponent) * kLog2;
    const double sign = pivots < n ? none : product.value < 0 ? -1.0 : 1.0;
    store_number(y, index, kResult == 1 ? sign : sign < 0 ? not_a_number<double>() : size);
    if constexpr (kResult == 1) store_number(z, index, size);
}

}  // namespace infini
