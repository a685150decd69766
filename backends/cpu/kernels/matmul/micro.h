// The inner loops of packed matrix products, one for each kind.
//
// All of them process 32-bit words (64 bits for doubles): one float, two BF16, two I16 or four I8
// that are consecutive along k. The product of two words is the dot product of their elements. So
// packing, blocking and the loops over tiles are the same for all (packed.h), and a kind only
// defines the word, how a vector of words times one word is accumulated, and how many rows and
// columns of sums fit in the registers.
#pragma once

#include <utility>

#include "../simd.h"
#include "../types.h"

namespace infini::cpu {

// ---- Kinds --------------------------------------------------------------------------------------

// Common members of all kinds except AMX tiles (amx.h).
struct VectorKind {
    struct Scope {
        Scope() {}  // lives while a thread runs the kernel
    };
    static constexpr int kStepGrain = 1;
    static constexpr bool kTiled = false;
#if defined(__aarch64__)
    static constexpr int64_t kSteps = 512;  // packed at a time: 24 KiB of b for L1
#elif defined(__AVX512F__)
    static constexpr int64_t kSteps = 512;  // 24 KiB of a
#else
    static constexpr int64_t kSteps = 384;
#endif
};

// kRows x kColumns: the tile of sums. kGroup: elements in a word. Panels have a multiple of
// kStepGrain steps.
struct DotF32 : VectorKind {
    using Element = float;
    using Word = float;
    using Sum = float;
    static constexpr int kGroup = 1;
#if defined(__AVX512F__)
    static constexpr int kRows = 12, kColumns = 32;
#elif defined(__AVX2__)
    static constexpr int kRows = 6, kColumns = 16;
#elif defined(__aarch64__)
    static constexpr int kRows = 8, kColumns = 12;
#else
    static constexpr int kRows = 4, kColumns = 8;
#endif
    using Vector = F32;
    template <int lane, class A>
    INFINI_SIMD static F32 add(F32 sum, F32 b, A a) {
#if defined(__aarch64__)
        return vfmaq_laneq_f32(sum, b, a, lane);
#else
        return fma(b, a, sum);
#endif
    }
};

struct DotF64 : VectorKind {
    static constexpr int64_t kSteps = VectorKind::kSteps / 2;
    using Element = double;
    using Word = double;
    using Sum = double;
    static constexpr int kGroup = 1;
    static constexpr int kRows = DotF32::kRows, kColumns = DotF32::kColumns / 2;
    using Vector = F64;
    template <int lane, class A>
    INFINI_SIMD static F64 add(F64 sum, F64 b, A a) {
#if defined(__aarch64__)
        return vfmaq_laneq_f64(sum, b, a, lane);
#else
        return fma(b, a, sum);
#endif
    }
};

struct DotI8 : VectorKind {
    using Word = int32_t;
    using Sum = int32_t;
    static constexpr int kRows = DotF32::kRows, kColumns = DotF32::kColumns;
    using Vector = I32;
#if defined(__ARM_FEATURE_DOTPROD)
    using Element = int8_t;
#elif defined(__aarch64__)
    using Element = int32_t;
#else
    using Element = int16_t;  // pmaddwd; VNNI would need one unsigned operand
#endif
    static constexpr int kGroup = 4 / sizeof(Element);
    template <int lane, class A>
    INFINI_SIMD static I32 add(I32 sum, I32 b, A a) {
#if defined(__ARM_FEATURE_DOTPROD)
        return vdotq_laneq_s32(sum, int8x16_t(b), int8x16_t(a), lane);
#elif defined(__aarch64__)
        return vmlaq_laneq_s32(sum, b, a, lane);
#elif defined(__AVX512F__)
        return sum + I32(_mm512_madd_epi16(__m512i(b), __m512i(a)));
#elif defined(__AVX2__)
        return sum + I32(_mm256_madd_epi16(__m256i(b), __m256i(a)));
#else
        return sum + I32(_mm_madd_epi16(__m128i(b), __m128i(a)));
#endif
    }
};

#if defined(__ARM_FEATURE_BF16) && !defined(INFINI_NO_BF16_DOT)
#define INFINI_BF16_DOT 1
struct DotBF16 : VectorKind {
    using Element = uint16_t;
    using Word = int32_t;
    using Sum = float;
    static constexpr int kGroup = 2;
    static constexpr int kRows = DotF32::kRows, kColumns = DotF32::kColumns;
    using Vector = I32;
    template <int lane, class A>
    INFINI_SIMD static F32 add(F32 sum, I32 b, A a) {
        return vbfdotq_laneq_f32(sum, bfloat16x8_t(b), bfloat16x8_t(a), lane);
    }
};
#endif

// ---- The loop -----------------------------------------------------------------------------------

// value + beta * c with explicit rounding: whole tiles and edges of c get the same bits.
template <class V, class Sum>
INFINI_SIMD V add_scaled(V value, V c, Sum beta) {
    if constexpr (std::is_floating_point_v<Sum>)
        return fma(c, broadcast<V>(beta), value);
    else
        return value + c * beta;
}

// c[i * stride + j] = alpha * sums + beta * c for `rows` rows of a tile; beta == 0 does not read c.
// a: words [steps][D::kRows], b: words [steps][D::kColumns].
template <class D, int rows>
[[gnu::noinline]] void micro_rows(int64_t steps, const typename D::Word *a,
                                  const typename D::Word *b, typename D::Sum *c, int64_t stride,
                                  typename D::Sum alpha, typename D::Sum beta) {
    using Word = typename D::Word;
    using Sum = typename D::Sum;
    using Vector = typename D::Vector;
    using Sums = Vec<Sum>;
    constexpr int width = int(kWidth<Sum>), vectors = D::kColumns / width;
    Sums sums[rows][vectors] = {};
    for (int i = 0; i < rows; ++i) {  // prefetches c for the end of the loop
        __builtin_prefetch(c + i * stride, 1);
        __builtin_prefetch(c + i * stride + D::kColumns - 1, 1);
    }
    for (int64_t p = 0; p < steps; ++p) {
        Vector bv[vectors];
#pragma GCC unroll 8
        for (int j = 0; j < vectors; ++j) bv[j] = load<Vector>(b + j * width);
        [&]<int... i>(std::integer_sequence<int, i...>) {
#if defined(__aarch64__)
            constexpr int lanes = int(kWidth<Word>);
            Vector av[(rows + lanes - 1) / lanes];
#pragma GCC unroll 8
            for (int r = 0; r < (rows + lanes - 1) / lanes; ++r)
                av[r] = load<Vector>(a + r * lanes);
            auto row = [&]<int at>(std::integral_constant<int, at>) {
#pragma GCC unroll 8
                for (int j = 0; j < vectors; ++j)
                    sums[at][j] = D::template add<at % lanes>(sums[at][j], bv[j], av[at / lanes]);
            };
#else
            auto row = [&]<int at>(std::integral_constant<int, at>) {
                Vector av = Vector{} + a[at];
                if constexpr (std::is_floating_point_v<Word>) av = broadcast<Vector>(a[at]);
#pragma GCC unroll 8
                for (int j = 0; j < vectors; ++j)
                    sums[at][j] = D::template add<0>(sums[at][j], bv[j], av);
            };
#endif
            (row(std::integral_constant<int, i>{}), ...);
        }(std::make_integer_sequence<int, rows>{});
        a += D::kRows, b += D::kColumns;
    }
    // Hides that these are the addresses prefetched above: the compiler would keep all of them
    // during the loop, some in vector registers, and spill b.
    asm("" : "+r"(c), "+r"(stride));
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 8
        for (int j = 0; j < vectors; ++j) {
            Sum *at = c + i * stride + j * width;
            Sums value = sums[i][j] * alpha;
            if (beta != 0) value = add_scaled(value, load<Sums>(at), beta);
            store(at, value);
        }
    }
}

// The same for any number of rows up to D::kRows. If there is more than one, rows are computed and
// written up to the next multiple of 4.
template <class D>
inline void micro(int rows, int64_t steps, const typename D::Word *a, const typename D::Word *b,
                  typename D::Sum *c, int64_t stride, typename D::Sum alpha, typename D::Sum beta) {
    if constexpr (std::is_floating_point_v<typename D::Sum>)
        if (rows == 1) return micro_rows<D, 1>(steps, a, b, c, stride, alpha, beta);
    if constexpr (D::kRows > 4)
        if (rows <= 4) return micro_rows<D, 4>(steps, a, b, c, stride, alpha, beta);
    if constexpr (D::kRows > 8)
        if (rows <= 8) return micro_rows<D, 8>(steps, a, b, c, stride, alpha, beta);
    micro_rows<D, D::kRows>(steps, a, b, c, stride, alpha, beta);
}

}  // namespace infini::cpu
