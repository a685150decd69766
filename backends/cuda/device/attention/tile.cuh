// Building blocks of attention on the tensor cores: rows in shared memory, scores, the online
// softmax, results.
//
// Rows in shared memory are padded by 16 bytes, so that the eight rows of an ldmatrix are in
// different banks for every size that is a multiple of 16.
//
// Requires the definitions for sequence.cuh; kDepth, kValue: sizes of keys and of values, rounded
// up to multiples of 16. Elements after the true size are 0.
#pragma once

#include "mma.cuh"
#include "sequence.cuh"

namespace infini {

inline constexpr int kPiece = kWide<T>;  // elements in 16 bytes
inline constexpr int kPitch = kDepth + kPiece, kValuePitch = kValue + kPiece;

// Copies 16 bytes of a row to shared memory, element by element; stores zeros if there is no row.
INFINI_DEVICE void load_elements(T *to, const T *row, int column, int size, int64_t inner,
                                 bool valid) {
#pragma unroll 1
    for (int i = 0; i < kPiece; ++i)
        to[i] = valid && column + i < size ? row[(column + i) * inner] : T{0};
}

// Copies `count` consecutive rows to shared memory, 16 bytes at a time, by `threads` threads; rows
// from `count` to `rows` are set to 0. target(row, piece) is the destination. Addresses are
// incremented, because computing them would take longer than the copies.
template <int columns, int rows, int threads, class Target>
INFINI_DEVICE void copy_run(int thread, const T *from, int64_t step, int count, int size,
                            const Target &target) {
    constexpr int kPieces = columns / kPiece, kStep = threads / kPieces;
    static_assert(threads % kPieces == 0 && rows % kStep == 0);
    // Unsigned, and compared with constants: otherwise the compiler keeps values for every i.
    const unsigned row = unsigned(thread) / kPieces, piece = unsigned(thread) % kPieces;
    const T *at = from + row * step + piece * kPiece;
    const int left = piece * kPiece < unsigned(size) ? count - int(row) : 0;
    step *= kStep;
#pragma unroll
    for (int i = 0; i < rows / kStep; ++i, at += step)
        copy_async(target(row + i * kStep, piece), at, i * kStep < left ? 16 : 0);
}
template <int columns, int rows, int threads>
inline constexpr bool kCanStep =
    threads % (columns / kPiece) == 0 && rows % (threads / (columns / kPiece)) == 0;

// The same for rows at any address: find(row) returns a row, or null if there is none.
template <int columns, int rows, int threads, class Find, class Target>
INFINI_DEVICE void copy_each(int thread, int size, int64_t inner, bool vector, const Find &find,
                             const Target &target) {
    constexpr int kPieces = columns / kPiece;
#pragma unroll 1
    for (int i = thread; i < rows * kPieces; i += threads) {
        const int row = i / kPieces, column = i % kPieces * kPiece;
        const T *from = find(row);
        if (vector)
            copy_async(target(row, i % kPieces), from + column, from && column < size ? 16 : 0);
        else
            load_elements(target(row, i % kPieces), from, column, size, inner, from != nullptr);
    }
}

// Copies rows of queries from `first` on to shared memory, by `threads` threads.
template <int rows, int threads>
INFINI_DEVICE void load_queries(const AttentionParams &p, const Sequence &s, int head, int first,
                                T *to) {
    const int count = s.queries * int(p.group.divisor);
    copy_each<kDepth, rows, threads>(
        int(threadIdx.x), p.depth, p.q_stride.inner, p.vector,
        [&](int row) { return first + row < count ? query_row(p, s, head, first + row) : nullptr; },
        [&](int row, int piece) { return to + row * kPitch + piece * kPiece; });
}

// Scores of 16 rows and 8 * tiles keys: thread (g, t) has keys 8 n + 2 t, + 1 of rows g and g + 8.
template <int tiles>
using Scores = float[tiles][4];

// A thread's state for its two rows of 16.
struct RowPair {
    float greatest[2] = {kNone, kNone}, sum[2] = {0, 0};
    float slope[2] = {0, 0};
    int limit[2] = {0, 0};  // keys before this are seen
    int place[2] = {0, 0};  // position of the query itself among the keys

    INFINI_DEVICE void find(const AttentionParams &p, const Sequence &s, int head, int first) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int row = first + lane() / 4 + 8 * i;
            if (row >= s.queries * int(p.group.divisor)) continue;
            const int query = int(p.group.divide(uint32_t(row)));
            limit[i] = key_limit(s, query);
            place[i] = s.keys - s.queries + query;
            slope[i] = row_slope(p, head, row);
        }
    }
};

// Scores are compared unscaled and multiplied by the scale in the exponent, which takes one
// instruction. This is correct for scales above 0, which planners ensure, without slopes or a cap.
INFINI_DEVICE float folded_scale(const AttentionParams &p) { return kScaled ? 1.0f : p.scale; }

// Sets the scores of hidden keys to -inf. `first` is the position of the first key; keys whose bit
// in `known` is 0 are hidden. A window begins that many keys before a row's limit.
template <int tiles, bool all_known>
INFINI_DEVICE void mask_scores(Scores<tiles> &scores, const RowPair &rows, int first, int window,
                               const uint32_t (&known)[(8 * tiles + 31) / 32]) {
    // The positions differ by compile-time constants, which saves registers.
    const int skip = 2 * (lane() % 4),
              left[2] = {rows.limit[0] - first - skip, rows.limit[1] - first - skip};
#pragma unroll
    for (int n = 0; n < tiles; ++n) {
        const uint32_t bits = all_known ? 0 : known[8 * n / 32] >> skip;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = 8 * n + i % 2, end = left[i / 2];
            const bool seen = key < end && (!kWindow || key >= end - window) &&
                              (all_known || (bits >> key % 32 & 1));
            if (!seen) scores[n][i] = kNone;
        }
    }
}
// With slopes or a cap.
template <int tiles>
INFINI_DEVICE void scale_scores(Scores<tiles> &scores, const RowPair &rows,
                                const AttentionParams &p, int first) {
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = first + 8 * n + 2 * (lane() % 4) + i % 2;
            scores[n][i] *= p.scale;
            if constexpr (kCapped) scores[n][i] = cap_score(p, scores[n][i]);
            if constexpr (kSloped)
                scores[n][i] += rows.slope[i / 2] * float(key - rows.place[i / 2]);
        }
}

// Online softmax: turns scores into probabilities; returns the factors that rescale earlier
// results.
template <int tiles>
INFINI_DEVICE void take_scores(Scores<tiles> &scores, RowPair &rows, float scale,
                               float (&factor)[2]) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        float greatest = rows.greatest[row];
#pragma unroll
        for (int n = 0; n < tiles; ++n)
            greatest = fmaxf(greatest, fmaxf(scores[n][2 * row], scores[n][2 * row + 1]));
        greatest = fmaxf(greatest, shuffle_xor(greatest, 1));
        greatest = fmaxf(greatest, shuffle_xor(greatest, 2));
        const float base = greatest == kNone ? 0.0f : greatest * scale;
        // Rounded as `base` is, not fused into an FMA: the factor is exactly 1 if the maximum stays,
        // so that a row's bits do not depend on tiles that it does not see.
        factor[row] = ptx::exp2_approx(__fmul_rn(rows.greatest[row], scale) - base);
        rows.greatest[row] = greatest;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < tiles; ++n) {
            scores[n][2 * row] = ptx::exp2_approx(scores[n][2 * row] * scale - base);
            scores[n][2 * row + 1] = ptx::exp2_approx(scores[n][2 * row + 1] * scale - base);
            sum += scores[n][2 * row] + scores[n][2 * row + 1];
        }
        rows.sum[row] = rows.sum[row] * factor[row] + sum;  // for this thread's keys only
    }
}

// Adds up the sums of all threads of a row, and scales the running maxima.
INFINI_DEVICE void finish_rows(RowPair &rows, float scale) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        rows.greatest[row] *= scale;
        rows.sum[row] += shuffle_xor(rows.sum[row], 1);
        rows.sum[row] += shuffle_xor(rows.sum[row], 2);
    }
}

template <int tiles>
INFINI_DEVICE void scale_results(Scores<tiles> &results, const float (&factor)[2]) {
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) results[n][i] *= factor[i / 2];
}

// The probabilities of 16 keys (two tiles of 8) as an operand of 16-bit floats.
template <class E = T>
INFINI_DEVICE void pack_weights(uint32_t (&a)[4], const float (&low)[4], const float (&high)[4]) {
    a[0] = pack_pair<E>(low[0], low[1]), a[1] = pack_pair<E>(low[2], low[3]);
    a[2] = pack_pair<E>(high[0], high[1]), a[3] = pack_pair<E>(high[2], high[3]);
}

// The address of this lane's row for load_matrices<4> of 16 keys and 32 bytes: of keys, whose rows
// are columns of the operand, of queries, and (transposed) of values.
INFINI_DEVICE const T *key_matrix(const T *tile, int column) {
    return tile + (lane() / 16 * 8 + lane() % 8) * kPitch + column + lane() / 8 % 2 * kPiece;
}
INFINI_DEVICE const T *query_matrix(const T *tile, int column) {
    return tile + (lane() / 8 % 2 * 8 + lane() % 8) * kPitch + column + lane() / 16 * kPiece;
}
INFINI_DEVICE const T *value_matrix(const T *tile, int column) {
    return tile + (lane() / 8 % 2 * 8 + lane() % 8) * kValuePitch + column + lane() / 16 * 8;
}

}  // namespace infini
