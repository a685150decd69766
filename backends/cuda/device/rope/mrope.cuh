// mrope: three positions for each token, of which a pair has one. kVector pairs, or elements that
// are copied, for each thread. P: the type of the positions.
#include "rope_params.h"
#include "rotate.cuh"
#include "words.cuh"

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
    if (int(vector.remainder) >= p.rotated) {  // what is not rotated
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
