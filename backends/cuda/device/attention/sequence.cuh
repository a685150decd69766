// The queries of a sequence, its number of keys, and their addresses: consecutive rows, or pages of
// a cache given by a page table.
//
// Requires types T, Table, Length; constants kPaged, kRagged, kCausal, kSloped, kWindow (a sliding
// window: planners set it with kCausal only), kCapped (a soft cap).
#pragma once

#include "attention_params.h"

namespace infini {

inline constexpr float kNone = __builtin_bit_cast(float, 0xff800000u);  // score of masked keys
inline constexpr float kLog2E = 1.44269504088896341f;
// Scores are scaled before the softmax instead of in its exponent.
inline constexpr bool kScaled = kSloped || kCapped;

struct Sequence {
    const T *q;
    T *out;
    const T *k, *v;  // for one key head
    const Table *table;
    int queries, keys;
};

template <class I>
INFINI_DEVICE int limited(I value, int most) {
    if constexpr (kIsSigned<I>)
        if (value < I(0)) return 0;
    return uint64_t(value) > uint64_t(most) ? most : int(value);
}

// Sequence `index`, or segment `index` of ragged queries.
INFINI_DEVICE Sequence find_sequence(const AttentionParams &p, int index, int head) {
    Sequence s;
    int64_t token = 0, batch = index;
    int number = index;
    s.queries = p.queries;
    if constexpr (kRagged) {
        token = p.segments[index];
        s.queries = int(p.segments[index + 1] - token);
        batch = 0;
        number = index - 1;
    }
    s.q = static_cast<const T *>(p.q) + batch * p.q_stride.batch + token * p.q_stride.token;
    s.out = static_cast<T *>(p.out) + batch * p.out_stride.batch + token * p.out_stride.token;
    s.k = static_cast<const T *>(p.k) + head * p.k_stride.head;
    s.v = static_cast<const T *>(p.v) + head * p.v_stride.head;
    s.table = nullptr;
    s.keys = p.keys;
    if (number < 0 || number >= p.sequences) {
        s.keys = 0;  // tokens that belong to no sequence
        return s;
    }
    // Invalid lengths are clamped.
    if (p.lengths)
        s.keys = limited(static_cast<const Length *>(p.lengths)[number * p.length_stride], p.keys);
    if constexpr (kPaged) {
        s.table = static_cast<const Table *>(p.table) + number * p.table_batch;
    } else {
        s.k += number * p.k_stride.batch;
        s.v += number * p.v_stride.batch;
    }
    return s;
}

// The offset of a key's row in s.k and s.v.
struct KeyPlace {
    int64_t k, v;
    bool known;
};
INFINI_DEVICE KeyPlace find_key(const AttentionParams &p, const Sequence &s, int t) {
    if constexpr (!kPaged) {
        return {t * p.k_stride.token, t * p.v_stride.token, true};
    } else {
        const Quotient at = p.page_size.split(uint32_t(t));
        const int64_t page = int64_t(s.table[at.quotient * p.table_stride]);
        if (page < 0 || page >= p.pages) return {0, 0, false};
        return {page * p.k_stride.batch + at.remainder * p.k_stride.token,
                page * p.v_stride.batch + at.remainder * p.v_stride.token, true};
    }
}

// The end of the keys that a query sees.
INFINI_DEVICE int key_limit(const Sequence &s, int query) {
    if constexpr (!kCausal) return s.keys;
    const int limit = s.keys - s.queries + query + 1;
    return limit < 0 ? 0 : limit;
}

// The first key that a query sees.
INFINI_DEVICE int key_begin(const AttentionParams &p, const Sequence &s, int query) {
    if constexpr (!kWindow) return 0;
    const int begin = s.keys - s.queries + query + 1 - p.window;
    return begin < 0 ? 0 : begin;
}

// The soft cap of a scaled score: cap * tanh(score / cap), where tanh(x) = 1 - 2 / (e^2x + 1).
INFINI_DEVICE float cap_score(const AttentionParams &p, float score) {
    const float e = ptx::exp2_approx(score * p.cap_inverse * (2 * kLog2E));
    return p.cap - 2 * p.cap * ptx::reciprocal_approx(e + 1.0f);
}

INFINI_DEVICE const T *query_row(const AttentionParams &p, const Sequence &s, int head, int row) {
    const Quotient at = p.group.split(uint32_t(row));
    return s.q + at.quotient * p.q_stride.token +
           (int64_t(head) * p.group.divisor + at.remainder) * p.q_stride.head;
}
INFINI_DEVICE T *result_row(const AttentionParams &p, const Sequence &s, int head, int row) {
    const Quotient at = p.group.split(uint32_t(row));
    return s.out + at.quotient * p.out_stride.token +
           (int64_t(head) * p.group.divisor + at.remainder) * p.out_stride.head;
}
INFINI_DEVICE float row_slope(const AttentionParams &p, int head, int row) {
    if constexpr (!kSloped) return 0;
    const int64_t at = int64_t(head) * p.group.divisor + p.group.split(uint32_t(row)).remainder;
    return p.slopes[at * p.slope_stride] * kLog2E;
}

// For ragged queries: counter of work items taken, for kernels whose blocks take the next one
// dynamically.
INFINI_DEVICE int32_t *taken_items(const AttentionParams &p) {
    return const_cast<int32_t *>(p.segments) + 2 * (p.sequences + 3);
}

// The first segment that ends after `place`. The last of the `count` ends must be greater than
// `place`.
INFINI_DEVICE int find_segment(const int32_t *ends, int count, int place) {
    int low = 0, high = count - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (ends[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

}  // namespace infini
