// Folds of many short rows: each row is reduced to a vector, and as many rows as a vector has lanes
// are reduced across lanes in one tree.
#pragma once

#include <algorithm>
#include <utility>

#include "simd.h"

namespace infini::cpu::program {

namespace detail {
// Takes the lower or the upper halves of all blocks of `width` lanes of two vectors.
template <size_t width, bool upper, class V, size_t... lane>
INFINI_SIMD V halves(V a, V b, std::index_sequence<lane...>) {
    constexpr size_t kHalf = width / 2;
    using M = Bits<V>;
    const M from = {Element<M>(lane / kHalf * width + lane % kHalf + (upper ? kHalf : 0))...};
    return __builtin_shuffle(a, b, from);
}

template <size_t width, class V, class Combine>
INFINI_SIMD V fold_lanes(V *v, Combine combine) {
    if constexpr (width == 1) {
        return v[0];
    } else {
        constexpr auto kAll = std::make_index_sequence<kLanes<V>>();
#pragma GCC unroll 16
        for (size_t i = 0; i < width / 2; ++i)
            v[i] = combine(halves<width, false>(v[2 * i], v[2 * i + 1], kAll),
                           halves<width, true>(v[2 * i], v[2 * i + 1], kAll));
        return fold_lanes<width / 2>(v, combine);
    }
}
}  // namespace detail

// results[r] = the fold of the n >= 1 elements at x + r * pitch. `start` is the identity of
// `combine`, and `read` makes a vector of the elements at a pointer. A row's result does not depend
// on the other rows.
template <class C, class E, class Combine, class Read>
void fold_rows(Combine combine, C start, C *results, const E *x, ptrdiff_t pitch, size_t rows,
               size_t n, Read read) {
    using V = Vec<C>;
    constexpr size_t kLanes = kWidth<C>, kChains = 4;
    const V starts = broadcast<V>(start);
    const Bits<V> lane = iota<Bits<V>>();
    const size_t full = n / kLanes, rest = n % kLanes;
    auto long_row = [&](const E *row) {
        V made = read(row);
        size_t i = 1;
        if (full >= 2 * kChains) {
            V chain[kChains];
            for (size_t k = 0; k < kChains; ++k) chain[k] = read(row + k * kLanes);
            for (i = kChains; i + kChains <= full; i += kChains)
                for (size_t k = 0; k < kChains; ++k)
                    chain[k] = combine(chain[k], read(row + (i + k) * kLanes));
            made = combine(combine(chain[0], chain[1]), combine(chain[2], chain[3]));
        }
        for (; i < full; ++i) made = combine(made, read(row + i * kLanes));
        if (rest == 0) return made;
        // The last vector overlaps the one before it.
        const auto fresh = lane >= broadcast<Bits<V>>(Element<Bits<V>>(kLanes - rest));
        return combine(made, V(select(fresh, read(row + n - kLanes), starts)));
    };
    // Whether a whole vector may be read at the start of a short row.
    const ptrdiff_t end = ptrdiff_t(rows - 1) * pitch + ptrdiff_t(n);
    auto is_inside = [&](size_t r) {
        return pitch >= 0 && ptrdiff_t(r) * pitch + ptrdiff_t(kLanes) <= end;
    };
    const auto given = lane < broadcast<Bits<V>>(Element<Bits<V>>(std::min(n, kLanes)));
    auto short_row = [&](size_t r) {
        const E *row = x + ptrdiff_t(r) * pitch;
        if (!is_inside(r)) {
            E some[kLanes] = {};
            std::memcpy(some, row, n * sizeof(E));
            return V(select(given, read(some), starts));
        }
        return V(select(given, read(row), starts));
    };
    auto all = [&](auto row) {
        size_t r = 0;
        if constexpr (kWidth<C> <= 16) {
            for (; r + kWidth<C> <= rows; r += kWidth<C>) {
                Vec<C> v[kWidth<C>];
                for (size_t k = 0; k < kWidth<C>; ++k) v[k] = row(r + k);
                store(results + r, detail::fold_lanes<kWidth<C>>(v, combine));
            }
        }
        for (; r < rows; ++r) results[r] = reduce(row(r), combine);
    };
    if (full)
        all([&](size_t r) { return long_row(x + ptrdiff_t(r) * pitch); });
    else
        all(short_row);
}

}  // namespace infini::cpu::program
