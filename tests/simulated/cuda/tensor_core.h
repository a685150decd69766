// Tensor core operations, computed by all lanes of a warp together. Shapes and layouts of the
// fragments are PTX's; products are exact, and summed in double.
#pragma once

#include "barriers.h"
#include "bits.h"

namespace simulated {

// ---- Numbers ------------------------------------------------------------------------------------

struct F16 {
    static constexpr int kBits = 16;
    static double value(unsigned x) {
        unsigned magnitude = (x & 0x7fff) << 13;
        unsigned word = bits<unsigned>(bits<float>(magnitude) * 0x1p112f);
        if (magnitude >= 0x0f800000u) word |= 0x7f800000u;
        return bits<float>(word | (x & 0x8000) << 16);
    }
};
struct BF16 {
    static constexpr int kBits = 16;
    static double value(unsigned x) { return bits<float>(x << 16); }
};
struct TF32 {  // the hardware ignores the last 13 bits
    static constexpr int kBits = 32;
    static double value(unsigned x) { return bits<float>(x & 0xffffe000u); }
};
struct S8 {
    static constexpr int kBits = 8;
    static int value(unsigned x) { return int(int8_t(x)); }
};
struct U8 {
    static constexpr int kBits = 8;
    static int value(unsigned x) { return int(uint8_t(x)); }
};
struct E4M3 {
    static constexpr int kBits = 8;
    static double value(unsigned x) {
        unsigned magnitude = (x & 0x7f) << 20;
        float y = magnitude == 0x07f00000u ? __builtin_nanf("") : bits<float>(magnitude) * 0x1p120f;
        return x & 0x80 ? -y : y;
    }
};
struct E5M2 {
    static constexpr int kBits = 8;
    static double value(unsigned x) { return F16::value((x & 0xff) << 8); }
};

// Element `i` of a register that holds several.
template <class Number>
inline auto element(unsigned word, unsigned i) {
    unsigned shifted = word >> (i * Number::kBits);
    return Number::value(Number::kBits == 32 ? shifted : shifted & ((1u << Number::kBits) - 1));
}

// ---- mma.sync -----------------------------------------------------------------------------------

// d += a @ b, where a is [16, k], b is [k, 8] and k fills na / 2 registers of 4 lanes. Registers of
// a: rows g and g + 8 by turns, then the next part of k; of b: parts of k.
template <class A, class B, int na, int nb, class D>
inline void mma(D (&d)[4], const uint32_t (&a)[na], const uint32_t (&b)[nb]) {
    static_assert(na == 2 * nb);
    struct Fragments {
        uint32_t a[na], b[nb];
    } mine;
    for (int i = 0; i < na; ++i) mine.a[i] = a[i];
    for (int i = 0; i < nb; ++i) mine.b[i] = b[i];
    auto all = exchange(Together::kMatrix, mine);
    constexpr unsigned kEach = 32 / A::kBits;
    const unsigned g = state.lane / 4, t = state.lane % 4;
    Fragments left[4], right[2][4];  // the lanes that have this lane's row, and its two columns
    for (unsigned i = 0; i < 4; ++i) {
        left[i] = all[4 * g + i];
        for (unsigned j = 0; j < 2; ++j) right[j][i] = all[4 * (2 * t + j) + i];
    }
    for (unsigned i = 0; i < 4; ++i) {
        decltype(A::value(0) * B::value(0)) sum = 0;
        for (unsigned part = 0; part < unsigned(nb); ++part)
            for (unsigned lane = 0; lane < 4; ++lane)
                for (unsigned e = 0; e < kEach; ++e)
                    sum += element<A>(left[lane].a[2 * part + i / 2], e) *
                           element<B>(right[i % 2][lane].b[part], e);
        d[i] = D(d[i] + sum);
    }
}

template <class Number>
inline void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma<Number, Number>(d, a, b);
}
template <class Number>
inline void mma_m16n8k8(float (&d)[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
    mma<Number, Number>(d, a, b);
}
inline void mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma<TF32, TF32>(d, a, b);
}
inline void mma_m16n8k32_s8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma<S8, S8>(d, a, b);
}
template <class A = E4M3, class B = E4M3>
inline void mma_m16n8k32_f8(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma<A, B>(d, a, b);
}

// ---- Matrices of 8 by 8 between shared memory and registers -------------------------------------

// Lane 8 i + r gives the address of row r of matrix i.
template <int n>
struct Rows {
    Lanes<const uint16_t *> at;
    explicit Rows(const void *mine)
        : at(exchange(Together::kMatrix, static_cast<const uint16_t *>(mine))) {
        for (unsigned i = 0; i < 8 * n; ++i)
            if (size_t(at[i]) % 16)
                fail("ldmatrix or stmatrix at an address that is no multiple of 16");
    }
    uint16_t *row(unsigned matrix, unsigned r) const {
        return const_cast<uint16_t *>(at[8 * matrix + r]);
    }
};

template <int n, bool transposed = false>
inline void ldmatrix(uint32_t (&to)[n], const void *row) {
    Rows<n> rows(row);
    const unsigned g = state.lane / 4, t = state.lane % 4;
    for (unsigned i = 0; i < unsigned(n); ++i) {
        uint16_t low = transposed ? rows.row(i, 2 * t)[g] : rows.row(i, g)[2 * t];
        uint16_t high = transposed ? rows.row(i, 2 * t + 1)[g] : rows.row(i, g)[2 * t + 1];
        to[i] = uint32_t(low) | uint32_t(high) << 16;
    }
    // All lanes have read before any of them continues and writes there.
    exchange(Together::kMatrix, 0);
}

template <int n, bool transposed = false>
inline void stmatrix(void *row, const uint32_t (&from)[n]) {
    Rows<n> rows(row);
    const unsigned g = state.lane / 4, t = state.lane % 4;
    for (unsigned i = 0; i < unsigned(n); ++i) {
        (transposed ? rows.row(i, 2 * t)[g] : rows.row(i, g)[2 * t]) = uint16_t(from[i]);
        (transposed ? rows.row(i, 2 * t + 1)[g] : rows.row(i, g)[2 * t + 1]) =
            uint16_t(from[i] >> 16);
    }
    exchange(Together::kMatrix, 0);
}

}  // namespace simulated
