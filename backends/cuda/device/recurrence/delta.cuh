// Delta rules. For each token, with a decay A of the columns of the state S:
//     S = S A;  d = beta (v - S k);  S = S + d k^T;  out = S q.
// Rows of a state are independent: eight lanes keep a row in registers for all tokens of a request.
// S A k and S A q are products of the old S with A k and A q, and out = S A q + d (k . q), so that
// all sums of a token are computed together.
//
// With one token per request, the time is spent on reading and writing the state.
//
// Requires type T, Gate and the definitions for requests.cuh; kPer (elements of a row per lane),
// kKimi (a decay for each column, computed from A_log and dt_bias).
#include "requests.cuh"

namespace infini {

inline constexpr int kLanes = 8;  // per row
inline constexpr int kThreads = 128;
inline constexpr int kRows = kThreads / kLanes;
inline constexpr int kV = kWide<T>;

// The column of this lane's element i: neighbouring lanes have neighbouring 16-byte chunks.
INFINI_DEVICE int column_of(int part, int i) { return (i / kV * kLanes + part) * kV + i % kV; }

template <class X>
INFINI_DEVICE void load_part(float (&to)[kPer], const X *from, int part, int size, bool vector) {
    if (vector && sizeof(X) == sizeof(T)) {
#pragma unroll
        for (int i = 0; i < kPer; i += kV) {
            const int at = column_of(part, i);
            float some[kV] = {};
            if (at < size) widen(load<kV>(from + at), some);
#pragma unroll
            for (int j = 0; j < kV; ++j) to[i + j] = some[j];
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        const int at = column_of(part, i);
        to[i] = at < size ? convert<float>(from[at]) : 0.0f;
    }
}

INFINI_DEVICE void store_part(T *to, const float (&from)[kPer], int part, int size, bool vector) {
    if (vector) {
#pragma unroll
        for (int i = 0; i < kPer; i += kV) {
            const int at = column_of(part, i);
            float some[kV];
#pragma unroll
            for (int j = 0; j < kV; ++j) some[j] = from[i + j];
            if (at < size) store(to + at, narrow<T>(some));
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
        const int at = column_of(part, i);
        if (at < size) to[at] = convert<T>(from[i]);
    }
}

// Sums over the lanes of a row.
INFINI_DEVICE float sum_lanes(float value) {
#pragma unroll
    for (int mask = kLanes / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
    return value;
}

INFINI_ENTRY(DeltaParams, kThreads, kKimi || kPer > 8 ? 2 : 5) {
    uint32_t rest = blockIdx.x;
    const int part = int(threadIdx.x) % kLanes;
    const int row = int(rest % uint32_t(p.parts)) * kRows + int(threadIdx.x) / kLanes;
    rest /= uint32_t(p.parts);
    const int head = int(rest % uint32_t(p.heads));
    const Request request = find_request(p.requests, int(rest / uint32_t(p.heads)));
    const bool present = row < p.rows;  // all lanes continue, because they add up together
    T *out = static_cast<T *>(p.out) + request.row * p.out_stride[0] + head * p.out_stride[2] + row;
    if (request.source < 0) {
#pragma unroll 1
        for (int t = request.begin; t < request.end; ++t)
            if (present && part == 0) out[t * p.out_stride[1]] = convert<T>(0.0f);
        return;
    }
    float state[kPer] = {};
    if (present)
        load_part(state,
                  static_cast<const T *>(p.initial) + request.source * p.initial_stride[0] +
                      head * p.initial_stride[1] + row * p.initial_stride[2],
                  part, p.columns, p.vector);

    const int64_t from_head = head / p.group;
    const T *q =
        static_cast<const T *>(p.q) + request.row * p.q_stride[0] + from_head * p.q_stride[2];
    const T *k =
        static_cast<const T *>(p.k) + request.row * p.k_stride[0] + from_head * p.k_stride[2];
    const T *v =
        static_cast<const T *>(p.v) + request.row * p.v_stride[0] + head * p.v_stride[2] + row;
    const Gate *g =
        static_cast<const Gate *>(p.g) + request.row * p.g_stride[0] + head * p.g_stride[2];
    const Gate *beta = static_cast<const Gate *>(p.beta) + request.row * p.beta_stride[0] +
                       head * p.beta_stride[2];
    float bias[kPer] = {}, rate = 0;
    if constexpr (kKimi) {
        rate = expf(p.a_log[head]);
        load_part(bias, p.dt_bias + int64_t(head) * p.columns, part, p.columns, false);
    }

    // The data of the next token is loaded while this one is computed.
    struct Token {
        float keys[kPer], queries[kPer], gates[kPer], value, beta;  // gates: one or all
    };
    auto read = [&](Token &token, int t) {
        load_part(token.keys, k + t * p.k_stride[1], part, p.columns, p.vector);
        load_part(token.queries, q + t * p.q_stride[1], part, p.columns, p.vector);
        token.value = present ? convert<float>(v[t * p.v_stride[1]]) : 0.0f;
        token.beta = convert<float>(beta[t * p.beta_stride[1]]);
        if constexpr (kKimi)
            load_part(token.gates, g + t * p.g_stride[1], part, p.columns, p.vector);
        else
            token.gates[0] = convert<float>(g[t * p.g_stride[1]]);
    };
    Token next;
    if (request.begin < request.end) read(next, request.begin);
    for (int t = request.begin; t < request.end; ++t) {
        const Token token = next;
        if (t + 1 < request.end) read(next, t + 1);
        float decay[kKimi ? kPer : 1], gate = token.beta;
        if constexpr (kKimi) {
            gate = 1 / (1 + expf(-gate));
#pragma unroll
            for (int i = 0; i < kPer; ++i)
                decay[i] = expf(p.lower_bound / (1 + expf(-rate * (token.gates[i] + bias[i]))));
        } else {
            decay[0] = expf(token.gates[0]);
        }
        float qq = 0, kk = 0, qk = 0, with_k = 0, with_q = 0;
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
            const float key = token.keys[i], query = token.queries[i];
            qq += query * query;
            kk += key * key;
            qk += query * key;
            state[i] *= decay[kKimi ? i : 0];
            with_k += state[i] * key;
            with_q += state[i] * query;
        }
        qk = sum_lanes(qk), with_k = sum_lanes(with_k), with_q = sum_lanes(with_q);
        float q_scale = p.scale, k_scale = 1;
        if (p.normalise) {
            q_scale *= 1 / sqrtf(sum_lanes(qq) + 1e-6f);
            k_scale = 1 / sqrtf(sum_lanes(kk) + 1e-6f);
        }
        const float delta = gate * (token.value - with_k * k_scale);
        const float change = delta * k_scale;
#pragma unroll
        for (int i = 0; i < kPer; ++i) state[i] += change * token.keys[i];
        if (present && part == 0)
            out[t * p.out_stride[1]] = convert<T>(q_scale * (with_q + change * qk));
    }
    if (present && request.target >= 0)
        store_part(static_cast<T *>(p.final_state) + request.target * p.final_stride[0] +
                       head * p.final_stride[1] + row * p.final_stride[2],
                   state, part, p.columns, p.vector);
}

}  // namespace infini
