// Convolution of images whose features see a single channel each (depthwise), in two dimensions.
#pragma once

#include "divide.h"

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// Each thread computes a chunk of a strip of a plane of y: neighbouring columns of several rows.
struct DepthwiseParams {
    const void *x, *w, *bias;  // bias may be null
    void *y;
    uint32_t count;  // chunks of all planes
    int channels;    // of x
    int in[2], out[2];
    Divider by_chunks, by_strips;      // chunks of a strip, strips of a plane
    Divider by_planes, by_multiplier;  // planes of an image of y, and of those for a plane of x
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// The host defines T, C (the type of sums), kTaps0, kTaps1, kStep0, kStep1, kGap0, kGap1
// (dilations), kPad0, kPad1, kRows and kColumns of a chunk, and whether elements of x (kVectorIn)
// and of y (kVectorOut) are moved as vectors.
namespace infini {

// Columns that a chunk reads.
constexpr int kReach = (kColumns - 1) * kStep1 + (kTaps1 - 1) * kGap1 + 1;
// Of these, elements in one aligned access.
constexpr int kPiece =
    !kVectorIn ? 1 : (kColumns * kStep1 < kWide<T> ? kColumns * kStep1 : kWide<T>);

// A row of x from column `first` - kPad1 on; zeros outside.
INFINI_DEVICE void load_reach(const T *row, int first, int size, bool is_inside, C (&to)[kReach]) {
    constexpr int kWhole = kVectorIn ? kColumns * kStep1 / kPiece * kPiece : 0;
#pragma unroll
    for (int i = 0; i < kReach; ++i) {
        if (i >= kPad1 && i < kPad1 + kWhole) continue;
        const int at = first - kPad1 + i;
        to[i] = is_inside && at >= 0 && at < size ? convert<C>(row[at]) : C(0);
    }
#pragma unroll
    for (int k = 0; k < kWhole; k += kPiece) {
        Vec<T, kPiece> piece{};
        if (is_inside && first + k < size) piece = load<kPiece>(row + first + k);
#pragma unroll
        for (int i = 0; i < kPiece; ++i)
            if (kPad1 + k + i < kReach) to[kPad1 + k + i] = convert_at<C>(piece, i);
    }
}

}  // namespace infini

INFINI_ENTRY(infini::DepthwiseParams, 256, 1) {
    using namespace infini;
    const uint32_t chunk = blockIdx.x * 256 + threadIdx.x;
    if (chunk >= p.count) return;
    const Quotient strip = p.by_chunks.split(chunk), plane = p.by_strips.split(strip.quotient);
    const Quotient image = p.by_planes.split(plane.quotient);
    const uint32_t channel = p.by_multiplier.divide(image.remainder);
    const int row0 = int(plane.remainder) * kRows, column0 = int(strip.remainder) * kColumns;
    const T *x = static_cast<const T *>(p.x) +
                 (int64_t(image.quotient) * p.channels + channel) * p.in[0] * p.in[1];
    T *y = static_cast<T *>(p.y) + int64_t(plane.quotient) * p.out[0] * p.out[1];

    C filter[kTaps0][kTaps1], sums[kRows][kColumns];
    const T *w = static_cast<const T *>(p.w) + image.remainder * (kTaps0 * kTaps1);
#pragma unroll
    for (int i = 0; i < kTaps0 * kTaps1; ++i) filter[i / kTaps1][i % kTaps1] = convert<C>(w[i]);
    const C bias = p.bias ? convert<C>(static_cast<const T *>(p.bias)[image.remainder]) : C(0);
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) sums[i / kColumns][i % kColumns] = bias;

    constexpr int kRowsIn = (kRows - 1) * kStep0 + (kTaps0 - 1) * kGap0 + 1;
#pragma unroll
    for (int r = 0; r < kRowsIn; ++r) {
        const int at = row0 * kStep0 - kPad0 + r;
        C reach[kReach];
        load_reach(x + int64_t(at) * p.in[1], column0 * kStep1, p.in[1], at >= 0 && at < p.in[0],
                   reach);
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            const int tap = r - row * kStep0;
            if (tap < 0 || tap % kGap0 != 0 || tap / kGap0 >= kTaps0) continue;
#pragma unroll
            for (int k = 0; k < kTaps1; ++k)
#pragma unroll
                for (int i = 0; i < kColumns; ++i)
                    sums[row][i] += reach[i * kStep1 + k * kGap1] * filter[tap / kGap0][k];
        }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
        if (row0 + row >= p.out[0]) return;
        T *to = y + int64_t(row0 + row) * p.out[1] + column0;
        if constexpr (kVectorOut) {
            store(to, narrow<T, kColumns>(sums[row]));
        } else {
#pragma unroll
            for (int i = 0; i < kColumns; ++i)
                if (column0 + i < p.out[1]) to[i] = convert<T>(sums[row][i]);
        }
    }
}

#endif  // INFINI_DEVICE
