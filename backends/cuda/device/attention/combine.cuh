// Puts the results of ranges of keys together, in their order: a warp for each row.
//
// Before this: type T.
#include "attention_params.h"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

INFINI_ENTRY(CombineParams, kWarps *kWarp, 1) {
    const int64_t unit = int64_t(blockIdx.x) * kWarps + warp();
    if (unit >= p.units) return;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
    const float *from = p.partials + unit * partial;
    const int64_t next = p.units * partial;
    float greatest = kNone, sum = 0;
    for (int i = lane(); i < p.splits; i += kWarp)
        greatest = fmaxf(greatest, from[i * next + partial - 4]);
    greatest = fold_warp(greatest, fold::Max());
    const float base = greatest == kNone ? 0.0f : greatest;
    for (int i = 0; i < p.splits; ++i)
        sum += from[i * next + partial - 3] * exp2f(from[i * next + partial - 4] - base);
    const float inverse = sum == 0 ? 0.0f : 1 / sum;

    const Quotient row = p.rows.split(uint32_t(unit)), head = p.heads.split(row.quotient);
    const Quotient query = p.group.split(row.remainder);
    T *to = static_cast<T *>(p.out) + head.quotient * p.out_stride.batch +
            query.quotient * p.out_stride.token +
            (int64_t(head.remainder) * p.group.divisor + query.remainder) * p.out_stride.head;
    for (int e = lane(); e < p.value_depth; e += kWarp) {
        float value = 0;
        for (int i = 0; i < p.splits; ++i) {
            const float weight = exp2f(from[i * next + partial - 4] - base);
            if (weight != 0) value += from[i * next + e] * weight;
        }
        to[e * p.out_stride.inner] = convert<T>(value * inverse);
    }
}

}  // namespace infini
