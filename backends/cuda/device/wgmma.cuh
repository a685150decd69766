// The products of a warpgroup (wgmma, sm_90a) with 64 rows: one file, for the lists of registers
// are long.
//
// Thread (g, t) of warp w has of d [64, n] what mma has of rows 16 w .. 16 w + 15; see mma.cuh.
// Operands in shared memory are given by descriptors; see hopper.cuh. `add` false: d is
// overwritten.
#pragma once

#include "hopper.cuh"

namespace infini {

#ifndef INFINI_SIMULATED
// clang-format off

// Registers of d: their names in the text, and as operands.
#define INFINI_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define INFINI_NAMES_16 INFINI_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define INFINI_NAMES_32 \
    INFINI_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define INFINI_NAMES_64 \
    INFINI_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define INFINI_TILE(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define INFINI_TILES_2 INFINI_TILE(0), INFINI_TILE(1)
#define INFINI_TILES_4 INFINI_TILES_2, INFINI_TILE(2), INFINI_TILE(3)
#define INFINI_TILES_8 \
    INFINI_TILES_4, INFINI_TILE(4), INFINI_TILE(5), INFINI_TILE(6), INFINI_TILE(7)
#define INFINI_TILES_16 \
    INFINI_TILES_8, INFINI_TILE(8), INFINI_TILE(9), INFINI_TILE(10), INFINI_TILE(11), \
    INFINI_TILE(12), INFINI_TILE(13), INFINI_TILE(14), INFINI_TILE(15)

// d [64, n] of `registers`; the names of a and b, and of `add`; which of them are turned; operands.
#define INFINI_PRODUCT_OF(type, n, registers, names, add, turned, ...) \
    asm volatile("{\n.reg .pred p;\n" \
                 "setp.ne.b32 p, " add ", 0;\n" \
                 "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type \
                 " {" registers "}, " names ", p, 1, 1, " turned ";\n}\n" __VA_ARGS__)
#define INFINI_PRODUCT(...) \
    if constexpr (kSame<T, f16>) \
        INFINI_PRODUCT_OF("f16", __VA_ARGS__); \
    else \
        INFINI_PRODUCT_OF("bf16", __VA_ARGS__)

// a [64, 16] and b [16, n], both with neighbours along k.
template <class T>
INFINI_DEVICE void wgmma(float (&d)[2][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("16", INFINI_NAMES_8, "%8, %9", "%10", "0, 0",
                   : INFINI_TILES_2 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma(float (&d)[4][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("32", INFINI_NAMES_16, "%16, %17", "%18", "0, 0",
                   : INFINI_TILES_4 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma(float (&d)[8][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("64", INFINI_NAMES_32, "%32, %33", "%34", "0, 0",
                   : INFINI_TILES_8 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("128", INFINI_NAMES_64, "%64, %65", "%66", "0, 0",
                   : INFINI_TILES_16 : "l"(a), "l"(b), "r"(int(add)));
}

// a [64, 16] with neighbours along its rows, of which there are 64 in a panel.
template <class T>
INFINI_DEVICE void wgmma_turned(float (&d)[2][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("16", INFINI_NAMES_8, "%8, %9", "%10", "1, 0",
                   : INFINI_TILES_2 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_turned(float (&d)[4][4], uint64_t a, uint64_t b, bool add) {
    INFINI_PRODUCT("32", INFINI_NAMES_16, "%16, %17", "%18", "1, 0",
                   : INFINI_TILES_4 : "l"(a), "l"(b), "r"(int(add)));
}

// a [64, 16] in registers, b [16, n] with neighbours along n.
template <class T>
INFINI_DEVICE void wgmma_across(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b, bool add) {
    INFINI_PRODUCT("64", INFINI_NAMES_32, "{%32, %33, %34, %35}, %36", "%37", "1",
                   : INFINI_TILES_8
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_across(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b, bool add) {
    INFINI_PRODUCT("128", INFINI_NAMES_64, "{%64, %65, %66, %67}, %68", "%69", "1",
                   : INFINI_TILES_16
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(add)));
}

// clang-format on
#else

namespace detail {

// Where the element at `offset` of a swizzled operand lies; its neighbour follows it.
INFINI_DEVICE uint16_t swizzled_element(uint64_t descriptor, uint64_t offset) {
    uint64_t at = (descriptor & 0x3fff) * 16 + offset;
    at ^= (at >> 7 & 7) << 4;
    unsigned char *const memory = ::simulated::dynamic_shared;
    return *reinterpret_cast<const uint16_t *>(memory + at);
}
INFINI_DEVICE uint64_t leading_bytes(uint64_t descriptor) {
    return (descriptor >> 16 & 0x3fff) * 16;
}
INFINI_DEVICE uint64_t stride_bytes(uint64_t descriptor) {
    return (descriptor >> 32 & 0x3fff) * 16;
}

// (row, k) of an operand with neighbours along k, (k, n) of one with neighbours along n.
INFINI_DEVICE uint16_t element_along(uint64_t descriptor, int row, int k) {
    return swizzled_element(descriptor, row / 8 * stride_bytes(descriptor) + row % 8 * 128 + k * 2);
}
INFINI_DEVICE uint16_t element_across(uint64_t descriptor, int k, int n) {
    return swizzled_element(descriptor, n / 64 * leading_bytes(descriptor) +
                                            k / 8 * stride_bytes(descriptor) + k % 8 * 128 +
                                            n % 64 * 2);
}

// d += the product of left, as registers of mma have it, and b.
template <class T, int tiles, class Element>
INFINI_DEVICE void wgmma_simulated(float (&d)[tiles][4], const uint32_t (&left)[4],
                                   const Element &element, bool add) {
    const int g = lane() / 4, t = lane() % 4;
    for (int n = 0; n < tiles; ++n) {
        uint32_t right[2];
        for (int i = 0; i < 2; ++i)
            right[i] = element(2 * t + 8 * i, 8 * n + g) |
                       uint32_t(element(2 * t + 8 * i + 1, 8 * n + g)) << 16;
        for (int i = 0; i < 4; ++i)
            if (!add) d[n][i] = 0;
        mma<T>(d[n], left, right);
    }
}
template <class Element>
INFINI_DEVICE void load_left(uint32_t (&left)[4], const Element &element) {
    for (int i = 0; i < 4; ++i) {
        const int row = warp() % 4 * 16 + lane() / 4 + i % 2 * 8, k = 2 * (lane() % 4) + i / 2 * 8;
        left[i] = element(row, k) | uint32_t(element(row, k + 1)) << 16;
    }
}

}  // namespace detail

template <class T, int tiles>
INFINI_DEVICE void wgmma(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    uint32_t left[4];
    detail::load_left(left, [&](int row, int k) { return detail::element_along(a, row, k); });
    detail::wgmma_simulated<T>(
        d, left, [&](int k, int n) { return detail::element_along(b, n, k); }, add);
}
template <class T, int tiles>
INFINI_DEVICE void wgmma_turned(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    uint32_t left[4];
    detail::load_left(left, [&](int row, int k) { return detail::element_across(a, k, row); });
    detail::wgmma_simulated<T>(
        d, left, [&](int k, int n) { return detail::element_along(b, n, k); }, add);
}
template <class T, int tiles>
INFINI_DEVICE void wgmma_across(float (&d)[tiles][4], const uint32_t (&a)[4], uint64_t b,
                                bool add) {
    detail::wgmma_simulated<T>(
        d, a, [&](int k, int n) { return detail::element_across(b, k, n); }, add);
}
#endif

}  // namespace infini
