// Rows of a matrix that is contiguous along n, each multiplied by a scalar of x: used by products
// of few rows with weights [k, n].
#pragma once

#include <algorithm>
#include <utility>

#include "gemv.h"
#include "pack.h"

namespace infini::cpu {

// Scalars of x, multiplied by vectors: by lane where there are such instructions, else from memory.
template <int m, int count>
struct Numbers {
#if defined(__aarch64__)
    F32 lanes[m][count / 4];
    INFINI_SIMD Numbers(const float *x, int64_t stride) {
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
            for (int q = 0; q < count / 4; ++q) lanes[i][q] = load<F32>(x + i * stride + 4 * q);
    }
    // Hides the lanes' values from the compiler, which would otherwise broadcast each of them
    // before the loop and run out of registers.
    INFINI_SIMD void forget() {
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
            for (int q = 0; q < count / 4; ++q) asm("" : "+w"(lanes[i][q]));
    }
    template <int q>
    INFINI_SIMD F32 add(F32 sum, F32 w, int i) const {
        return vfmaq_laneq_f32(sum, w, lanes[i][q / 4], q % 4);
    }
#else
    const float *x;
    int64_t stride;
    INFINI_SIMD Numbers(const float *x, int64_t stride) : x(x), stride(stride) {}
    INFINI_SIMD void forget() {}
    template <int q>
    INFINI_SIMD F32 add(F32 sum, F32 w, int i) const {
        return fma(broadcast<F32>(x[i * stride + q]), w, sum);
    }
#endif
};

// y[i, j] += sum over p of x[i, p] * b[p, j]; x and y are strided.
template <class T, int m>
[[gnu::noinline]] void add_rows(const float *x, int64_t x_stride, int64_t k, const T *b,
                                int64_t stride, int64_t n, float *y, int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<float>);
    constexpr int at_once = 4;
    // How many vectors to process together: a whole cache line of a row is used before the next row
    // is read, which may evict it from L1; sums of all rows must fit in the registers.
    constexpr int line = int(std::max<int64_t>(64 / sizeof(T), width));
    constexpr int side = std::min(line / int(width), side_by_side(m));
    int64_t p = 0;
    for (; p + at_once <= k; p += at_once) {
        const T *rows = b + p * stride;
        // The rows to prefetch: the hardware prefetcher does not follow the gap between rows.
        const T *ahead = p + 2 * at_once <= k ? rows + at_once * stride : rows;
        Numbers<m, at_once> numbers(x + p, x_stride);
        auto vectors = [&]<int count>(std::integral_constant<int, count>, int64_t j) {
            F32 sums[m][count];
            numbers.forget();
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v)
                    sums[i][v] = load<F32>(y + i * y_stride + j + v * width);
            auto row = [&]<int q>(std::integral_constant<int, q>) {
                F32 w[count];
                const T *from = rows + q * stride + j;
                if constexpr (count == 1) {
                    w[0] = widen_f32(from);
                } else {
#pragma GCC unroll 8
                    for (int v = 0; v < count; v += 2) widen_two(from + v * width, w[v], w[v + 1]);
                }
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v)
#pragma GCC unroll 8
                    for (int i = 0; i < m; ++i)
                        sums[i][v] = numbers.template add<q>(sums[i][v], w[v], i);
            };
            [&]<int... q>(std::integer_sequence<int, q...>) {
                (row(std::integral_constant<int, q>{}), ...);
            }(std::make_integer_sequence<int, at_once>{});
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v) store(y + i * y_stride + j + v * width, sums[i][v]);
        };
        int64_t j = 0;
        for (; j + line <= n; j += line) {
#pragma GCC unroll 8
            for (int q = 0; q < at_once; ++q) __builtin_prefetch(ahead + q * stride + j, 0, 2);
#pragma GCC unroll 8
            for (int64_t v = 0; v < line; v += side * width)
                vectors(std::integral_constant<int, side>{}, j + v);
        }
        for (; j + width <= n; j += width) vectors(std::integral_constant<int, 1>{}, j);
        for (; j < n; ++j)
            for (int i = 0; i < m; ++i)
                for (int q = 0; q < at_once; ++q)
                    y[i * y_stride + j] +=
                        x[i * x_stride + p + q] * load_element<float>(rows[q * stride + j]);
    }
    for (; p < k; ++p)
        for (int i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
                y[i * y_stride + j] += x[i * x_stride + p] * load_element<float>(b[p * stride + j]);
}

}  // namespace infini::cpu
