// Few I8 rows times an I8 matrix whose columns are contiguous: dot products, exact in I32.
#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "gemv.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kMostColumns = 512;

// A vector of bytes, prepared for multiplication.
#if defined(__ARM_NEON)
constexpr int64_t kBytes = 16;
using Bytes = int8x16_t;
INFINI_SIMD Bytes load_bytes(const int8_t *p) { return vld1q_s8(p); }
INFINI_SIMD I32 add_dot(I32 sum, Bytes a, Bytes b) {
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(sum, a, b);
#else
    // The sum of two products of -128 and -128 overflows 16 bits, so products are summed in 32.
    sum = vpadalq_s16(sum, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    return vpadalq_s16(sum, vmull_high_s8(a, b));
#endif
}
#elif defined(__AVX512F__)
constexpr int64_t kBytes = 32;
using Bytes = __m512i;
INFINI_SIMD Bytes load_bytes(const int8_t *p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
}
INFINI_SIMD I32 add_dot(I32 sum, Bytes a, Bytes b) { return sum + I32(_mm512_madd_epi16(a, b)); }
#elif defined(__AVX2__)
constexpr int64_t kBytes = 16;
using Bytes = __m256i;
INFINI_SIMD Bytes load_bytes(const int8_t *p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
}
INFINI_SIMD I32 add_dot(I32 sum, Bytes a, Bytes b) { return sum + I32(_mm256_madd_epi16(a, b)); }
#else
constexpr int64_t kBytes = 8;
using Bytes = __m128i;
INFINI_SIMD Bytes load_bytes(const int8_t *p) {
    __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
    return _mm_srai_epi16(_mm_unpacklo_epi8(x, x), 8);
}
INFINI_SIMD I32 add_dot(I32 sum, Bytes a, Bytes b) { return sum + I32(_mm_madd_epi16(a, b)); }
#endif

template <int m, int count>
INFINI_SIMD void dot(const int8_t *x, int64_t x_stride, int64_t k, const int8_t *w, int64_t stride,
                     int32_t *y, int64_t y_stride) {
    constexpr int unroll = m * count >= 8 ? 1 : 8 / (m * count);
    I32 sums[m][count][unroll] = {};
    int64_t p = 0;
    for (; p + unroll * kBytes <= k; p += unroll * kBytes) {
#pragma GCC unroll 8
        for (int u = 0; u < unroll; ++u) {
            Bytes wv[count];
#pragma GCC unroll 8
            for (int j = 0; j < count; ++j) wv[j] = load_bytes(w + j * stride + p + u * kBytes);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) {
                Bytes xv = load_bytes(x + i * x_stride + p + u * kBytes);
#pragma GCC unroll 8
                for (int j = 0; j < count; ++j) sums[i][j][u] = add_dot(sums[i][j][u], xv, wv[j]);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
        for (int j = 0; j < count; ++j) {
            I32 sum = sums[i][j][0];
#pragma GCC unroll 8
            for (int u = 1; u < unroll; ++u) sum = sum + sums[i][j][u];
            int32_t total = reduce_add(sum);
            for (int64_t q = p; q < k; ++q) total += x[i * x_stride + q] * w[j * stride + q];
            y[i * y_stride + j] = total;
        }
}

template <int m>
[[gnu::noinline]] void dot_columns(const int8_t *x, int64_t x_stride, int64_t k, const int8_t *w,
                                   int64_t stride, int64_t n, int32_t *y) {
    constexpr int count = side_by_side(m);
    int64_t j = 0;
    for (; j + count <= n; j += count)
        dot<m, count>(x, x_stride, k, w + j * stride, stride, y + j, n);
    for (; j < n; ++j) dot<m, 1>(x, x_stride, k, w + j * stride, stride, y + j, n);
}

}  // namespace

bool gemv_i8_takes(const Matmul &p) {
    return p.m <= kFewRows && p.a.dtype == INFINI_DTYPE_I8 && p.b.dtype == INFINI_DTYPE_I8 &&
           !p.weights && p.a.col_stride == 1 && p.b.row_stride == 1;
}

void gemv_i8(const Matmul &p) {
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    int64_t columns =
        std::max(divide_up(p.n, threads * 4), divide_up(128 << 10, std::max<int64_t>(p.k, 1)));
    columns = std::min(round_up(columns, 16), kMostColumns);
    maybe_parallel(p.threads, divide_up(p.n, columns), 1, [&](size_t begin, size_t end) {
        int32_t y[kFewRows * kMostColumns];
        for (int64_t piece = int64_t(begin); piece < int64_t(end); ++piece) {
            const int64_t column = piece * columns, n = std::min(columns, p.n - column);
            with_rows(p.m, [&]<int m>(std::integral_constant<int, m>) {
                dot_columns<m>(static_cast<const int8_t *>(p.a.data), p.a.row_stride, p.k,
                               static_cast<const int8_t *>(p.b.data) + column * p.b.col_stride,
                               p.b.col_stride, n, y);
            });
            finish_tile(p, y, n, 0, column, p.m, n);
        }
    });
}

}  // namespace infini::cpu
