// Flash attention with mma.sync in F32, on TF32 tensor cores (flash_loop.cuh): also for few rows,
// with split-KV.
//
// A TF32 number has 11 of the 24 significant bits of an F32 number, so each operand is the sum of
// two, and three of the four products of these are added (3xTF32): only that of the two small ones,
// below 2^-22 of the result, is left out. Sums over the depth, or over the keys of a tile, are
// formed by the tensor cores, which truncate; those over tiles are rounded to nearest.
//
// FLOPs: 12 * depth for each row and visible key. Every warp splits the keys and values that it
// reads: per 32 rows (kM 2) and key 3 instructions for an element and 6 / 8 of an mma, which
// overlap. With sizes of 64, 128 rows and two stages of 32 keys use 68 KiB; with 128, 64 rows use
// 99 KiB. In both cases 2 blocks of 4 warps fit on a multiprocessor of Hopper.
//
// Requires the definitions for flash_loop.cuh, and kPlain: only one product, of operands rounded to
// TF32.
#include "tile.cuh"

namespace infini {

inline constexpr int kStep = kKeys;
inline constexpr int kBlocks = 2;
inline constexpr bool kSkipHidden = true;
// Neighbouring columns that a thread reads together; more need more registers.
inline constexpr int kColumns = kM * kValue <= 128 ? 4 : 2;
static_assert(kValue % (8 * kColumns) == 0);

// Numbers, each the sum of two TF32 numbers.
template <int n>
struct Split {
    uint32_t big[n], small[n];

    Split() = default;
    INFINI_DEVICE explicit Split(const float (&x)[n]) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            if constexpr (kPlain) {
                big[i] = round_to_tf32(x[i]), small[i] = 0;
            } else {
                // Rounded to nearest, so that the tensor core's truncation of the small number
                // removes one bit at most. NaN remains in the small number.
                big[i] = (bit_cast<uint32_t>(x[i]) + 0x1000u) & 0xffffe000u;
                small[i] = bit_cast<uint32_t>(x[i] - bit_cast<float>(big[i]));
            }
        }
    }
};

// sum += a @ b; `rest` takes the products with a small number, and may be the same.
INFINI_DEVICE void multiply(float (&sum)[4], float (&rest)[4], const Split<4> &a,
                            const Split<2> &b) {
    if constexpr (!kPlain) {
        mma_tf32(rest, a.small, b.big);
        mma_tf32(rest, a.big, b.small);
    }
    mma_tf32(sum, a.big, b.big);
}

template <int n>
INFINI_DEVICE void load_floats(float (&to)[n], const T *row) {
    uint32_t bits[n];
    load_matrices<n>(bits, row);
#pragma unroll
    for (int i = 0; i < n; ++i) to[i] = bit_cast<float>(bits[i]);
}

// Processes kStep keys for the rows of a warp.
INFINI_DEVICE void attend(const AttentionParams &p, RowPair (&rows)[kM],
                          float (&results)[kM][kValue / 8][4], float scale, int first, bool masked,
                          uint32_t known, const T *queries, const T *keys, const T *values) {
    float scores[kM][kStep / 8][4] = {}, rest[kM][kStep / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kDepth / 8; ++k) {
        float x[4];
        Split<4> a[kM];
#pragma unroll
        for (int m = 0; m < kM; ++m) {
            load_floats(x, query_matrix(queries + 16 * m * kPitch, 8 * k));
            a[m] = Split<4>(x);
        }
#pragma unroll
        for (int n = 0; n < kStep / 16; ++n) {
            load_floats(x, key_matrix(keys + 16 * n * kPitch, 8 * k));
            const Split<2> low({x[0], x[1]}), high({x[2], x[3]});
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                multiply(scores[m][2 * n], rest[m][2 * n], a[m], low);
                multiply(scores[m][2 * n + 1], rest[m][2 * n + 1], a[m], high);
            }
        }
    }
    const uint32_t bits[1] = {known};
    float factor[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        if constexpr (!kPlain)
#pragma unroll
            for (int n = 0; n < kStep / 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) scores[m][n][i] += rest[m][n][i];
        if constexpr (kScaled) scale_scores<kStep / 8>(scores[m], rows[m], p, first);
        if (masked || known != 0xffffffffu)
            mask_scores<kStep / 8, !kPaged>(scores[m], rows[m], first, p.window, bits);
        take_scores<kStep / 8>(scores[m], rows[m], scale, factor[m]);
    }
    // Any order of the keys is correct if both operands have it: the probabilities of keys 2t and
    // 2t + 1, which a thread has, are its elements t and t + 4. The same is true of the columns: a
    // thread reads neighbours, which belong to different products.
    const T *from = values + 2 * (lane() % 4) * kValuePitch + kColumns * (lane() / 4);
#pragma unroll
    for (int c = 0; c < kValue / (8 * kColumns); ++c) {
        float sums[kM][kColumns][4] = {};
#pragma unroll
        for (int n = 0; n < kStep / 8; ++n) {
            const T *row = from + 8 * n * kValuePitch + 8 * kColumns * c;
            const Vec<T, kColumns> even = load<kColumns>(row),
                                   odd = load<kColumns>(row + kValuePitch);
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                const float (&w)[4] = scores[m][n];
                const Split<4> a({w[0], w[2], w[1], w[3]});
#pragma unroll
                for (int j = 0; j < kColumns; ++j)
                    multiply(sums[m][j], sums[m][j], a, Split<2>({even[j], odd[j]}));
            }
        }
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
            for (int j = 0; j < kColumns; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    results[m][kColumns * c + j][i] =
                        results[m][kColumns * c + j][i] * factor[m][i / 2] + sums[m][j][i];
    }
}

// The column of results[m][n][0], and the distance to that of the next register.
INFINI_DEVICE int result_column(int n) {
    return kColumns * (n / kColumns * 8 + 2 * (lane() % 4)) + n % kColumns;
}
inline constexpr int kColumnStep = kColumns;

}  // namespace infini

#include "flash_loop.cuh"

namespace infini {

INFINI_ENTRY(AttentionParams, kThreads, kBlocks) { attend_rows(p); }

}  // namespace infini
