// Few rows times Marlin's weights, for decoding: the codes are multiplied as bytes, with byte dot
// product instructions. Each row is converted to 16-bit integers in two planes of bytes, with one
// scale per group of the weights: this is more precise than the rows' 16-bit floats, except for
// elements that are 2^16 times smaller than the largest of their group.
#pragma once

#include <cmath>

#include "../threads.h"
#include "marlin_weights.h"

namespace infini::cpu {

#if defined(__ARM_FEATURE_DOTPROD) || (defined(__AVX512VNNI__) && defined(__AVX512VL__))
inline constexpr bool kByteDots = true;
#else
inline constexpr bool kByteDots = false;
#endif

// Converts a constant number of 16-bit floats to and from F32.
template <int kCount>
INFINI_SIMD void load_halves(float *to, const void *from, int dtype) {
    for (int i = 0; i < kCount; i += int(kWidth<float>)) {
        store(to + i, dtype == INFINI_DTYPE_BF16 ? load_f32(static_cast<const bf16 *>(from) + i)
                                                 : load_f32(static_cast<const f16 *>(from) + i));
    }
}
template <int kCount>
INFINI_SIMD void store_halves(void *to, const float *from, int dtype) {
    for (int i = 0; i < kCount; i += int(kWidth<float>)) {
        F32 v = load<F32>(from + i);
        if (dtype == INFINI_DTYPE_BF16) {
            store_f32(static_cast<bf16 *>(to) + i, v);
        } else {
            store_f32(static_cast<f16 *>(to) + i, v);
        }
    }
}

// Up to this many rows, bytes are faster than unpacking; the limit is higher for short vectors.
inline constexpr int64_t kByteRows = kVectorBytes == 16 ? 32 : kFewRows;

// Rows as bytes: high[row][k] * 256 + low[row][k], where the elements of each band of 16 along k
// are in the order of the codes in a word.
struct ByteRows {
    int64_t rows, k, groups;
    int8_t *high, *low;
    float *scale, *sum;  // [rows][groups]; sums of the rounded values

    static size_t bytes(int64_t rows, int64_t k, int64_t groups) {
        return size_t(rows * (2 * k + 8 * groups));
    }
    ByteRows(char *memory, int64_t row_count, int64_t row_size, int64_t group_count)
        : rows(row_count), k(row_size), groups(group_count) {
        scale = reinterpret_cast<float *>(memory);
        sum = scale + rows * groups;
        high = reinterpret_cast<int8_t *>(sum + rows * groups);
        low = high + rows * k;
    }

    // False if there is an infinity or a NaN, which bytes cannot represent.
    bool load(const Matrix &a) const {
        for (int64_t i = 0; i < rows; ++i) {
            const char *row = static_cast<const char *>(a.data) + i * a.row_stride * 2;
            for (int64_t g = 0; g < groups; ++g) {
                if (!load_group(row, a.dtype, i, g)) return false;
            }
        }
        return true;
    }

private:
    bool load_group(const char *row, int dtype, int64_t i, int64_t g) const {
        const int64_t size = k / groups;
        alignas(64) float x[16];
        float most = 0;
        for (int64_t p = g * size; p < (g + 1) * size; p += 16) {
            load_halves<16>(x, row + 2 * p, dtype);
            for (float v : x) {
                // The comparison keeps NaN.
                float magnitude = std::fabs(v);
                most = magnitude <= most ? most : magnitude;
            }
        }
        if (!(most <= 3.4e38f)) return false;
        // A power of two, so that most values are exact; most / unit is less than 2^14.
        const float unit = most > 1e-30f ? std::ldexp(1.0f, std::ilogb(most) - 13) : 1.0f;
        const float inverse = 1.0f / unit;
        int64_t total = 0;
        for (int64_t p = g * size; p < (g + 1) * size; p += 16) {
            load_halves<16>(x, row + 2 * p, dtype);
            int8_t *to_high = high + i * k + p, *to_low = low + i * k + p;
            for (int r = 0; r < 16; ++r) {
                int32_t value = int32_t(std::rint(x[r] * inverse)), upper = (value + 128) >> 8;
                int at = r % 8 / 2 * 4 + r % 2 * 2 + r / 8;
                to_high[at] = int8_t(upper), to_low[at] = int8_t(value - upper * 256);
                total += value;
            }
        }
        scale[i * groups + g] = unit;
        sum[i * groups + g] = float(total) * unit;
        return true;
    }
};

// Codes of a run for columns c, c + 8, c + 16, ... with c = 0 .. 7: for each c there are two
// vectors (e) whose lanes are columns. With 4 bits lane l is column 16 l + 8 e + c, with 8 bits 32
// e + 8 l + c.
template <int kBits>
class MarlinDot {
public:
    explicit MarlinDot(const MarlinData &data) : d(data) {}

    // Whether this class supports the weights.
    static bool takes(const MarlinData &d) {
        return kByteDots && !d.layout.a_8bit && !d.row_group && d.group_size() % 16 == 0;
    }

    // y [rows, 64] for the columns starting at 64 * run.
    void multiply(const ByteRows &x, int64_t row, int64_t rows, int64_t run, float *y) const {
        switch (rows) {
            case 1:
                return multiply<1, 4>(x, row, run, y);
            case 2:
                return multiply<2, 2>(x, row, run, y);
            case 3:
                return multiply<3, 1>(x, row, run, y);
            default:
                return multiply<4, 1>(x, row, run, y);
        }
    }

private:
    using F4 = detail::Few<float, 4>;
    using I4 = detail::Few<int32_t, 4>;
    using W4 = detail::W4;
    static constexpr int kWords = 4 * kBits;  // per c, in a band
#if defined(__ARM_NEON)
    static constexpr float kShift = kBits == 8 ? 128 : 0;  // NEON's bytes are signed
#else
    static constexpr float kShift = 0;
#endif

    struct Factors {
        F4 scale[8][2], zero[8][2];
    };

    using Bytes = detail::Few<int8_t, 16>;

    // sum + the products of four bytes each with the q-th four of x; codes are unsigned, except for
    // the shift.
    template <int q>
    INFINI_SIMD static I4 dot(I4 sum, W4 codes, Bytes x) {
#if defined(__ARM_FEATURE_DOTPROD)
        return vdotq_laneq_s32(sum, vreinterpretq_s8_u32(codes), x, q);
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
        __m128i four = _mm_shuffle_epi32(as<__m128i>(x), q * 0x55);
        return as<I4>(_mm_dpbusd_epi32(as<__m128i>(sum), as<__m128i>(codes), four));
#else
        (void)codes, (void)x;
        return sum;
#endif
    }

    INFINI_SIMD static void codes(const uint32_t *from, W4 &first, W4 &second) {
        W4 w;
        std::memcpy(&w, from, sizeof w);
        if constexpr (kBits == 8) {
            first = w;
            std::memcpy(&second, from + 4, sizeof second);
#if defined(__ARM_NEON)
            first ^= 0x80808080u, second ^= 0x80808080u;
#endif
        } else {
#if defined(__ARM_NEON)
            uint8x16_t bytes = vreinterpretq_u8_u32(w), mask = vdupq_n_u8(15);
            uint8x16_t even = vandq_u8(bytes, mask), odd = vshrq_n_u8(bytes, 4);
            first = W4(vreinterpretq_u32_u8(vtrn1q_u8(even, odd)));
            second = W4(vreinterpretq_u32_u8(vtrn2q_u8(even, odd)));
#else
            first = (w & 0x000f000fu) | ((w & 0x00f000f0u) << 4);
            second = ((w >> 8) & 0x000f000fu) | ((w >> 4) & 0x0f000f00u);
#endif
        }
    }

    // The sums over kC values of c, for kM rows.
    template <int kM, int kC>
    struct Sums {
        I4 high[kM][kC][2] = {}, low[kM][kC][2] = {};

        template <int q>
        INFINI_SIMD void add(const uint32_t *words, const Bytes *x_high, const Bytes *x_low) {
#pragma GCC unroll 4
            for (int c = 0; c < kC; ++c) {
                W4 first, second;
                codes(words + c * kWords + q * kBits, first, second);
#pragma GCC unroll 4
                for (int i = 0; i < kM; ++i) {
                    high[i][c][0] = dot<q>(high[i][c][0], first, x_high[i]);
                    high[i][c][1] = dot<q>(high[i][c][1], second, x_high[i]);
                    low[i][c][0] = dot<q>(low[i][c][0], first, x_low[i]);
                    low[i][c][1] = dot<q>(low[i][c][1], second, x_low[i]);
                }
            }
        }
    };

    // The sums of a group; `across` is the distance between bands in words.
    template <int kM, int kC>
    INFINI_SIMD static Sums<kM, kC> sum_group(const uint32_t *words, int64_t bands, int64_t across,
                                              const int8_t *high, const int8_t *low, int64_t k) {
        Sums<kM, kC> sums;
        for (int64_t band = 0; band < bands; ++band, words += across, high += 16, low += 16) {
            // Bands are far apart in memory, so they are prefetched explicitly.
            for (int c = 0; c < kC * kWords; c += 16) __builtin_prefetch(words + 4 * across + c);
            Bytes x_high[kM], x_low[kM];
            for (int i = 0; i < kM; ++i) {
                std::memcpy(&x_high[i], high + i * k, 16), std::memcpy(&x_low[i], low + i * k, 16);
            }
            sums.template add<0>(words, x_high, x_low);
            sums.template add<1>(words, x_high, x_low);
            sums.template add<2>(words, x_high, x_low);
            sums.template add<3>(words, x_high, x_low);
        }
        return sums;
    }

    template <int kM, int kC>
    [[gnu::noinline]] void multiply(const ByteRows &x, int64_t row, int64_t run, float *y) const {
        F4 total[kM][8][2] = {};
        const int64_t bands = d.group_size() / 16, across = d.n / 64 * 8 * kWords;
        for (int64_t g = 0; g < d.groups; ++g) {
            const uint32_t *words = d.words + g * bands * across + run * 8 * kWords;
            const int64_t at = row * x.k + g * bands * 16;
            Factors f;
            load_factors(g, run, f);
            for (int c0 = 0; c0 < 8; c0 += kC) {
                auto sums = sum_group<kM, kC>(words + c0 * kWords, bands, across, x.high + at,
                                              x.low + at, x.k);
                for (int i = 0; i < kM; ++i) {
                    const float unit = x.scale[(row + i) * x.groups + g];
                    const float sum = x.sum[(row + i) * x.groups + g];
                    for (int c = 0; c < kC; ++c) {
                        for (int e = 0; e < 2; ++e) {
                            F4 t = __builtin_convertvector(sums.high[i][c][e], F4) * 256.0f +
                                   __builtin_convertvector(sums.low[i][c][e], F4);
                            total[i][c0 + c][e] +=
                                (t * unit - f.zero[c0 + c][e] * sum) * f.scale[c0 + c][e];
                        }
                    }
                }
            }
        }
        for (int i = 0; i < kM; ++i) {
            for (int c = 0; c < 8; ++c) {
                for (int e = 0; e < 2; ++e) {
                    for (int l = 0; l < 4; ++l) y[i * 64 + column(c, e, l)] = total[i][c][e][l];
                }
            }
        }
    }

    static int column(int c, int e, int lane) {
        return kBits == 4 ? 16 * lane + 8 * e + c : 32 * e + 8 * lane + c;
    }

    // Loads scales and zero points in the order of the lanes.
    void load_factors(int64_t g, int64_t run, Factors &f) const {
        alignas(64) float stored[64];
        load_halves<64>(stored, static_cast<const char *>(d.scales) + 2 * (g * d.n + run * 64),
                        d.scale_dtype);
        const uint32_t *zeros = d.zeros ? d.zeros + (g * d.n + run * 64) * kBits / 32 : nullptr;
        for (int c = 0; c < 8; ++c) {
            for (int e = 0; e < 2; ++e) {
                f.scale[c][e] = scales(stored, c, e);
                f.zero[c][e] = F4{} + (d.bias - kShift);
                if (zeros) f.zero[c][e] += zero_points(zeros, c, e);
            }
        }
    }

    F4 scales(const float *stored, int c, int e) const {
        if (d.one_group()) {
            F4 s;
            for (int l = 0; l < 4; ++l) s[l] = stored[marlin_scale(column(c, e, l), true)];
            return s;
        }
        F4 a, b;
        std::memcpy(&a, stored + 8 * c + (kBits == 8 ? 4 * e : 0), sizeof a);
        if (kBits == 8) return a;
        std::memcpy(&b, stored + 8 * c + 4, sizeof b);
        return e == 0 ? __builtin_shuffle(a, b, I4{0, 2, 4, 6})
                      : __builtin_shuffle(a, b, I4{1, 3, 5, 7});
    }

    static F4 zero_points(const uint32_t *words, int c, int e) {
        W4 w = W4{} + words[kBits == 8 ? 2 * c + e : c];
        W4 codes = kBits == 8 ? (w >> W4{0, 16, 8, 24}) & 255u
                              : (w >> (W4{0, 4, 8, 12} + uint32_t(16 * e))) & 15u;
        return __builtin_convertvector(as<I4>(codes), F4);
    }

    const MarlinData &d;
};

}  // namespace infini::cpu
