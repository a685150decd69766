// Flash attention for prefill with mma.sync, of 16-bit floats (flash_loop.cuh).
//
// FLOPs: 4 * depth for each row and visible key (half of the keys if causal). Bytes: keys and
// values once for each block of rows, mostly from L2, because neighbouring blocks read the same
// ones. With bf16 and sizes of 128, 128 rows (kM 2) and two stages of 64 keys use 102 KiB; 2 blocks
// of 4 warps fit on a multiprocessor of Hopper.
//
// Requires the definitions for flash_loop.cuh.
#include "tile.cuh"

namespace infini {

inline constexpr int kStep = 32;                                       // keys per step
inline constexpr int kBlocks = kM * (kDepth + kValue) <= 512 ? 2 : 1;  // per multiprocessor
// Whether warps skip keys that none of their rows sees: there are no registers for it here.
inline constexpr bool kSkipHidden = false;

// Processes kStep keys for the rows of a warp.
INFINI_DEVICE void attend(const AttentionParams &p, RowPair (&rows)[kM],
                          float (&results)[kM][kValue / 8][4], float scale, int first, bool masked,
                          uint32_t known, const T *queries, const T *keys, const T *values) {
    float scores[kM][kStep / 8][4] = {};
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
        uint32_t a[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m)
            load_matrices<4>(a[m], query_matrix(queries + 16 * m * kPitch, 16 * k));
#pragma unroll
        for (int n = 0; n < kStep / 16; ++n) {
            uint32_t b[4];
            load_matrices<4>(b, key_matrix(keys + 16 * n * kPitch, 16 * k));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(scores[m][2 * n], a[m], low);
                mma<T>(scores[m][2 * n + 1], a[m], high);
            }
        }
    }
    const uint32_t bits[1] = {known};
#pragma unroll
    for (int m = 0; m < kM; ++m) {
        float factor[2];
        if constexpr (kScaled) scale_scores<kStep / 8>(scores[m], rows[m], p, first);
        if (masked || known != 0xffffffffu)
            mask_scores<kStep / 8, !kPaged>(scores[m], rows[m], first, p.window, bits);
        take_scores<kStep / 8>(scores[m], rows[m], scale, factor);
        if (!__all_sync(kAllLanes, factor[0] == 1.0f && factor[1] == 1.0f))
            scale_results<kValue / 8>(results[m], factor);
    }
#pragma unroll
    for (int k = 0; k < kStep / 16; ++k) {
        uint32_t a[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m) pack_weights(a[m], scores[m][2 * k], scores[m][2 * k + 1]);
#pragma unroll
        for (int n = 0; n < kValue / 16; ++n) {
            uint32_t b[4];
            load_matrices<4, true>(b, value_matrix(values + 16 * k * kValuePitch, 16 * n));
            const uint32_t low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
#pragma unroll
            for (int m = 0; m < kM; ++m) {
                mma<T>(results[m][2 * n], a[m], low);
                mma<T>(results[m][2 * n + 1], a[m], high);
            }
        }
    }
}

// The column of results[m][n][0]; the next register has the next one.
INFINI_DEVICE int result_column(int n) { return 8 * n + 2 * (lane() % 4); }
inline constexpr int kColumnStep = 1;

}  // namespace infini

#include "flash_loop.cuh"

namespace infini {

INFINI_ENTRY(AttentionParams, kThreads, kBlocks) { attend_rows(p); }

}  // namespace infini
