// Folds of values: a block to one value, or elementwise into a row of results.
#pragma once

#include <infini/program.h>

#include <limits>

#include "functions.h"
#include "program/loop_nest.h"

namespace infini::cpu::program {

inline bool is_arg(int fold) { return fold >= INFINI_FOLD_ARGMAX; }

// The result for no elements.
template <class C>
C fold_start(int fold) {
    using Limits = std::numeric_limits<C>;
    switch (fold) {
        case INFINI_FOLD_PROD:
        case INFINI_FOLD_ALL:
            return C(1);
        case INFINI_FOLD_MAX:
        case INFINI_FOLD_ARGMAX:
            return Limits::has_infinity ? C(-Limits::infinity()) : Limits::lowest();
        case INFINI_FOLD_MIN:
        case INFINI_FOLD_ARGMIN:
            return Limits::has_infinity ? Limits::infinity() : Limits::max();
        default:
            return C(0);
    }
}

// Calls f with a function of two values, which are vectors or scalars.
template <class F>
auto with_fold(int fold, F &&f) {
    switch (fold) {
        case INFINI_FOLD_SUM:
            return f([](auto a, auto b) { return add(a, b); });
        case INFINI_FOLD_PROD:
            return f([](auto a, auto b) { return mul(a, b); });
        case INFINI_FOLD_MAX:
        case INFINI_FOLD_ANY:
        case INFINI_FOLD_ARGMAX:
            return f([](auto a, auto b) { return maximum(a, b); });
        default:
            return f([](auto a, auto b) { return minimum(a, b); });
    }
}

template <class C>
C fold_two(int fold, C a, C b) {
    return with_fold(fold, [&](auto combine) { return combine(a, b); });
}

// Several accumulators, which hide latency and shorten the chains of rounding errors.
template <class C>
C fold_block(int fold, const C *x, size_t n) {
    return with_fold(fold, [&](auto combine) {
        using V = Vec<C>;
        constexpr size_t kLanes = kWidth<C>, kChains = 4;
        C result = fold_start<C>(fold);
        size_t i = 0;
        if (n >= kLanes * kChains) {
            V chain[kChains];
            for (size_t k = 0; k < kChains; ++k) chain[k] = load<V>(x + k * kLanes);
            for (i = kLanes * kChains; i + kLanes * kChains <= n; i += kLanes * kChains)
                for (size_t k = 0; k < kChains; ++k)
                    chain[k] = combine(chain[k], load<V>(x + i + k * kLanes));
            result =
                reduce(combine(combine(chain[0], chain[1]), combine(chain[2], chain[3])), combine);
        }
        if (i + kLanes <= n) {
            V rest = load<V>(x + i);
            for (i += kLanes; i + kLanes <= n; i += kLanes) rest = combine(rest, load<V>(x + i));
            result = combine(result, reduce(rest, combine));
        }
        for (; i < n; ++i) result = combine(result, x[i]);
        return result;
    });
}

template <class C>
void fold_into(int fold, C *results, const C *x, size_t n) {
    with_fold(fold, [&](auto combine) {
        constexpr size_t kLanes = kWidth<C>;
        size_t i = 0;
        for (; i + kLanes <= n; i += kLanes)
            store(results + i, combine(load<Vec<C>>(results + i), load<Vec<C>>(x + i)));
        for (; i < n; ++i) results[i] = combine(results[i], x[i]);
        return 0;
    });
}

// Lines that are `apart` elements from each other, four at a time.
template <class C>
void fold_lines(int fold, C *results, const C *x, int64_t apart, size_t lines, size_t n) {
    while (lines >= 4) {
        with_fold(fold, [&](auto combine) {
            using V = Vec<C>;
            constexpr size_t kLanes = kWidth<C>;
            const C *a = x, *b = a + apart, *c = b + apart, *d = c + apart;
            size_t i = 0;
            for (; i + kLanes <= n; i += kLanes) {
                const V ab = combine(load<V>(a + i), load<V>(b + i));
                const V cd = combine(load<V>(c + i), load<V>(d + i));
                store(results + i, combine(load<V>(results + i), combine(ab, cd)));
            }
            for (; i < n; ++i)
                results[i] = combine(results[i], combine(combine(a[i], b[i]), combine(c[i], d[i])));
            return 0;
        });
        x += 4 * apart;
        lines -= 4;
    }
    for (; lines > 0; --lines, x += apart) fold_into(fold, results, x, n);
}

// ---- Indices (argmin, argmax) -------------------------------------------------------------------

// Whether a replaces b. The first of equal elements is kept, and the first NaN wins.
template <class C>
bool beats(int fold, C a, C b) {
    if (b != b) return false;
    return a != a || (fold == INFINI_FOLD_ARGMAX ? a > b : a < b);
}

// Folds x[i], whose index is first + i * step, into (best, index).
template <class C>
void fold_arg(int fold, C &best, C &index, C x, C number) {
    if (index < C(0) || beats(fold, x, best)) best = x, index = number;
}

}  // namespace infini::cpu::program
