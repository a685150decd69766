// mamba_selective_scan. Channels are independent: four lanes share the states of a channel and keep
// them in registers for all tokens.
//
// Requires type T and kPer (states per lane).
#include "recurrence_params.h"

namespace infini {

inline constexpr int kLanes = 4;
inline constexpr int kThreads = 128;
inline constexpr int kChannels = kThreads / kLanes;

INFINI_DEVICE float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

INFINI_ENTRY(MambaParams, kThreads, 1) {
    const int row = int(blockIdx.x / p.blocks);
    const int place = int(blockIdx.x % p.blocks) * kChannels + int(threadIdx.x) / kLanes;
    const int part = int(threadIdx.x) % kLanes;
    const bool present = place < p.channels;
    const int channel = present ? place : 0;  // all lanes continue, because they add up together

    float rate[kPer], state[kPer];
    float *kept = p.state + (int64_t(row) * p.channels + channel) * p.states;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        const int n = i * kLanes + part;
        rate[i] = state[i] = 0;
        if (n < p.states) {
            rate[i] = -expf(
                convert<float>(static_cast<const T *>(p.a_log)[int64_t(channel) * p.states + n]));
            state[i] = kept[n];
        }
    }
    const float skip = convert<float>(static_cast<const T *>(p.d)[channel]);
    const float bias = convert<float>(static_cast<const T *>(p.dt_bias)[channel]);
    // The data of the next token is loaded while this one is computed.
    struct Token {
        float x, gate, dt, b[kPer], c[kPer];
    };
    auto read = [&](Token &to, int t) {
        const int64_t token = int64_t(row) * p.tokens + t, at = token * p.channels + channel;
        to.x = convert<float>(static_cast<const T *>(p.x)[at]);
        to.gate = convert<float>(static_cast<const T *>(p.gate)[at]);
        to.dt = convert<float>(static_cast<const T *>(p.dt)[at]);
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
            const int n = i * kLanes + part;
            const bool there = n < p.states;
            to.b[i] =
                there ? convert<float>(static_cast<const T *>(p.b)[token * p.states + n]) : 0.0f;
            to.c[i] =
                there ? convert<float>(static_cast<const T *>(p.c)[token * p.states + n]) : 0.0f;
        }
    };
    Token next;
    if (p.tokens > 0) read(next, 0);
    for (int t = 0; t < p.tokens; ++t) {
        const Token token = next;
        if (t + 1 < p.tokens) read(next, t + 1);
        const int64_t at = (int64_t(row) * p.tokens + t) * p.channels + channel;
        const float x = token.x, gate = token.gate, dt = softplus(token.dt + bias);
        float y = 0;
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
            state[i] = expf(rate[i] * dt) * state[i] + dt * x * token.b[i];
            y += state[i] * token.c[i];
        }
#pragma unroll
        for (int mask = kLanes / 2; mask > 0; mask /= 2) y += shuffle_xor(y, mask);
        y += skip * x;
        if (present && part == 0)
            static_cast<T *>(p.out)[at] = convert<T>(y * gate / (1 + expf(-gate)));
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        const int n = i * kLanes + part;
        if (present && n < p.states) kept[n] = state[i];
    }
}

}  // namespace infini
