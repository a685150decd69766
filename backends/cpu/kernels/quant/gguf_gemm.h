// Many rows times GGUF weights. The weights of some columns are unpacked to bytes, into a panel
// that stays in the first cache while all rows of the input are multiplied with it.
#pragma once

#include <algorithm>

#include "gguf_group.h"
#include "gguf_rows.h"

#ifdef INFINI_GGUF_VECTORS
namespace infini::cpu {

// A vector holds four elements of each of its columns. Its codes are signed, or unsigned where the
// machine multiplies unsigned bytes with signed ones; the offset is then in the rows' `base`.
#if defined(__ARM_NEON)
inline constexpr int kGgufLanes = 4, kGgufVectors = 2;
inline constexpr int64_t kGgufPanelUnits = 64;
inline constexpr bool kGgufUnsigned = false;
#elif defined(__AVX512VNNI__)
inline constexpr int kGgufLanes = 16, kGgufVectors = 2;
inline constexpr int64_t kGgufPanelUnits = 24;
inline constexpr bool kGgufUnsigned = true;
#else
inline constexpr int kGgufLanes = 8, kGgufVectors = 1;
inline constexpr int64_t kGgufPanelUnits = 64;
inline constexpr bool kGgufUnsigned = true;
#endif
inline constexpr int kGgufColumns = kGgufLanes * kGgufVectors;  // of a panel
inline constexpr int kGgufTile = 4;                             // rows that are multiplied together

typedef float GgufTileFloats __attribute__((vector_size(kGgufLanes * 4)));
typedef int32_t GgufTileInts __attribute__((vector_size(kGgufLanes * 4)));
typedef uint8_t GgufTileBytes __attribute__((vector_size(kGgufLanes * 4)));

// What the tiles have to know of a format.
template <int format>
struct GgufTileKind {
    static constexpr bool kMinimum = Gguf<format>::kHasMinimum, kParts = Gguf<format>::kHasParts;
#if defined(__AVX512VNNI__)
    static constexpr int kOffset = format == kQ8_0 ? 128 : Gguf<format>::kOffset;
    static constexpr bool kSigned = false;
#elif defined(__AVX2__)
    // Products of two unsigned bytes of 8 bits would not fit 16 bits, so signs are multiplied out.
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

// Four elements of each row of a group become neighbours.
INFINI_SIMD void gguf_store_transposed(GgufPanelUnit &to, int column,
                                       const GgufCodes (&rows)[kGgufGroup]) {
#if defined(__ARM_NEON)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
        uint32x4_t v[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            v[r] = vreinterpretq_u32_u8(half == 0 ? rows[r].first : rows[r].second);
        }
        const uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(v[0], v[1]));
        const uint64x2_t b = vreinterpretq_u64_u32(vtrn2q_u32(v[0], v[1]));
        const uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(v[2], v[3]));
        const uint64x2_t d = vreinterpretq_u64_u32(vtrn2q_u32(v[2], v[3]));
        const uint64x2_t out[4] = {vtrn1q_u64(a, c), vtrn1q_u64(b, d), vtrn2q_u64(a, c),
                                   vtrn2q_u64(b, d)};
#pragma GCC unroll 4
        for (int g = 0; g < 4; ++g) std::memcpy(to.codes[4 * half + g][column], &out[g], 16);
    }
#else
    __m256i a[8], b[8];
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
        a[r] = _mm256_unpacklo_epi32(rows[r].all, rows[r + 1].all);      // 0 and 1, 4 and 5
        a[r + 1] = _mm256_unpackhi_epi32(rows[r].all, rows[r + 1].all);  // 2 and 3, 6 and 7
    }
#pragma GCC unroll 2
    for (int r = 0; r < 8; r += 4) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
            b[r + 2 * i] = _mm256_unpacklo_epi64(a[r + i], a[r + i + 2]);
            b[r + 2 * i + 1] = _mm256_unpackhi_epi64(a[r + i], a[r + i + 2]);
        }
    }
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
        const __m256i low = _mm256_permute2x128_si256(b[g], b[g + 4], 0x20);
        const __m256i high = _mm256_permute2x128_si256(b[g], b[g + 4], 0x31);
        std::memcpy(to.codes[g][column], &low, 32);
        std::memcpy(to.codes[g + 4][column], &high, 32);
    }
#endif
}

INFINI_SIMD GgufCodes gguf_subtract(GgufCodes codes, int offset) {
#if defined(__ARM_NEON)
    const uint8x16_t by = vdupq_n_u8(uint8_t(offset));
    return {vsubq_u8(codes.first, by), vsubq_u8(codes.second, by)};
#else
    return {_mm256_sub_epi8(codes.all, _mm256_set1_epi8(char(offset)))};
#endif
}

// Units [first, first + count) of `columns` rows of the weight, from row `row` on.
template <int format>
[[gnu::noinline]] void gguf_unpack(const uint8_t *weight, int64_t row_bytes, int64_t row,
                                   int64_t columns, int64_t first, int64_t count,
                                   GgufPanelUnit *panel) {
    using G = Gguf<format>;
    constexpr int kUnits = GgufGroup<format>::kUnits;
    for (int column = 0; column < kGgufColumns; column += kGgufGroup) {
        GgufGroup<format> w(weight + row * row_bytes, row_bytes, column, columns);
        for (int64_t block = first / kUnits; block < (first + count) / kUnits; ++block) {
            w.prepare(block);
#pragma GCC unroll 8
            for (int j = 0; j < kUnits; ++j) {
                GgufPanelUnit &to = panel[block * kUnits + j - first];
                GgufCodes codes[kGgufGroup];
#pragma GCC unroll 8
                for (int r = 0; r < kGgufGroup; ++r) {
                    codes[r] = gguf_load_codes<format, false>(w.row[r] + block * G::kBytes, j);
                    constexpr int kShift =
                        kGgufUnsigned ? GgufTileKind<format>::kOffset & 128 : G::kOffset;
                    if constexpr (kShift != 0) codes[r] = gguf_subtract(codes[r], kShift);
                }
                gguf_store_transposed(to, column, codes);
                store(to.scale + column, w.lanes[j].scale);
                if constexpr (G::kHasMinimum) store(to.minimum + column, w.lanes[j].minimum);
                if constexpr (G::kHasParts) {
                    store(to.part[0] + column, w.lanes[j].part[0]);
                    store(to.part[1] + column, w.lanes[j].part[1]);
                }
            }
        }
    }
}

// ---- Tiles --------------------------------------------------------------------------------------

// Four rows of the input at a unit.
struct GgufTileRows {
    const int8_t *codes;
    const float *scale, *sum;
    const int32_t *base, *early;
};

#if defined(__ARM_NEON)
INFINI_SIMD GgufTileFloats gguf_tile_fma(GgufTileFloats a, GgufTileFloats b, GgufTileFloats c) {
    return vfmaq_f32(c, a, b);
}
// Sums begin so. An assembler statement, or the compiler would copy one vector to the others, which
// takes the time of a product.
INFINI_SIMD GgufTileInts gguf_tile_begin() {
    static constexpr GgufTileInts kStart = {kGgufStart, kGgufStart, kGgufStart, kGgufStart};
    GgufTileInts sum;
    __asm__ volatile("ldr %q0, %1" : "=w"(sum) : "m"(kStart));
    return sum;
}
// sum + the products of w's codes with the four of row r.
template <int r, bool kSigned>
INFINI_SIMD GgufTileInts gguf_tile_dot(GgufTileInts sum, GgufTileBytes w, int8x16_t rows) {
    const int8x16_t codes = vreinterpretq_s8_u8(w);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_laneq_s32(sum, codes, rows, r);
#else
    const int8x16_t x = vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(rows), r));
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(codes), vget_low_s8(x)));
    const int32x4_t high = vpaddlq_s16(vmull_high_s8(codes, x));
    return vaddq_s32(sum, vpaddq_s32(low, high));
#endif
}
INFINI_SIMD int8x16_t gguf_tile_rows(const int8_t *codes) { return vld1q_s8(codes); }
#else
INFINI_SIMD GgufTileFloats gguf_tile_fma(GgufTileFloats a, GgufTileFloats b, GgufTileFloats c) {
#if defined(__AVX512VNNI__)
    return _mm512_fmadd_ps(a, b, c);
#else
    return _mm256_fmadd_ps(a, b, c);
#endif
}
INFINI_SIMD const int8_t *gguf_tile_rows(const int8_t *codes) { return codes; }
template <int r, bool kSigned>
INFINI_SIMD GgufTileInts gguf_tile_dot(GgufTileInts sum, GgufTileBytes w, const int8_t *rows) {
    int four;
    std::memcpy(&four, rows + 4 * r, sizeof four);
#if defined(__AVX512VNNI__)
    return as<GgufTileInts>(
        _mm512_dpbusd_epi32(as<__m512i>(sum), as<__m512i>(w), _mm512_set1_epi32(four)));
#else
    __m256i x = _mm256_set1_epi32(four), codes = as<__m256i>(w);
    if constexpr (kSigned) x = _mm256_sign_epi8(x, codes), codes = _mm256_abs_epi8(codes);
    const __m256i pairs = _mm256_maddubs_epi16(codes, x);
    return sum + as<GgufTileInts>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#endif

// The products of a tile over a part of a unit.
template <bool kSigned>
INFINI_SIMD void gguf_tile_sums(const GgufPanelUnit &w, const int8_t *rows, int from, int to,
                                GgufTileInts (&sums)[kGgufTile][kGgufVectors]) {
#pragma GCC unroll 8
    for (int g = from; g < to; ++g) {
        __asm__ volatile("" ::: "memory");  // loads stay near to what needs them: registers are few
        const auto x = gguf_tile_rows(rows + g * 4 * kGgufTile);
#pragma GCC unroll 2
        for (int v = 0; v < kGgufVectors; ++v) {
            const auto codes = load<GgufTileBytes>(w.codes[g][v * kGgufLanes]);
            sums[0][v] = gguf_tile_dot<0, kSigned>(sums[0][v], codes, x);
            sums[1][v] = gguf_tile_dot<1, kSigned>(sums[1][v], codes, x);
            sums[2][v] = gguf_tile_dot<2, kSigned>(sums[2][v], codes, x);
            sums[3][v] = gguf_tile_dot<3, kSigned>(sums[3][v], codes, x);
        }
    }
}

// y [4][columns] += rows @ panel; results are summed in the order of gguf_gemv.h.
template <class Kind>
[[gnu::noinline]] void gguf_multiply_tile(const GgufPanelUnit *panel, GgufTileRows x, int64_t units,
                                          float *y) {
    GgufTileFloats total[kGgufTile][kGgufVectors];
#pragma GCC unroll 4
    for (int r = 0; r < kGgufTile; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < kGgufVectors; ++v)
            total[r][v] = load<GgufTileFloats>(y + r * kGgufColumns + v * kGgufLanes);
    for (int64_t unit = 0; unit < units; ++unit, ++panel) {
        GgufTileInts sums[kGgufTile][kGgufVectors], late[kGgufTile][kGgufVectors];
#pragma GCC unroll 4
        for (int r = 0; r < kGgufTile; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < kGgufVectors; ++v) {
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
        for (int v = 0; v < kGgufVectors; ++v) {
            const auto scale = load<GgufTileFloats>(panel->scale + v * kGgufLanes);
            const auto minimum = load<GgufTileFloats>(panel->minimum + v * kGgufLanes);
            const auto first = load<GgufTileInts>(panel->part[0] + v * kGgufLanes);
            const auto second = load<GgufTileInts>(panel->part[1] + v * kGgufLanes);
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
        for (int v = 0; v < kGgufVectors; ++v)
            store(y + r * kGgufColumns + v * kGgufLanes, total[r][v]);
}

}  // namespace infini::cpu
#endif
