// rope: kVector pairs for each thread. kNeighbours: pairs are (2i, 2i + 1), else (i, i + half). P:
// the type of the positions.
#include "rope_params.h"
#include "rotate.cuh"
#include "words.cuh"

using namespace infini;

INFINI_ENTRY(RopeParams, 256, 1) {
    using C = Angle<T>;
    constexpr int n = kVector;
    const int64_t i = grid_thread();
    if (i >= p.vectors.count) return;
    int64_t offset[4];
    p.vectors.at(i, offset);
    const T *x = static_cast<const T *>(p.x) + offset[1];
    T *y = static_cast<T *>(p.y) + offset[0];
    const int64_t apart = kNeighbours ? n : p.half;
    const Vec<T, n> low = load_some<n>(x, p.whole), high = load_some<n>(x + apart, p.whole);
    const int64_t row = table_row(static_cast<const P *>(p.positions)[offset[2]], p.rows);
    const int64_t at = row * p.half + offset[3];
    const Vec<T, n> sines = load_some<n>(static_cast<const T *>(p.sin) + at, p.whole);
    const Vec<T, n> cosines = load_some<n>(static_cast<const T *>(p.cos) + at, p.whole);
    C a[n], b[n];
    widen(low, a);
    widen(high, b);
    if constexpr (kNeighbours) {
        // Both vectors together are n pairs.
        C both[2 * n];
#pragma unroll
        for (int k = 0; k < n; ++k) both[k] = a[k], both[n + k] = b[k];
#pragma unroll
        for (int k = 0; k < n; ++k)
            rotate(both[2 * k], both[2 * k + 1], convert<C>(sines[k]), convert<C>(cosines[k]));
#pragma unroll
        for (int k = 0; k < n; ++k) a[k] = both[k], b[k] = both[n + k];
    } else {
#pragma unroll
        for (int k = 0; k < n; ++k)
            rotate(a[k], b[k], convert<C>(sines[k]), convert<C>(cosines[k]));
    }
    store_some<n>(y, narrow<T>(a), p.whole);
    store_some<n>(y + apart, narrow<T>(b), p.whole);
}
