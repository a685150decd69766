// How values for the same element are combined. T: the element type, kFold: one of Fold.
#pragma once

namespace infini {

enum Fold { kAssign, kAdd, kMultiply, kMost, kLeast };

// The accumulator type: 16-bit floats are rounded once, at the end; booleans are 0 or 1.
template <class T>
using Sum = Choose<kIsSmallFloat<T>, float, Choose<kSame<T, boolean>, uint8_t, T>>;

// Integers wrap; NaN propagates in both minimum and maximum.
struct Folding {
    template <class C>
    INFINI_DEVICE C operator()(C a, C b) const {
        if constexpr (kFold == kAdd) return C(a + b);
        if constexpr (kFold == kMultiply) return C(a * b);
        if constexpr (kFold == kMost) return b > a || b != b ? b : a;
        if constexpr (kFold == kLeast) return b < a || b != b ? b : a;
        return b;
    }
};

template <class C>
INFINI_DEVICE C neutral() {
    if constexpr (kFold == kMultiply) return C(1);
    if constexpr (kFold == kMost && kIsFloat<C>) return -infinity<C>();
    if constexpr (kFold == kLeast && kIsFloat<C>) return infinity<C>();
    if constexpr (kFold == kMost && !kIsFloat<C>) return smallest<C>();
    if constexpr (kFold == kLeast && !kIsFloat<C>) return largest<C>();
    return C(0);
}

// Integers are rounded down.
template <class C>
INFINI_DEVICE C average(C sum, int64_t count) {
    if constexpr (kIsFloat<C>) {
        return sum / C(count);
    } else if constexpr (!kIsSigned<C>) {
        return C(uint64_t(sum) / uint64_t(count));
    } else {
        const int64_t wide = sum, quotient = wide / count;
        return C(quotient - (wide % count < 0));
    }
}

}  // namespace infini
