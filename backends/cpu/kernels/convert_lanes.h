// Conversions of vectors for which x86 has an instruction that GCC 12 does not choose: it widens
// vectors half by half, and narrows some of them element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu::detail {

#if defined(__AVX2__)
// The bytes 0, 4, 8 and 12 of both halves, in the lowest 8 bytes.
inline int64_t lowest_bytes(__m256i x) {
    const __m256i each = _mm256_setr_epi32(0x0c080400, -1, -1, -1, 0x0c080400, -1, -1, -1);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(x, each), order);
    return _mm_cvtsi128_si64(_mm256_castsi256_si128(bytes));
}
#endif

// Converts vectors of A to vectors To of B.
template <class A, class B, class To, class V>
[[gnu::always_inline]] inline To convert_lanes(V x) {
    [[maybe_unused]] constexpr auto from = []<class P, class Q>() {
        return std::is_same_v<A, P> && std::is_same_v<B, Q>;
    };
    // Takes the vector as an argument of an intrinsic, and gives back its result.
    [[maybe_unused]] const auto with = []<class Argument>(V v, auto f) {
        return __builtin_bit_cast(To, f(__builtin_bit_cast(Argument, v)));
    };
#define INFINI_CONVERT(P, Q, Argument, intrinsic)   \
    if constexpr (from.template operator()<P, Q>()) \
        return with.template operator()<Argument>(x, [](Argument v) { return intrinsic(v); });
#if defined(__AVX512F__)
    if constexpr (sizeof(To) == 64) {
        INFINI_CONVERT(uint16_t, uint32_t, __m256i, _mm512_cvtepu16_epi32)
        INFINI_CONVERT(int16_t, int32_t, __m256i, _mm512_cvtepi16_epi32)
        INFINI_CONVERT(int8_t, int16_t, __m256i, _mm512_cvtepi8_epi16)
        INFINI_CONVERT(int32_t, int64_t, __m256i, _mm512_cvtepi32_epi64)
        INFINI_CONVERT(int32_t, double, __m256i, _mm512_cvtepi32_pd)
        INFINI_CONVERT(float, double, __m256, _mm512_cvtps_pd)
    }
    if constexpr (sizeof(V) == 64) {
        INFINI_CONVERT(uint32_t, uint16_t, __m512i, _mm512_cvtepi32_epi16)
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(To) == 32) {
        INFINI_CONVERT(uint16_t, uint32_t, __m128i, _mm256_cvtepu16_epi32)
        INFINI_CONVERT(int16_t, int32_t, __m128i, _mm256_cvtepi16_epi32)
        INFINI_CONVERT(int8_t, int16_t, __m128i, _mm256_cvtepi8_epi16)
        INFINI_CONVERT(int32_t, int64_t, __m128i, _mm256_cvtepi32_epi64)
        INFINI_CONVERT(int32_t, double, __m128i, _mm256_cvtepi32_pd)
        INFINI_CONVERT(float, double, __m128, _mm256_cvtps_pd)
    }
    if constexpr (sizeof(V) == 32) {
        INFINI_CONVERT(uint32_t, uint8_t, __m256i, lowest_bytes)
        INFINI_CONVERT(int32_t, int8_t, __m256i, lowest_bytes)
    }
#endif
#undef INFINI_CONVERT
    return __builtin_convertvector(x, To);
}

}  // namespace infini::cpu::detail
