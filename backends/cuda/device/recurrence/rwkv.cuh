// rwkv5_wkv. Columns of a head's state are independent: four lanes share a column and keep it in
// registers for all tokens. out_j = sum_i r_i S_ij + v_j sum_i r_i u_i k_i.
//
// Requires type T and kPer (rows per lane).
#include "recurrence_params.h"

namespace infini {

inline constexpr int kLanes = 4;
inline constexpr int kThreads = 256;
inline constexpr int kColumns = kThreads / kLanes;
inline constexpr int kRows = kLanes * kPer;

INFINI_ENTRY(RwkvParams, kThreads, 1) {
    INFINI_SHARED float vectors[2][2][kRows];  // r and k of the current and the next token
    const int size = p.size;
    uint32_t rest = blockIdx.x;
    const int column = int(rest % uint32_t(p.parts)) * kColumns + int(threadIdx.x) / kLanes;
    rest /= uint32_t(p.parts);
    const int head = int(rest % uint32_t(p.heads));
    const int64_t row = rest / uint32_t(p.heads);
    const int part = int(threadIdx.x) % kLanes;
    const bool present = column < size;
    const T *r = static_cast<const T *>(p.r), *k = static_cast<const T *>(p.k);
    const T *v = static_cast<const T *>(p.v);

    float state[kPer], decay[kPer], bonus[kPer];
    float *kept = p.state + (row * p.heads + head) * size * size + column;
#pragma unroll
    for (int n = 0; n < kPer; ++n) {
        const int i = n * kLanes + part;
        state[n] = decay[n] = bonus[n] = 0;
        if (i < size) {
            const int64_t at = int64_t(head) * size + i;
            decay[n] = expf(-expf(convert<float>(static_cast<const T *>(p.decay)[at])));
            bonus[n] = convert<float>(static_cast<const T *>(p.bonus)[at]);
            if (present) state[n] = kept[int64_t(i) * size];
        }
    }
    auto token_at = [&](int t) { return ((row * p.tokens + t) * p.heads + head) * size; };
    // The data of the next token is loaded while this one is computed, then stored in shared
    // memory.
    constexpr int kEach = (kRows + kThreads - 1) / kThreads;
    float next_r[kEach], next_k[kEach], next_v = 0;
    auto read = [&](int t) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
            const int i = int(threadIdx.x) + j * kThreads;
            next_r[j] = i < size ? convert<float>(r[token_at(t) + i]) : 0.0f;
            next_k[j] = i < size ? convert<float>(k[token_at(t) + i]) : 0.0f;
        }
        next_v = present ? convert<float>(v[token_at(t) + column]) : 0.0f;
    };
    auto show = [&](int t) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
            const int i = int(threadIdx.x) + j * kThreads;
            if (i < kRows) vectors[t % 2][0][i] = next_r[j], vectors[t % 2][1][i] = next_k[j];
        }
    };
    if (p.tokens > 0) read(0), show(0);
    for (int t = 0; t < p.tokens; ++t) {
        const float value = next_v;
        __syncthreads();
        if (t + 1 < p.tokens) read(t + 1);
        float sum = 0, extra = 0;
#pragma unroll
        for (int n = 0; n < kPer; ++n) {
            const float r_i = vectors[t % 2][0][n * kLanes + part];
            const float k_i = vectors[t % 2][1][n * kLanes + part];
            sum += r_i * state[n];
            extra += r_i * bonus[n] * k_i;
            state[n] = state[n] * decay[n] + k_i * value;
        }
        sum += extra * value;
#pragma unroll
        for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
        if (present && part == 0) static_cast<T *>(p.out)[token_at(t) + column] = convert<T>(sum);
        if (t + 1 < p.tokens) show(t + 1);
    }
#pragma unroll
    for (int n = 0; n < kPer; ++n) {
        const int i = n * kLanes + part;
        if (present && i < size) kept[int64_t(i) * size] = state[n];
    }
}

}  // namespace infini
