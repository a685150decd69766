// Few rows times GGUF weights: the packed blocks are read once and multiplied without unpacking.
#pragma once

#include <utility>

#include "gguf_group.h"
#include "gguf_rows.h"

#ifdef INFINI_GGUF_VECTORS
namespace infini::cpu {

// How the codes of a format are multiplied.
template <int format>
struct GgufFewKind {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    static constexpr bool kSigned = false;
    static constexpr int kShift = format == kQ8_0 ? 128 : 0;  // makes signed codes unsigned
#else
    static constexpr bool kSigned = format == kQ8_0;
    static constexpr int kShift = 0;
#endif
    static constexpr int kOffset = Gguf<format>::kOffset + kShift;
    static constexpr int32_t kStart = Gguf<format>::kHasParts ? 0 : kGgufStart;
};

// y[i][v] += the products of `blocks` blocks of a group of rows, starting at `unit`, with kM rows
// of x. A result is summed over the units from first to last, each exact in I32, as in gguf_gemm.h,
// so it does not depend on kM.
template <int format, int kM>
[[gnu::noinline]] void gguf_multiply(const uint8_t *w, int64_t blocks, const GgufRows<1> &x,
                                     int64_t unit, GgufFloats (*y)[kGgufVectors]) {
    using G = Gguf<format>;
    using Kind = GgufFewKind<format>;
    constexpr int kHalves = G::kHasParts ? 2 : 1;  // each has its own sum
    constexpr int64_t kStep = kGgufRows * G::kBytes, kAhead = 3072;
    GgufFloats sums[kM][kGgufVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < kGgufVectors; ++v) sums[i][v] = y[i][v];
    for (int64_t block = 0; block < blocks; ++block, w += kStep, unit += G::kUnits) {
#pragma GCC unroll 32
        for (int64_t at = 0; at < kStep; at += 64) __builtin_prefetch(w + kAhead + at);
#pragma GCC unroll 2
        for (int v = 0; v < kGgufVectors; ++v) {
            const GgufBlocks<format> here(w, v);
#pragma GCC unroll 8
            for (int j = 0; j < G::kUnits; ++j) {
                const GgufFactorLanes f = here.factors(j);
                GgufBytes codes[8];
#pragma GCC unroll 8
                for (int g = 0; g < 8; ++g) codes[g] = here.codes(j, g) ^ uint8_t(Kind::kShift);
#pragma GCC unroll 4
                for (int i = 0; i < kM; ++i) {
                    const int64_t at = i * x.units + unit + j;
                    const int8_t *from = x.codes + at * 32;
                    GgufInts part[kHalves];
                    part[0] = GgufInts{} + (kHalves == 1 ? x.base[at] : x.early[at]);
                    if constexpr (kHalves == 2) part[1] = GgufInts{} + (x.base[at] - x.early[at]);
                    [&]<int... g>(std::integer_sequence<int, g...>) {
                        ((part[g * kHalves / 8] =
                              gguf_dot<g, Kind::kSigned>(part[g * kHalves / 8], codes[g], from)),
                         ...);
                    }(std::make_integer_sequence<int, 8>());
                    GgufFloats total;
                    if constexpr (kHalves == 2) {
                        const GgufInts sum = part[0] * f.part[0] + part[1] * f.part[1];
                        total = __builtin_convertvector(sum, GgufFloats);
                    } else {
                        total = gguf_number(part[0]);
                    }
                    sums[i][v] = gguf_fma(total, f.scale * x.scale[at], sums[i][v]);
                    if constexpr (G::kHasMinimum) {
                        const auto sum = broadcast<GgufFloats>(x.sum[at]);
                        sums[i][v] = gguf_fma(f.minimum, sum, sums[i][v]);
                    }
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kM; ++i)
#pragma GCC unroll 2
        for (int v = 0; v < kGgufVectors; ++v) y[i][v] = sums[i][v];
}

}  // namespace infini::cpu
#endif
