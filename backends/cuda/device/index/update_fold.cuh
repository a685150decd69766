// Rows of the output, each from the rows of the source that name it. The elements of a vector of
// kVector are folded by one thread, in the order of the entries. kScaled: the source's are
// multiplied by a factor.
#include "fold.cuh"
#include "update_spot.cuh"
#include "words.cuh"

namespace infini {

using C = Sum<T>;

INFINI_DEVICE C factor_of(double factor) {
    if constexpr (kSame<T, boolean>)
        return C(int64_t(factor) != 0);
    else if constexpr (kIsFloat<T>)
        return C(factor);
    else
        return C(int64_t(factor));
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(UpdateParams, 256, 1) {
    const Spot spot = spot_of(p);
    const int64_t column = spot.column;
    if (column >= p.inner) return;
    const Folding fold;
    const C factor = factor_of(p.factor);
    const T *in = static_cast<const T *>(p.in), *source = static_cast<const T *>(p.source);
    const int64_t rows = p.outer * p.rows;
    for (int64_t at = spot.row; at < rows; at += spot.rows) {
        const int64_t outer = at / p.rows, row = at - outer * p.rows;
        const uint32_t begin = p.first[row], end = p.first[row + 1];
        const int64_t place = (at * p.inner + column) * kVector;
        const Vec<T, kVector> own = load_some<kVector>(in + place, p.whole);
        C sum[kVector];
#pragma unroll
        for (int i = 0; i < kVector; ++i) sum[i] = kIncludeSelf ? convert<C>(own[i]) : neutral<C>();
        for (uint32_t k = begin; k < end; ++k) {
            const int64_t from = (outer * p.entries + p.order[k]) * p.inner + column;
            const Vec<T, kVector> terms = load_some<kVector>(source + from * kVector, p.whole);
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                const C term = convert<C>(terms[i]);
                sum[i] = fold(sum[i], kScaled ? C(factor * term) : term);
            }
        }
        Vec<T, kVector> result = own;
        if (begin != end) {
#pragma unroll
            for (int i = 0; i < kVector; ++i) {
                if (kMean) sum[i] = average(sum[i], int64_t(end - begin) + kIncludeSelf);
                result[i] = convert<T>(sum[i]);
            }
        }
        store_some<kVector>(static_cast<T *>(p.out) + place, result, p.whole);
    }
}
