// Many rows times GGUF weights. The weights of some columns are unpacked to bytes, into a panel
// that stays in L1 while all rows of the input are multiplied by it.
#pragma once

#include <algorithm>

#include "gguf_group.h"
#include "gguf_rows.h"

#ifdef INFINI_GGUF_VECTORS
namespace infini::cpu {

// A vector holds four elements of each of its columns. Its codes are signed, or unsigned where the
// machine multiplies unsigned by signed bytes; the offset is then part of the rows' `base`.
#if defined(__ARM_NEON)
inline constexpr int kGgufTileLanes = 4, kGgufTileVectors = 2;
inline constexpr int64_t kGgufPanelUnits = 64;
inline constexpr bool kGgufUnsigned = false;
#elif defined(__AVX512VNNI__)
inline constexpr int kGgufTileLanes = 16, kGgufTileVectors = 2;
inline constexpr int64_t kGgufPanelUnits = 24;
inline constexpr bool kGgufUnsigned = true;
#else
inline constexpr int kGgufTileLanes = 8, kGgufTileVectors = 1;
inline constexpr int64_t kGgufPanelUnits = 64;
inline constexpr bool kGgufUnsigned = true;
#endif
inline constexpr int kGgufColumns = kGgufTileLanes * kGgufTileVectors;  // columns of a panel
inline constexpr int kGgufTile = 4;  // rows that are multiplied together

typedef float GgufTileFloats __attribute__((vector_size(kGgufTileLanes * 4)));
typedef int32_t GgufTileInts __attribute__((vector_size(kGgufTileLanes * 4)));
typedef uint8_t GgufTileBytes __attribute__((vector_size(kGgufTileLanes * 4)));

// The properties of a format that tiles depend on.
template <int format>
struct GgufTileKind {
    static constexpr bool kMinimum = Gguf<format>::kHasMinimum, kParts = Gguf<format>::kHasParts;
#if defined(__AVX512VNNI__)
    static constexpr int kOffset = format == kQ8_0 ? 128 : Gguf<format>::kOffset;
    static constexpr bool kSigned = false;
#elif defined(__AVX2__)
    // Two products of unsigned 8-bit bytes overflow 16 bits, so signs are multiplied out.
    static constexpr int kOffset = Gguf<format>::kOffset;
    static constexpr bool kSigned = format == kQ8_0;
#else
    static constexpr int kOffset = 0;
    static constexpr bool kSigned = true;
#endif
};

struct alignas(64) GgufPanelUnit {
    uint8_t codes[8][kGgufColumns][4];
    float scale[kGgufColumns], minimum[kGgufColumns];
    int32_t part[2][kGgufColumns];
};

// ---- Panels -------------------------------------------------------------------------------------

// Unpacks units [first, first + count) of a panel's columns, the weight's rows from `row`.
template <int format>
[[gnu::noinline]] void gguf_unpack(const GgufMatrix<format> &weight, int64_t row, int64_t first,
                                   int64_t count, GgufPanelUnit *panel) {
    using G = Gguf<format>;
    constexpr int kShift = kGgufUnsigned ? GgufTileKind<format>::kOffset & 128 : G::kOffset;
    const int64_t blocks = count / G::kUnits;
    uint8_t copy[kGgufPanelUnits / G::kUnits * G::kBytes * kGgufRows];
    for (int column = 0; column < kGgufColumns; column += kGgufRows) {
        const bool is_there = row + column < weight.rows;  // otherwise the contents do not matter
        const int64_t source = is_there ? row + column : row;
        const uint8_t *from = weight.group(source, first / G::kUnits, blocks, copy);
        for (int64_t block = 0; block < blocks; ++block, from += G::kBytes * kGgufRows) {
            for (int v = 0; v < kGgufVectors; ++v) {
                const GgufBlocks<format> here(from, v);
                const int lane = column + v * kGgufLanes;
#pragma GCC unroll 8
                for (int j = 0; j < G::kUnits; ++j) {
                    GgufPanelUnit &to = panel[block * G::kUnits + j];
#pragma GCC unroll 8
                    for (int g = 0; g < 8; ++g) {
                        store(to.codes[g][lane], GgufBytes(here.codes(j, g) - uint8_t(kShift)));
                    }
                    const GgufFactorLanes f = here.factors(j);
                    store(to.scale + lane, f.scale);
                    if constexpr (G::kHasMinimum) store(to.minimum + lane, f.minimum);
                    if constexpr (G::kHasParts) {
                        store(to.part[0] + lane, f.part[0]);
                        store(to.part[1] + lane, f.part[1]);
                    }
                }
            }
        }
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

// The codes and factors of four rows of the input for one unit.
struct GgufTileRows {
    const int8_t *codes;
    const float *scale, *sum;
    const int32_t *base, *early;
};

#if defined(__ARM_NEON)
INFINI_SIMD GgufTileFloats gguf_tile_fma(GgufTileFloats a, GgufTileFloats b, GgufTileFloats c) {
    return vfmaq_f32(c, a, b);
}
// The initial value of sums. Uses an assembler statement because the compiler would copy one vector
// to the others, which takes as long as a product.
INFINI_SIMD GgufTileInts gguf_tile_begin() {
    static constexpr GgufTileInts kStart = {kGgufStart, kGgufStart, kGgufStart, kGgufStart};
    GgufTileInts sum;
    __asm__ volatile("ldr %q0, %1" : "=w"(sum) : "m"(kStart));
    return sum;
}
#else
INFINI_SIMD GgufTileFloats gguf_tile_fma(GgufTileFloats a, GgufTileFloats b, GgufTileFloats c) {
#if defined(__AVX512VNNI__)
    return _mm512_fmadd_ps(a, b, c);
#else
    return _mm256_fmadd_ps(a, b, c);
#endif
}
#endif

#if defined(__AVX512VNNI__)
template <int word, bool kSigned>
INFINI_SIMD GgufTileInts gguf_dot(GgufTileInts sum, GgufTileBytes w, const int8_t *x) {
    const __m512i four = _mm512_set1_epi32(gguf_four(x + 4 * word));
    return as<GgufTileInts>(_mm512_dpbusd_epi32(as<__m512i>(sum), as<__m512i>(w), four));
}
#endif

// The products of a tile over some elements of a unit.
template <bool kSigned>
INFINI_SIMD void gguf_tile_sums(const GgufPanelUnit &w, const int8_t *rows, int from, int to,
                                GgufTileInts (&sums)[kGgufTile][kGgufTileVectors]) {
#pragma GCC unroll 8
    for (int g = from; g < to; ++g) {
        __asm__ volatile("" ::: "memory");  // keeps loads near their uses: registers are few
        const int8_t *x = rows + g * 4 * kGgufTile;
#pragma GCC unroll 2
        for (int v = 0; v < kGgufTileVectors; ++v) {
            const auto codes = load<GgufTileBytes>(w.codes[g][v * kGgufTileLanes]);
            sums[0][v] = gguf_dot<0, kSigned>(sums[0][v], codes, x);
            sums[1][v] = gguf_dot<1, kSigned>(sums[1][v], codes, x);
            sums[2][v] = gguf_dot<2, kSigned>(sums[2][v], codes, x);
            sums[3][v] = gguf_dot<3, kSigned>(sums[3][v], codes, x);
        }
    }
}

// y [4][columns] += rows @ panel; results are summed in the same order as in gguf_gemv.h.
template <class Kind>
[[gnu::noinline]] void gguf_multiply_tile(const GgufPanelUnit *panel, GgufTileRows x, int64_t units,
                                          float *y) {
    GgufTileFloats total[kGgufTile][kGgufTileVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kGgufTile; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < kGgufTileVectors; ++v)
            total[r][v] = load<GgufTileFloats>(y + r * kGgufColumns + v * kGgufTileLanes);
    for (int64_t unit = 0; unit < units; ++unit, ++panel) {
        GgufTileInts sums[kGgufTile][kGgufTileVectors], late[kGgufTile][kGgufTileVectors];
#pragma GCC unroll 4
        for (int r = 0; r < kGgufTile; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < kGgufTileVectors; ++v) {
#if defined(__ARM_NEON)
                sums[r][v] = Kind::kParts ? GgufTileInts{} : gguf_tile_begin();
#else
                sums[r][v] = GgufTileInts{};
#endif
                late[r][v] = GgufTileInts{};
                if constexpr (Kind::kOffset != 0 && Kind::kParts) {
                    sums[r][v] += x.early[r], late[r][v] += x.base[r] - x.early[r];
                } else if constexpr (Kind::kOffset != 0) {
                    sums[r][v] += x.base[r];
                }
            }
        gguf_tile_sums<Kind::kSigned>(*panel, x.codes, 0, Kind::kParts ? 4 : 8, sums);
        if constexpr (Kind::kParts) gguf_tile_sums<Kind::kSigned>(*panel, x.codes, 4, 8, late);
#pragma GCC unroll 2
        for (int v = 0; v < kGgufTileVectors; ++v) {
            const auto scale = load<GgufTileFloats>(panel->scale + v * kGgufTileLanes);
            const auto minimum = load<GgufTileFloats>(panel->minimum + v * kGgufTileLanes);
            const auto first = load<GgufTileInts>(panel->part[0] + v * kGgufTileLanes);
            const auto second = load<GgufTileInts>(panel->part[1] + v * kGgufTileLanes);
#pragma GCC unroll 4
            for (int r = 0; r < kGgufTile; ++r) {
                GgufTileInts sum = sums[r][v];
                if constexpr (Kind::kParts) sum = sum * first + late[r][v] * second;
                auto number = __builtin_convertvector(sum, GgufTileFloats);
#if defined(__ARM_NEON)
                if constexpr (!Kind::kParts) number = gguf_number(sum);
#endif
                total[r][v] = gguf_tile_fma(number, scale * x.scale[r], total[r][v]);
                if constexpr (Kind::kMinimum)
                    total[r][v] =
                        gguf_tile_fma(minimum, broadcast<GgufTileFloats>(x.sum[r]), total[r][v]);
            }
        }
        x.codes += 32 * kGgufTile, x.scale += kGgufTile, x.sum += kGgufTile;
        x.base += kGgufTile, x.early += kGgufTile;
    }
#pragma GCC unroll 4
    for (int r = 0; r < kGgufTile; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < kGgufTileVectors; ++v)
            store(y + r * kGgufColumns + v * kGgufTileLanes, total[r][v]);
}

}  // namespace infini::cpu
#endif
