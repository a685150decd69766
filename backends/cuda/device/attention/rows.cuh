// Attention for any type, size and layout, one block per row. Its warps take turns to process 32
// keys: one key per lane for the scores, then some elements of the values per lane. Their results
// are combined at the end. Scores, probabilities and sums are floats.
//
// Every key is read once for each row (from the caches if rows share it). Used for cases that the
// tensor-core kernels do not support.
#include "sequence.cuh"

namespace infini {

inline constexpr int kWarps = 4;

// Online softmax of one warp: running maximum and sum.
struct Running {
    float greatest, sum;
};

INFINI_DEVICE float dot(const AttentionParams &p, const float *q, const T *k) {
    float sum = 0;
    if (p.vector) {
        constexpr int n = kWide<T>;
        for (int d = 0; d < p.depth; d += n) {
            float some[n];
            widen(load<n>(k + d), some);
#pragma unroll
            for (int i = 0; i < n; ++i) sum += q[d + i] * some[i];
        }
        return sum;
    }
    for (int d = 0; d < p.depth; ++d) sum += q[d] * convert<float>(k[d * p.k_stride.inner]);
    return sum;
}

// Processes the keys from `first` on, one per lane.
INFINI_DEVICE void take_keys(const AttentionParams &p, const Sequence &s, const float *q, int first,
                             int from, int limit, int place, float slope, Running &running,
                             float *sums) {
    const int t = first + lane();
    KeyPlace at = {0, 0, false};
    float score = kNone;
    if (t >= from && t < limit) at = find_key(p, s, t);
    if (at.known) {
        score = dot(p, q, s.k + at.k);
        if constexpr (kCapped) score = cap_score(p, score);
        if constexpr (kSloped) score += slope * float(t - place);
    }
    const float greatest = fmaxf(running.greatest, fold_warp(score, fold::Max()));
    const float base = greatest == kNone ? 0.0f : greatest;
    const float weight = exp2f(score - base), factor = exp2f(running.greatest - base);
    running.greatest = greatest;
    running.sum = running.sum * factor + fold_warp(weight, fold::Sum());
    for (int e = lane(); e < p.value_depth; e += kWarp) sums[e] *= factor;
    for (int i = 0; i < kWarp; ++i) {
        const float w = shuffle(weight, i);
        const int64_t row = shuffle(at.v, i);
        if (w == 0) continue;
        const T *v = s.v + row;
        for (int e = lane(); e < p.value_depth; e += kWarp)
            sums[e] += w * convert<float>(v[e * p.v_stride.inner]);
    }
}

INFINI_ENTRY(AttentionParams, kWarps *kWarp, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED Running parts[kWarps];
    // Neighbouring blocks process the query heads of one key head.
    const int group = int(p.group.divisor);
    int64_t rest = blockIdx.x;
    const int member = int(rest % group);
    rest /= group;
    const int head = int(rest % p.heads);
    rest /= p.heads;  // index of the query, over all sequences
    int index, query;
    if constexpr (kRagged) {
        index = find_segment(p.segments + 1, p.sequences + 2, int(rest));
        query = int(rest) - p.segments[index];
    } else {
        index = int(rest / p.queries), query = int(rest % p.queries);
    }
    const Sequence s = find_sequence(p, index, head);
    const int row = query * group + member;
    float *q = reinterpret_cast<float *>(memory);
    float *sums = q + p.depth + warp() * p.value_depth;
    const T *from = query_row(p, s, head, row);
    for (int d = int(threadIdx.x); d < p.depth; d += kWarps * kWarp)
        q[d] = convert<float>(from[d * p.q_stride.inner]) * p.scale;
    for (int e = lane(); e < p.value_depth; e += kWarp) sums[e] = 0;
    __syncthreads();

    const int limit = key_limit(s, query), start = key_begin(p, s, query);
    const int place = s.keys - s.queries + query;
    const float slope = row_slope(p, head, row);
    Running running = {kNone, 0};
    constexpr int kStep = kWarps * kWarp;
    for (int first = start / kStep * kStep + warp() * kWarp; first < limit; first += kStep)
        take_keys(p, s, q, first, start, limit, place, slope, running, sums);
    if (lane() == 0) parts[warp()] = running;
    __syncthreads();

    float greatest = kNone, sum = 0, factor[kWarps];
    for (int i = 0; i < kWarps; ++i) greatest = fmaxf(greatest, parts[i].greatest);
    const float base = greatest == kNone ? 0.0f : greatest;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
        factor[i] = exp2f(parts[i].greatest - base);
        sum += parts[i].sum * factor[i];
    }
    const float inverse = sum == 0 ? 0.0f : 1 / sum;
    T *to = result_row(p, s, head, row);
    for (int e = int(threadIdx.x); e < p.value_depth; e += kWarps * kWarp) {
        float value = 0;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) value += q[p.depth + i * p.value_depth + e] * factor[i];
        to[e * p.out_stride.inner] = convert<T>(value * inverse);
    }
}

}  // namespace infini
