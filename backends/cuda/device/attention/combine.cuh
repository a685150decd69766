// Puts the results of ranges of keys together, in their order within each warp: a block for each
// row, whose warps have every fourth range.
//
// Few rows have many ranges: so many loads are begun before the first one is used.
//
// Before this: type T.
#include "attention_params.h"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kAtOnce = 8;  // ranges
inline constexpr int kColumns = 4 * kWarp;
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

INFINI_ENTRY(CombineParams, kWarps *kWarp, 1) {
    INFINI_SHARED float shared[kWarps][kColumns];
    const int64_t unit = blockIdx.x;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
    const float *from = p.partials + unit * partial;
    const int64_t next = p.units * partial;
    float greatest = kNone, sum = 0;
    for (int i = lane(); i < p.splits; i += kWarp)
        greatest = fmaxf(greatest, from[i * next + partial - 4]);
    greatest = fold_warp(greatest, fold::Max());
    const float base = greatest == kNone ? 0.0f : greatest;
    for (int i = lane(); i < p.splits; i += kWarp)
        sum += from[i * next + partial - 3] * exp2f(from[i * next + partial - 4] - base);
    sum = fold_warp(sum, fold::Sum());
    const float inverse = sum == 0 ? 0.0f : 1 / sum;

    const Quotient row = p.rows.split(uint32_t(unit)), head = p.heads.split(row.quotient);
    const Quotient query = p.group.split(row.remainder);
    T *to = static_cast<T *>(p.out) + head.quotient * p.out_stride.batch +
            query.quotient * p.out_stride.token +
            (int64_t(head.remainder) * p.group.divisor + query.remainder) * p.out_stride.head;
    for (int first = 0; first < p.value_depth; first += kColumns) {
        const int e = first + 4 * lane();
        float value[4] = {};
        for (int i = warp(); i < p.splits; i += kWarps * kAtOnce) {
            float weight[kAtOnce];
            Vec<float, 4> some[kAtOnce];
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                const int at = i + j * kWarps;
                const bool valid = at < p.splits;
                weight[j] = valid ? from[at * next + partial - 4] : kNone;
                some[j] = valid && e < p.value_depth ? load<4>(from + at * next + e)
                                                     : Vec<float, 4>{0, 0, 0, 0};
            }
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                weight[j] = exp2f(weight[j] - base);
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (weight[j] != 0) value[k] += some[j][k] * weight[j];
            }
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) shared[warp()][4 * lane() + k] = value[k];
        __syncthreads();
        const int mine = int(threadIdx.x);
        if (first + mine < p.value_depth) {
            float total = 0;
#pragma unroll
            for (int j = 0; j < kWarps; ++j) total += shared[j][mine];
            to[(first + mine) * p.out_stride.inner] = convert<T>(total * inverse);
        }
        __syncthreads();
    }
}

}  // namespace infini
