// Functions called by generated programs: coordinates and folds.
#pragma once

namespace infini {

// ---- Coordinates --------------------------------------------------------------------------------

// Division of indices that exceed 32 bits; rare, so it may be slow.
struct WideDivider {
    int64_t divisor;
};

// Splits the innermost coordinate off an index.
INFINI_DEVICE int32_t take(int32_t &rest, const Divider &divider) {
    const Quotient q = divider.split(uint32_t(rest));
    rest = int32_t(q.quotient);
    return int32_t(q.remainder);
}
INFINI_DEVICE int64_t take(int64_t &rest, const WideDivider &divider) {
    const int64_t quotient = rest / divider.divisor, remainder = rest - quotient * divider.divisor;
    rest = quotient;
    return remainder;
}

// ---- Folds, in the numbering of infini/program.h ------------------------------------------------

enum FoldKind { kSum = 1, kProd, kMax, kMin, kAny, kAll, kArgMax, kArgMin };

// A value and its index in the row; -1: none yet.
template <class V>
struct Arg {
    V value;
    int64_t index;
};

template <class V>
INFINI_DEVICE V least() {
    if constexpr (kIsInteger<V>)
        return smallest<V>();
    else
        return -infinity<V>();
}
template <class V>
INFINI_DEVICE V greatest() {
    if constexpr (kIsInteger<V>)
        return largest<V>();
    else
        return infinity<V>();
}

template <int kind, class V>
INFINI_DEVICE void start_fold(V &value) {
    value = kind == kProd || kind == kAll ? V(1)
            : kind == kMax                ? least<V>()
            : kind == kMin                ? greatest<V>()
                                          : V(0);
}
template <int kind, class V>
INFINI_DEVICE void start_fold(Arg<V> &value) {
    value.value = kind == kArgMax ? least<V>() : greatest<V>();
    value.index = -1;
}

template <int kind, class V>
INFINI_DEVICE V joined(V a, V b) {
    if constexpr (kind == kSum)
        return add(a, b);
    else if constexpr (kind == kProd)
        return mul(a, b);
    else if constexpr (kind == kMax || kind == kAny)
        return maximum(a, b);
    else
        return minimum(a, b);
}
template <int kind, class V>
INFINI_DEVICE void join_fold(V &value, const V &other) {
    value = joined<kind>(value, other);
}

// Whether a replaces b. The first NaN wins.
template <int kind, class V>
INFINI_DEVICE bool beats(V a, V b) {
    if (b != b) return false;
    return a != a || (kind == kArgMax ? a > b : a < b);
}
// The first of equal values is kept, whatever the order of combination.
template <int kind, class V>
INFINI_DEVICE void join_fold(Arg<V> &value, const Arg<V> &other) {
    if (other.index < 0) return;
    const bool better = beats<kind>(other.value, value.value);
    const bool same = !better && !beats<kind>(value.value, other.value);
    if (value.index < 0 || better || (same && other.index < value.index)) value = other;
}

// Folds the values of a vector: all of one row (pairwise, for short dependency chains and small
// rounding errors), or one per row.
template <int kind, int rows, int n, class V>
INFINI_DEVICE void fold_values(V (&folds)[rows], const V (&values)[n]) {
    if constexpr (rows == 1) {
        V sums[n];
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] = values[i];
#pragma unroll
        for (int half = n / 2; half > 0; half /= 2)
#pragma unroll
            for (int i = 0; i < half; ++i) sums[i] = joined<kind>(sums[i], sums[i + half]);
        folds[0] = joined<kind>(folds[0], sums[0]);
    } else {
#pragma unroll
        for (int i = 0; i < rows; ++i) folds[i] = joined<kind>(folds[i], values[i]);
    }
}
// The same for elements from `first` on. A thread processes the elements of a row in order, so a
// later equal value never replaces an earlier one.
template <int kind, int rows, int n, class V, class Index>
INFINI_DEVICE void fold_arg(Arg<V> (&folds)[rows], const V (&values)[n], Index first) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
        Arg<V> &fold = folds[rows == 1 ? 0 : i];
        if (fold.index < 0 || beats<kind>(values[i], fold.value)) {
            fold.value = values[i];
            fold.index = int64_t(first) + (rows == 1 ? i : 0);
        }
    }
}

}  // namespace infini
