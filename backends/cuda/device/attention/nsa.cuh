// nsa_paged_attention (native sparse attention): for one query head of a sequence, the gated sum of
// attention to the means of all blocks of tokens, to the tokens of the blocks whose means score
// highest, and to a sliding window of the last tokens. There is one thread block for each head; its
// warps take turns to process 32 keys, one per lane.
//
// Requires types T, Gate, Table.
#include "sparse_params.h"

namespace infini {

inline constexpr int kWarps = 4;
inline constexpr int kThreads = kWarps * kWarp;
inline constexpr int kDepth = 128, kPer = kDepth / kWarp, kMostSelected = 32;
inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);

struct Scored {
    float score;
    int32_t block;
};
// Higher scores come first; of equal scores, the earlier one.
struct Better {
    INFINI_DEVICE Scored operator()(Scored a, Scored b) const {
        return a.score > b.score || (a.score == b.score && a.block < b.block) ? a : b;
    }
};

// Attention of one row, computed by all warps.
struct Part {
    float sums[kPer], greatest, total;

    INFINI_DEVICE void begin() {
#pragma unroll
        for (int i = 0; i < kPer; ++i) sums[i] = 0;
        greatest = kNone, total = 0;
    }
    // Each lane has one key: its score, or -inf, and its values.
    INFINI_DEVICE void take(float score, const T *values) {
        const float now = fmaxf(greatest, fold_warp(score, fold::Max()));
        const float base = now == kNone ? 0.0f : now;
        const float weight = exp2f(score - base), factor = exp2f(greatest - base);
        greatest = now;
        total = total * factor + fold_warp(weight, fold::Sum());
#pragma unroll
        for (int i = 0; i < kPer; ++i) sums[i] *= factor;
        for (int key = 0; key < kWarp; ++key) {
            const float w = shuffle(weight, key);
            const T *v =
                reinterpret_cast<const T *>(shuffle(reinterpret_cast<uint64_t>(values), key));
            if (w == 0) continue;
#pragma unroll
            for (int i = 0; i < kPer; ++i) sums[i] += w * convert<float>(v[i * kWarp + lane()]);
        }
    }
    // Adds the warps' partial results, times the gate, to `result`. Without keys nothing is added.
    INFINI_DEVICE void end(float gate, float &result) {
        INFINI_SHARED float values[kWarps][kDepth];
        INFINI_SHARED float greatests[kWarps], totals[kWarps];
        __syncthreads();  // the previous partial results have been read
#pragma unroll
        for (int i = 0; i < kPer; ++i) values[warp()][i * kWarp + lane()] = sums[i];
        if (lane() == 0) greatests[warp()] = greatest, totals[warp()] = total;
        __syncthreads();
        float most = kNone, sum = 0, value = 0;
        for (int i = 0; i < kWarps; ++i) most = fmaxf(most, greatests[i]);
        const float base = most == kNone ? 0.0f : most;
        for (int i = 0; i < kWarps; ++i) {
            const float factor = exp2f(greatests[i] - base);
            sum += totals[i] * factor;
            if (threadIdx.x < kDepth) value += values[i][threadIdx.x] * factor;
        }
        if (sum != 0) result += gate / sum * value;
    }
};

// Not inlined, because it is long and used three times.
static INFINI_APART float dot(const float *q, const T *k, bool vector) {
    float sum = 0;
    if (vector) {
        constexpr int n = kWide<T>;
#pragma unroll 4
        for (int d = 0; d < kDepth; d += n) {
            float some[n];
            widen(load<n>(k + d), some);
#pragma unroll
            for (int i = 0; i < n; ++i) sum += q[d + i] * some[i];
        }
        return sum;
    }
#pragma unroll 4
    for (int d = 0; d < kDepth; ++d) sum += q[d] * convert<float>(k[d]);
    return sum;
}

static_assert(kThreads >= kDepth);

INFINI_ENTRY(NsaParams, kThreads, 1) {
    INFINI_SHARED float q[kDepth];
    INFINI_SHARED int32_t chosen[kMostSelected];
    const int query_heads = p.heads * p.group;
    const int64_t s = blockIdx.x / query_heads;
    const int query_head = int(blockIdx.x % query_heads), head = query_head / p.group;
    const T *from = static_cast<const T *>(p.q) + s * p.q_stride[0] + query_head * p.q_stride[1];
    for (int d = int(threadIdx.x); d < kDepth; d += kThreads)
        q[d] = convert<float>(from[d]) * p.scale;
    __syncthreads();
    const Table *table = static_cast<const Table *>(p.tables) + s * p.table_stride[0];
    const Table given = static_cast<const Table *>(p.lengths)[s * p.length_stride];
    int length = 0;
    if (given > Table(0))
        length = uint64_t(given) > uint64_t(p.most_keys) ? p.most_keys : int(given);
    const int means = length > 0 ? int(p.block.divide(uint32_t(length - 1))) + 1 : 0;
    const T *k = static_cast<const T *>(p.k) + head * p.k_stride[1];
    const T *v = static_cast<const T *>(p.v) + head * p.v_stride[1];
    const T *k_mean = static_cast<const T *>(p.k_mean) + head * p.k_mean_stride[1];
    const T *v_mean = static_cast<const T *>(p.v_mean) + head * p.v_mean_stride[1];
    float *scores = p.scores + int64_t(blockIdx.x) * p.most_means;
    auto gate = [&](int part) {
        return convert<float>(
            static_cast<const Gate *>(p.gates)[s * p.gate_stride[0] + part * p.gate_stride[1] +
                                               query_head * p.gate_stride[2]]);
    };
    float result = 0;
    Part part;

    part.begin();
    for (int first = warp() * kWarp; first < means; first += kThreads) {
        const int t = first + lane();
        float score = kNone;
        const T *values = v_mean;
        if (t < means) {
            const Quotient at = p.per_page.split(uint32_t(t));
            const int64_t page = int64_t(table[at.quotient * p.table_stride[1]]);
            if (page >= 0 && page < p.pages) {
                const int64_t row = page * p.per_page.divisor + at.remainder;
                score = dot(q, k_mean + row * p.k_mean_stride[0], p.vector);
                values = v_mean + row * p.v_mean_stride[0];
            }
            scores[t] = score;
        }
        part.take(score, values);
    }
    part.end(gate(0), result);  // includes barriers, so that all threads see the scores

    // Finds the blocks with the greatest scores one by one: each is the best of those after the
    // previous one in the order.
    int count = 0;
    Scored last = {__builtin_bit_cast(float, 0x7f800000u), -1};
    for (; count < p.selected; ++count) {
        Scored best = {kNone, means};
        for (int t = int(threadIdx.x); t < means; t += kThreads) {
            const Scored one = {scores[t], t};
            const bool behind =
                one.score < last.score || (one.score == last.score && t > last.block);
            if (behind && one.score != kNone) best = Better()(best, one);
        }
        best = fold_block<kThreads>(best, Better());
        if (best.block >= means) break;
        last = best;
        if (threadIdx.x == 0) chosen[count] = best.block;
    }
    __syncthreads();

    // Processes `n` tokens, the i-th being token_at(i).
    auto tokens = [&](int n, auto token_at) {
        part.begin();
        for (int first = warp() * kWarp; first < n; first += kThreads) {
            const int i = first + lane();
            float score = kNone;
            const T *values = v;
            const int t = i < n ? token_at(i) : length;
            if (t < length) {
                const Quotient at = p.page_size.split(uint32_t(t));
                const int64_t page = int64_t(table[at.quotient * p.table_stride[1]]);
                if (page >= 0 && page < p.pages) {
                    score =
                        dot(q, k + page * p.k_stride[0] + at.remainder * p.k_stride[2], p.vector);
                    values = v + page * p.v_stride[0] + at.remainder * p.v_stride[2];
                }
            }
            part.take(score, values);
        }
    };
    const int block = int(p.block.divisor);
    tokens(count * block, [&](int i) {
        const Quotient at = p.block.split(uint32_t(i));
        return chosen[at.quotient] * block + int(at.remainder);
    });
    part.end(gate(1), result);
    const int near = p.window < length ? p.window : length;
    tokens(near, [&](int i) { return length - near + i; });
    part.end(gate(2), result);
    if (threadIdx.x < kDepth)
        static_cast<T *>(p.out)[s * p.out_stride[0] + query_head * p.out_stride[1] + threadIdx.x] =
            convert<T>(result);
}

}  // namespace infini
