// p-norms of differences: what one difference adds, and what the sum becomes. kNorm: 0, 1, 2, 3
// (infinity), 4 (any power).
#pragma once

#include "dist_params.h"

namespace infini {

// Long, and so a function of its own.
template <class C>
__device__ __noinline__ C power(C x, C p) {
    return pow(x, p);
}

// total + |d|^p, or the greater of both.
template <class S, class C>
INFINI_DEVICE S accumulate(S total, C d, C p) {
    const C size = d < 0 ? -d : d;
    if constexpr (kNorm == 0) return total + S(size != size ? size : size > C(1e-10) ? C(1) : C(0));
    if constexpr (kNorm == 1) return total + S(size);
    if constexpr (kNorm == 2) return total + S(d) * S(d);
    if constexpr (kNorm == 3) return fold::Max()(total, S(size));
    return total + S(power(size, p));
}

struct Join {
    template <class S>
    INFINI_DEVICE S operator()(S a, S b) const {
        if constexpr (kNorm == 3) return fold::Max()(a, b);
        return a + b;
    }
};

template <class S>
INFINI_DEVICE S finish(S total, S p) {
    if constexpr (kNorm == 2) return sqrt(total);
    if constexpr (kNorm == 4) return power(total, S(1) / p);
    return total;
}

}  // namespace infini
