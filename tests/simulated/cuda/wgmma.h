// Products of a warpgroup (device/wgmma.cuh): operands in shared memory are read through their
// descriptors, and each warp computes its 16 rows.
#pragma once

#include "instructions.h"

namespace infini {

namespace detail {

// The address of the element at `offset` of a swizzled operand; its neighbour follows it.
inline uint16_t swizzled_element(uint64_t descriptor, uint64_t offset) {
    uint64_t at = (descriptor & 0x3fff) * 16 + offset;
    at ^= (at >> 7 & 7) << 4;
    unsigned char *const memory = simulated::dynamic_shared;
    return *reinterpret_cast<const uint16_t *>(memory + at);
}
inline uint64_t leading_bytes(uint64_t descriptor) { return (descriptor >> 16 & 0x3fff) * 16; }
inline uint64_t stride_bytes(uint64_t descriptor) { return (descriptor >> 32 & 0x3fff) * 16; }

// (row, k) of an operand with neighbours along k, (k, n) of one with neighbours along n.
inline uint16_t element_along(uint64_t descriptor, int row, int k) {
    return swizzled_element(descriptor, row / 8 * stride_bytes(descriptor) + row % 8 * 128 + k * 2);
}
inline uint16_t element_across(uint64_t descriptor, int k, int n) {
    return swizzled_element(descriptor, n / 64 * leading_bytes(descriptor) +
                                            k / 8 * stride_bytes(descriptor) + k % 8 * 128 +
                                            n % 64 * 2);
}

// d += the product of left, as registers of mma have it, and b.
template <class T, int tiles, class Element>
inline void wgmma_simulated(float (&d)[tiles][4], const uint32_t (&left)[4], const Element &element,
                            bool add) {
    const int g = int(simulated::lane()) / 4, t = int(simulated::lane()) % 4;
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
inline void load_left(uint32_t (&left)[4], const Element &element) {
    for (int i = 0; i < 4; ++i) {
        const int row = int(threadIdx.x / 32) % 4 * 16 + int(simulated::lane()) / 4 + i % 2 * 8,
                  k = 2 * (int(simulated::lane()) % 4) + i / 2 * 8;
        left[i] = element(row, k) | uint32_t(element(row, k + 1)) << 16;
    }
}

}  // namespace detail

template <class T, int tiles>
inline void wgmma(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    uint32_t left[4];
    detail::load_left(left, [&](int row, int k) { return detail::element_along(a, row, k); });
    detail::wgmma_simulated<T>(
        d, left, [&](int k, int n) { return detail::element_along(b, n, k); }, add);
}
template <class T, int tiles>
inline void wgmma_turned(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    uint32_t left[4];
    detail::load_left(left, [&](int row, int k) { return detail::element_across(a, k, row); });
    detail::wgmma_simulated<T>(
        d, left, [&](int k, int n) { return detail::element_along(b, n, k); }, add);
}
template <class T, int tiles>
inline void wgmma_panel(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    for (int k = 0; k < 4; ++k)
        wgmma<T>(d, a + 2 * k, b + 2 * k, k > 0 || add);  // descriptors count 16 bytes
}
template <class T, int tiles>
inline void wgmma_rows(float (&d)[tiles][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    for (int k = 0; k < 4; ++k) {
        auto element = [&](int row, int n) { return detail::element_across(b, 16 * k + row, n); };
        detail::wgmma_simulated<T>(d, a[k], element, k > 0 || add);
    }
}

}  // namespace infini
