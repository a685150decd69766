// A row's results of several parts (ranges of keys), in their order within each warp. Of few parts
// warps have different columns, of many every fourth part: so many loads are begun before the first
// one is used.
//
// Before this: type T.
#pragma once

#include "attention_params.h"

namespace infini {

inline constexpr int kCombineWarps = 4, kCombineThreads = kCombineWarps * kWarp;
inline constexpr float kNoScore = __builtin_bit_cast(float, 0xff800000u);

// By all threads of a block. part(i) is where the values of a part are; the greatest score and the
// sum stand behind them, at the next multiple of four.
template <class Part>
INFINI_DEVICE void combine_row(int parts, int size, const Part &part, T *to, int64_t inner) {
    constexpr int kAtOnce = 4, kColumns = 4 * kWarp;
    INFINI_SHARED float shared[kCombineWarps][kColumns];
    const int behind = (size + 3) / 4 * 4;
    float greatest = kNoScore, sum = 0;
#pragma unroll 1
    for (int i = lane(); i < parts; i += kWarp) greatest = fmaxf(greatest, part(i)[behind]);
    greatest = fold_warp(greatest, fold::Max());
    const float base = greatest == kNoScore ? 0.0f : greatest;
#pragma unroll 1
    for (int i = lane(); i < parts; i += kWarp)
        sum += part(i)[behind + 1] * exp2f(part(i)[behind] - base);
    sum = fold_warp(sum, fold::Sum());
    const float inverse = sum == 0 ? 0.0f : 1 / sum;
    const bool shared_columns = parts > kAtOnce;
    const int each = shared_columns ? kCombineWarps : 1;  // how far a warp's parts are apart
#pragma unroll 1
    for (int first = shared_columns ? 0 : warp() * kColumns; first < size;
         first += shared_columns ? kColumns : kCombineWarps * kColumns) {
        const int e = first + 4 * lane();
        float value[4] = {};
#pragma unroll 1
        for (int i = shared_columns ? warp() : 0; i < parts; i += each * kAtOnce) {
            float weight[kAtOnce];
            Vec<float, 4> some[kAtOnce];
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                const int at = i + j * each;
                const bool valid = at < parts;
                weight[j] = valid ? part(at)[behind] : kNoScore;
                some[j] = valid && e < size ? load<4>(part(at) + e) : Vec<float, 4>{0, 0, 0, 0};
            }
#pragma unroll
            for (int j = 0; j < kAtOnce; ++j) {
                weight[j] = exp2f(weight[j] - base);
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    if (weight[j] != 0) value[k] += some[j][k] * weight[j];
            }
        }
        if (!shared_columns) {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (e + k < size) to[(e + k) * inner] = convert<T>(value[k] * inverse);
            continue;
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) shared[warp()][4 * lane() + k] = value[k];
        __syncthreads();
        const int mine = int(threadIdx.x);
        if (first + mine < size) {
            float total = 0;
#pragma unroll
            for (int j = 0; j < kCombineWarps; ++j) total += shared[j][mine];
            to[(first + mine) * inner] = convert<T>(total * inverse);
        }
        __syncthreads();
    }
}

}  // namespace infini
