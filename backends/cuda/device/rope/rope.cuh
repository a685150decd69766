// rope and mrope: rotary position embeddings. Strides are in elements.
#pragma once

#include "places.h"

namespace infini {

struct RopeParams {
    void *y;
    const void *x, *positions, *sin, *cos;
    Places<4> vectors;   // of y, x and the positions; and the index of the first angle
    int64_t half, rows;  // angles per token; rows of the tables
    int32_t whole;       // vectors are aligned
};

// Queries and keys, whose heads are adjacent.
struct MropeParams {
    void *y[2];
    const void *x[2];
    const void *cos, *sin, *positions;
    int64_t y_token[2], x_token[2];
    int64_t cos_row, cos_step, sin_row, sin_step, rows;
    int64_t positions_axis, positions_token;
    int64_t tokens, head_size, half;
    int64_t section_t, section_h, section_w;
    Divider vectors, heads;  // per head: vectors of pairs, then of copied elements
    int32_t rotated;         // vectors of rotated pairs
    int32_t queries;         // number of heads
    int32_t interleaved;
    int32_t whole;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// Rotation of pairs by angles, and the tables' rows of angles.
namespace infini {

template <class T>
using Angle = Choose<kSame<T, double>, double, float>;

// A position outside the table uses row 0, so that invalid data causes no out-of-bounds read.
template <class P>
INFINI_DEVICE int64_t table_row(P position, int64_t rows) {
    const int64_t row = int64_t(position);
    return row >= 0 && row < rows ? row : 0;
}

template <class C>
INFINI_DEVICE void rotate(C &first, C &second, C sine, C cosine) {
    const C a = first, b = second;
    first = a * cosine - b * sine;
    second = a * sine + b * cosine;
}

}  // namespace infini

#ifdef INFINI_KERNEL_ROPE_ROPE
// rope: kVector pairs per thread. kNeighbours: pairs are (2i, 2i + 1), otherwise (i, i + half). P:
// the type of the positions.
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
        // Both vectors together contain n pairs.
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
#endif

#ifdef INFINI_KERNEL_ROPE_MROPE
// mrope: three positions per token, one of which applies to a pair. Each thread processes kVector
// pairs, or elements that are copied. P: the type of the positions.
namespace infini {

INFINI_DEVICE int axis_of(const MropeParams &p, int64_t pair) {
    if (p.interleaved) {
        if (pair % 3 == 1 && pair < 3 * p.section_h) return 1;
        return pair % 3 == 2 && pair < 3 * p.section_w ? 2 : 0;
    }
    return pair < p.section_t ? 0 : pair < p.section_t + p.section_h ? 1 : 2;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(MropeParams, 256, 1) {
    using C = Angle<T>;
    constexpr int n = kVector;
    const Quotient vector = p.vectors.split(blockIdx.x * 256 + threadIdx.x);
    if (vector.quotient >= p.heads.divisor) return;
    const int64_t token = int64_t(blockIdx.y) + int64_t(blockIdx.z) * gridDim.y;
    if (token >= p.tokens) return;
    const int keys = int(vector.quotient) >= p.queries;
    const int64_t head = int64_t(vector.quotient) - (keys ? p.queries : 0);
    const T *x = static_cast<const T *>(p.x[keys]) + token * p.x_token[keys] + head * p.head_size;
    T *y = static_cast<T *>(p.y[keys]) + token * p.y_token[keys] + head * p.head_size;
    if (int(vector.remainder) >= p.rotated) {  // not rotated
        const int64_t at = 2 * p.half + (int64_t(vector.remainder) - p.rotated) * n;
        store_some<n>(y + at, load_some<n>(x + at, p.whole), p.whole);
        return;
    }
    const int64_t first = int64_t(vector.remainder) * n;
    int64_t row[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
        row[axis] = table_row(static_cast<const P *>(
                                  p.positions)[axis * p.positions_axis + token * p.positions_token],
                              p.rows);
    C a[n], b[n];
    widen(load_some<n>(x + first, p.whole), a);
    widen(load_some<n>(x + first + p.half, p.whole), b);
#pragma unroll
    for (int k = 0; k < n; ++k) {
        const int axis = axis_of(p, first + k);
        const int64_t at = axis == 0 ? row[0] : axis == 1 ? row[1] : row[2];
        const C sine =
            convert<C>(static_cast<const T *>(p.sin)[at * p.sin_row + (first + k) * p.sin_step]);
        const C cosine =
            convert<C>(static_cast<const T *>(p.cos)[at * p.cos_row + (first + k) * p.cos_step]);
        rotate(a[k], b[k], sine, cosine);
    }
    store_some<n>(y + first, narrow<T>(a), p.whole);
    store_some<n>(y + first + p.half, narrow<T>(b), p.whole);
}
#endif

#endif  // INFINI_DEVICE
