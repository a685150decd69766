// Few rows times GGUF weights: the packed blocks are read once, and multiplied as they are.
#pragma once

#include "gguf_group.h"
#include "gguf_rows.h"

#ifdef INFINI_GGUF_VECTORS
namespace infini::cpu {

// The products of the codes of a unit, summed to the lanes of a vector. With `kSigned` the weights'
// codes are signed as the input's are.
#if defined(__ARM_NEON)
INFINI_SIMD GgufInts gguf_dot(GgufInts sum, uint8x16_t w, int8x16_t x) {
    const int8x16_t codes = vreinterpretq_s8_u8(w);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(sum, codes, x);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(codes), vget_low_s8(x));
    const int16x8_t high = vmull_high_s8(codes, x);
    return vpadalq_s16(vpadalq_s16(sum, low), high);
#endif
}
// A sum that begins with the number at `base`. An assembler statement, or the compiler would copy
// one vector to the others, which takes the time of a product.
INFINI_SIMD GgufInts gguf_begin(const int32_t *base) {
    GgufInts sum;
    __asm__ volatile("ldr %s0, %1" : "=w"(sum) : "m"(*base));
    return sum;
}
// The sum of the lanes of each, in a lane each.
INFINI_SIMD GgufInts gguf_add_across(const GgufInts (&p)[4]) {
    return vpaddq_s32(vpaddq_s32(p[0], p[1]), vpaddq_s32(p[2], p[3]));
}
#else
template <bool kSigned>
INFINI_SIMD GgufInts gguf_dot(__m256i w, __m256i x) {
    if constexpr (kSigned) {
        x = _mm256_sign_epi8(x, w);
        w = _mm256_abs_epi8(w);
    }
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    return as<GgufInts>(_mm256_dpbusd_epi32(_mm256_setzero_si256(), w, x));
#else
    return as<GgufInts>(_mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1)));
#endif
}
INFINI_SIMD GgufInts gguf_add_across(const GgufInts (&p)[8]) {
    const auto add = [](GgufInts a, GgufInts b) {
        return as<GgufInts>(_mm256_hadd_epi32(as<__m256i>(a), as<__m256i>(b)));
    };
    const GgufInts low = add(add(p[0], p[1]), add(p[2], p[3]));
    const GgufInts high = add(add(p[4], p[5]), add(p[6], p[7]));
    const __m256i a = _mm256_permute2x128_si256(as<__m256i>(low), as<__m256i>(high), 0x20);
    const __m256i b = _mm256_permute2x128_si256(as<__m256i>(low), as<__m256i>(high), 0x31);
    return as<GgufInts>(_mm256_add_epi32(a, b));
}
#endif

// y[i][lane] for kM rows of x from `first` on. A result is summed over the units from the first to
// the last, each exact in I32, as in gguf_gemm.h: so it does not depend on kM.
template <int format, int kM>
[[gnu::noinline]] void gguf_multiply(GgufGroup<format> w, const GgufRows<1> &x, int64_t first,
                                     GgufFloats *y) {
    using G = Gguf<format>;
    constexpr int kUnits = GgufGroup<format>::kUnits;
    constexpr int kHalves = G::kHasParts ? 2 : 1;
    GgufFloats sums[kM] = {};
    const int64_t blocks = x.units / kUnits;
    // Rows of a group end soon: what comes behind them is fetched by hand. The bytes are fetched in
    // their order and used row beside row, so the last row is needed before its turn.
    constexpr int64_t kStep = kGgufGroup * G::kBytes, kAhead = 3072;
    const uint8_t *ahead = w.row[0] + kAhead + (kGgufGroup - 1) * blocks * G::kBytes;
    for (int64_t block = 0; block < blocks; ++block, ahead += kStep) {
        w.prepare(block);
#pragma GCC unroll 16
        for (int64_t at = 0; at < kStep; at += 64) __builtin_prefetch(ahead + at);
#pragma GCC unroll 8
        for (int j = 0; j < kUnits; ++j) {
            const int64_t at = first * x.units + block * kUnits + j;
            GgufInts part[kM][kHalves][kGgufGroup];
#pragma GCC unroll 8
            for (int r = 0; r < kGgufGroup; ++r) {
                const GgufCodes codes =
                    gguf_load_codes<format, true>(w.row[r] + block * G::kBytes, j);
#pragma GCC unroll 4
                for (int i = 0; i < kM; ++i) {
                    const int8_t *from = x.codes + (at + i * x.units) * 32;
#if defined(__ARM_NEON)
                    const int8x16_t early = vld1q_s8(from), late = vld1q_s8(from + 16);
                    if constexpr (kHalves == 2) {
                        part[i][0][r] = gguf_dot(GgufInts{}, codes.first, early);
                        part[i][1][r] = gguf_dot(GgufInts{}, codes.second, late);
                    } else {
                        const GgufInts sum = gguf_begin(x.base + at + i * x.units);
                        part[i][0][r] =
                            gguf_dot(gguf_dot(sum, codes.first, early), codes.second, late);
                    }
#else
                    const __m256i from_x =
                        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
                    constexpr bool kSigned = format == kQ8_0 || format == kQ6_K;
                    const GgufInts dot = gguf_dot<kSigned>(codes.all, from_x);
                    if constexpr (kHalves == 2) {
                        const __m256i all = as<__m256i>(dot), zero = _mm256_setzero_si256();
                        part[i][0][r] = as<GgufInts>(_mm256_blend_epi32(all, zero, 0xf0));
                        part[i][1][r] = as<GgufInts>(_mm256_blend_epi32(all, zero, 0x0f));
                    } else {
                        part[i][0][r] = dot;
                    }
#endif
                }
            }
            const GgufLanes &f = w.lanes[j];
#pragma GCC unroll 4
            for (int i = 0; i < kM; ++i) {
                const int64_t here = at + i * x.units;
                GgufInts sum = gguf_add_across(part[i][0]);
                GgufFloats total;
                if constexpr (kHalves == 2) {
                    sum = sum * f.part[0] + gguf_add_across(part[i][1]) * f.part[1];
                    total = __builtin_convertvector(sum, GgufFloats);
                } else {
#if defined(__ARM_NEON)
                    total = gguf_number(sum);
#else
                    if constexpr (G::kOffset != 0) sum += x.base[here];
                    total = __builtin_convertvector(sum, GgufFloats);
#endif
                }
                sums[i] = gguf_fma(total, f.scale * x.scale[here], sums[i]);
                if constexpr (G::kHasMinimum)
                    sums[i] = gguf_fma(f.minimum, broadcast<GgufFloats>(x.sum[here]), sums[i]);
            }
        }
    }
    for (int i = 0; i < kM; ++i) y[i] = sums[i];
}

}  // namespace infini::cpu
#endif
