// causal_conv1d: out[t] = sum_j w[j] x[t - 3 + j] for each channel, with the last three inputs of
// earlier tokens as state. A thread processes one channel, or the channels in 16 bytes, and a run
// of tokens.
//
// Requires type T and the definitions for requests.cuh.
#include "requests.cuh"

namespace infini {

inline constexpr int kThreads = 128;
inline constexpr int kRun = 64;  // tokens per run

template <int n>
INFINI_DEVICE void load_channels(float (&to)[n], const T *from, int64_t stride) {
#pragma unroll
    for (int i = 0; i < n; ++i) to[i] = convert<float>(from[i * stride]);
}

template <int n>
INFINI_DEVICE void run_channels(const ConvParams &p, const Request &request, int run, int first) {
    if (first >= p.channels) return;
    const int begin = request.begin + run * kRun;
    const int end = begin + kRun < request.end ? begin + kRun : request.end;
    if (run > 0 && begin >= end) return;
    T *out = static_cast<T *>(p.out) + request.row * p.out_stride[0] + first;
    if (request.source < 0) {
        const float zeros[n] = {};
#pragma unroll 1
        for (int t = begin; t < end; ++t) store(out + t * p.out_stride[1], narrow<T>(zeros));
        return;
    }
    const T *x = static_cast<const T *>(p.x) + request.row * p.x_stride[0] + first;
    const T *state = static_cast<const T *>(p.state) + request.source * p.state_stride[0] +
                     first * p.state_stride[1];
    // Input t of the request, also before its first token. States may have any layout, so they are
    // read one by one.
    auto input = [&](float (&to)[n], int t) {
        const bool old = t < request.begin;
        const T *from =
            old ? state + (t - request.begin + 3) * p.state_stride[2] : x + t * p.x_stride[1];
        load_channels(to, from, old ? p.state_stride[1] : 1);
    };
    float tap[4][n], bias[n] = {}, before[3][n];
    const T *weight = static_cast<const T *>(p.weight) + first * p.weight_stride[0];
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < n; ++i)
            tap[j][i] = convert<float>(weight[i * p.weight_stride[0] + j * p.weight_stride[1]]);
    if (p.bias)
#pragma unroll
        for (int i = 0; i < n; ++i)
            bias[i] = convert<float>(static_cast<const T *>(p.bias)[(first + i) * p.bias_stride]);
#pragma unroll
    for (int i = 0; i < 3; ++i) input(before[i], begin - 3 + i);
#pragma unroll 4
    for (int t = begin; t < end; ++t) {
        float now[n], sum[n];
        widen(load<n>(x + t * p.x_stride[1]), now);
#pragma unroll
        for (int i = 0; i < n; ++i) {
            sum[i] = bias[i] + tap[0][i] * before[0][i];
            sum[i] += tap[1][i] * before[1][i];
            sum[i] += tap[2][i] * before[2][i];
            sum[i] += tap[3][i] * now[i];
            before[0][i] = before[1][i], before[1][i] = before[2][i], before[2][i] = now[i];
        }
        store(out + t * p.out_stride[1], narrow<T>(sum));
    }
    // The first run writes the state, because only it has read the old one. The new state depends
    // on the old one and the inputs; an old entry that is overwritten in place is not needed after
    // that.
    if (run > 0 || request.target < 0) return;
    T *to = static_cast<T *>(p.final_state) + request.target * p.final_stride[0] +
            first * p.final_stride[1];
#pragma unroll 1
    for (int j = 0; j < 3; ++j) {
        float last[n];
        input(last, request.end - 3 + j);
#pragma unroll
        for (int i = 0; i < n; ++i)
            to[j * p.final_stride[2] + i * p.final_stride[1]] = convert<T>(last[i]);
    }
}

INFINI_ENTRY(ConvParams, kThreads, 1) {
    uint32_t rest = blockIdx.x;
    const int thread = int(rest % uint32_t(p.blocks)) * kThreads + int(threadIdx.x);
    rest /= uint32_t(p.blocks);
    const int run = int(rest % uint32_t(p.runs));
    const Request request = find_request(p.requests, int(rest / uint32_t(p.runs)));
    if (p.vector)
        run_channels<kWide<T>>(p, request, run, thread * kWide<T>);
    else
        run_channels<1>(p, request, run, thread);
}

}  // namespace infini
