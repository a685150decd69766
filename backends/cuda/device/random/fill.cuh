// Counter-based random numbers: Philox 4x32-10, "Parallel random numbers: as easy as 1, 2, 3"
// (Salmon, Moraes, Dror and Shaw, 2011). Each block of four words depends only on its index and the
// seed.
#pragma once

#include "random_params.h"
#include "words.cuh"

namespace infini {

struct Words {
    uint32_t word[4];

    INFINI_DEVICE uint64_t wide(int i) const {
        return word[2 * i] | uint64_t(word[2 * i + 1]) << 32;
    }
};

// The key is the seed, the lower half of the counter the block index.
INFINI_DEVICE Words philox(uint64_t seed, uint64_t block) {
    uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(c0) * 0xD2511F53u, b = uint64_t(c2) * 0xCD9E8D57u;
        c0 = uint32_t(b >> 32) ^ c1 ^ k0;
        c2 = uint32_t(a >> 32) ^ c3 ^ k1;
        c1 = uint32_t(b), c3 = uint32_t(a);
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

}  // namespace infini

// random_uniform, random_normal and random_integers (kKind 0, 1, 2) of T. Each element uses its own
// words of the counter's sequence; a thread generates the elements of one block of words.
namespace infini {

constexpr int kDigits = kSame<T, f16> ? 11 : kSame<T, bf16> ? 8 : kSame<T, double> ? 53 : 24;
constexpr bool kWideWords = kKind == 2 || kSame<T, double>;
constexpr int kElements = kWideWords ? 2 : 4;

// The leading bits of word i as a number in [0, 1).
template <int digits, class C>
INFINI_DEVICE C fraction(const Words &words, int i) {
    if constexpr (digits > 32)
        return C(int64_t(words.wide(i) >> (64 - digits))) * C(0x1p-53);
    else
        return C(int32_t(words.word[i] >> (32 - digits))) * (C(1) / C(int32_t(1) << digits));
}

INFINI_DEVICE float root(float x) { return sqrtf(x); }
INFINI_DEVICE double root(double x) { return sqrt(x); }
INFINI_DEVICE float logarithm(float x) { return logf(x); }
INFINI_DEVICE double logarithm(double x) { return log(x); }
// Of an angle in units of pi.
INFINI_DEVICE float sine_of(float turns) { return sinpif(turns); }
INFINI_DEVICE double sine_of(double turns) { return sinpi(turns); }
INFINI_DEVICE float cosine_of(float turns) { return cospif(turns); }
INFINI_DEVICE double cosine_of(double turns) { return cospi(turns); }

INFINI_DEVICE void make(const RandomParams &p, const Words &words, Vec<T, kElements> &out) {
    if constexpr (kKind == 0) {
#pragma unroll
        for (int i = 0; i < kElements; ++i) {
            // The definition requires two roundings.
            const double scaled = __dmul_rn(p.span, fraction<kDigits, double>(words, i));
            out[i] = convert<T>(__dadd_rn(scaled, p.low));
        }
    } else if constexpr (kKind == 1) {
        // Box-Muller transform: two words give two independent numbers.
        using C = Choose<kSame<T, double>, double, float>;
        constexpr int digits = kSame<T, double> ? 53 : 24;
        constexpr C kUnit = kSame<T, double> ? C(0x1p-53) : C(0x1p-24);
        const C mean = C(p.low), deviation = C(p.span);
#pragma unroll
        for (int i = 0; i < kElements; i += 2) {
            const C u = fraction<digits, C>(words, i) + kUnit;
            const C turns = 2 * fraction<digits, C>(words, i + 1);
            const C radius = root(-2 * logarithm(u)) * deviation;
            out[i] = convert<T>(radius * cosine_of(turns) + mean);
            out[i + 1] = convert<T>(radius * sine_of(turns) + mean);
        }
    } else {
#pragma unroll
        for (int i = 0; i < kElements; ++i)
            out[i] = convert<T>(
                int64_t(uint64_t(p.first) + __umul64hi(words.wide(i), uint64_t(p.range))));
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RandomParams, 256, 1) {
    const int64_t block = grid_thread(), begin = block * kElements;
    if (begin >= p.places.count) return;
    Vec<T, kElements> values;
    make(p, philox(p.seed, p.offset + uint64_t(block)), values);
    T *out = static_cast<T *>(p.out);
    if (p.dense && begin + kElements <= p.places.count) {
        store_some<kElements>(out + begin, values, p.whole);
        return;
    }
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
        if (begin + i >= p.places.count) break;
        int64_t offset[1];
        p.places.at(begin + i, offset);
        out[offset[0]] = values[i];
    }
}
