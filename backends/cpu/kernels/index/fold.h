// The combination of values for the same element, for scatter, index_add and related operators.
#pragma once

#include <cstdint>
#include <limits>

#include "types.h"

namespace infini::cpu {

enum class Fold { kAssign, kAdd, kMultiply, kMost, kLeast };

// The accumulation type: 16-bit floats are rounded once, at the end; booleans are 0 or 1.
template <class T>
using Sum = std::conditional_t<kIsSmallFloat<T>, float,
                               std::conditional_t<std::is_same_v<T, boolean>, uint8_t, T>>;

// Integers wrap; NaN propagates through minimum and maximum.
template <Fold kFold, class C>
inline C folded(C a, C b) {
    if constexpr (kFold == Fold::kAdd) return C(a + b);
    if constexpr (kFold == Fold::kMultiply) return C(a * b);
    if constexpr (kFold == Fold::kMost) return b > a || b != b ? b : a;
    if constexpr (kFold == Fold::kLeast) return b < a || b != b ? b : a;
    return b;
}

template <class C>
inline C neutral(Fold fold) {
    using Limits = std::numeric_limits<C>;
    constexpr bool kInfinite = Limits::has_infinity;
    if (fold == Fold::kMultiply) return C(1);
    if (fold == Fold::kMost) return kInfinite ? -Limits::infinity() : Limits::lowest();
    if (fold == Fold::kLeast) return kInfinite ? Limits::infinity() : Limits::max();
    return C(0);
}

// Integer division rounds down.
template <class C>
inline C average(C sum, int64_t count) {
    if constexpr (std::is_floating_point_v<C>) {
        return sum / C(count);
    } else if constexpr (std::is_unsigned_v<C>) {
        return C(uint64_t(sum) / uint64_t(count));
    } else {
        const int64_t wide = sum, quotient = wide / count;
        return C(quotient - (wide % count < 0));
    }
}

// Calls f(std::integral_constant) with a fold other than kAssign.
template <class F>
inline void visit_fold(Fold fold, F &&f) {
    switch (fold) {
        case Fold::kAssign:
            return;
        case Fold::kAdd:
            return f(std::integral_constant<Fold, Fold::kAdd>());
        case Fold::kMultiply:
            return f(std::integral_constant<Fold, Fold::kMultiply>());
        case Fold::kMost:
            return f(std::integral_constant<Fold, Fold::kMost>());
        case Fold::kLeast:
            return f(std::integral_constant<Fold, Fold::kLeast>());
    }
}

// Maps infiniopScatterReduction_t to a fold for a dtype.
struct Reduction {
    Fold fold = Fold::kAdd;
    bool mean = false;
    bool include_self = true;
};

inline Reduction reduction_of(int dtype, int64_t reduce, bool include_self) {
    constexpr Fold kFolds[] = {Fold::kAdd, Fold::kMultiply, Fold::kAdd, Fold::kMost, Fold::kLeast};
    // For booleans: any, all.
    constexpr Fold kBooleans[] = {Fold::kMost, Fold::kLeast, Fold::kLeast, Fold::kMost,
                                  Fold::kLeast};
    constexpr int64_t kMean = 2;
    const bool boolean = dtype == INFINI_DTYPE_BOOL;
    return {(boolean ? kBooleans : kFolds)[reduce], reduce == kMean && !boolean, include_self};
}

}  // namespace infini::cpu
