// Fourier transforms: conversion between tensors and dense lines of complex or real elements, and
// the stages of a transform for systems without the vendor's library.
#pragma once

#include "offsets.h"

namespace infini {

struct FourierParams {
    void *re, *im;  // data of a tensor; im is null for real tensors
    Offsets lines, im_lines;
    int64_t step, im_step;
    int64_t count, size, full;  // lines; elements per dense line; length of the transform
    void *dense, *other;        // pairs of T, or T; other: the output of a stage
    double scale, im_scale;     // im_scale of a load: -1 conjugates
    int64_t radix, left, side;  // for a stage
    double direction;           // -1, or 1 for the inverse
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

using namespace infini;

// Contents of dense lines: T; pairs of T; the first half of the pairs of a real transform; or all
// pairs of a real transform, of which the tensor has the first half.
enum { kNumbers = 0, kPairs = 1, kHalf = 2, kMirrored = 3 };

#ifdef INFINI_KERNEL_FFT_LOAD
INFINI_ENTRY(FourierParams, kThreads, 1) {
    const T *re = static_cast<const T *>(p.re), *im = static_cast<const T *>(p.im);
    T *to = static_cast<T *>(p.dense);
    const int64_t all = p.count * p.size;
    INFINI_ROLLED
    for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all;
         i += int64_t(gridDim.x) * kThreads) {
        const int64_t line = i / p.size, k = i - line * p.size;
        const bool is_mirrored = kDense == kMirrored && 2 * k > p.full;
        const int64_t at = is_mirrored ? p.full - k : k;
        const T x = re[p.lines(line) + at * p.step];
        if constexpr (kDense == kNumbers) {
            to[i] = x;
        } else {
            // These elements are real in a real transform.
            const bool is_real = kDense != kPairs && (k == 0 || 2 * k == p.full);
            T y = 0;
            if (im && !is_real)
                y = im[p.im_lines(line) + at * p.im_step] *
                    T(is_mirrored ? -p.im_scale : p.im_scale);
            to[2 * i] = x, to[2 * i + 1] = y;
        }
    }
}
#endif

#ifdef INFINI_KERNEL_FFT_STORE
// Copies the first elements of each dense line, as many as the tensor has (kDense of them are
// pairs).
INFINI_ENTRY(FourierParams, kThreads, 1) {
    T *re = static_cast<T *>(p.re), *im = static_cast<T *>(p.im);
    const T *from = static_cast<const T *>(p.dense);
    const int64_t taken = p.full, all = p.count * taken;
    INFINI_ROLLED
    for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all;
         i += int64_t(gridDim.x) * kThreads) {
        const int64_t line = i / taken, k = i - line * taken, at = line * p.size + k;
        const int64_t to = p.lines(line) + k * p.step;
        if constexpr (kDense == kNumbers) {
            re[to] = from[at] * T(p.scale);
        } else {
            re[to] = from[2 * at] * T(p.scale);
            if (im) im[p.im_lines(line) + k * p.im_step] = from[2 * at + 1] * T(p.im_scale);
        }
    }
}
#endif

#ifdef INFINI_KERNEL_FFT_SCALE
INFINI_ENTRY(FourierParams, kThreads, 1) {
    using Two = Vec<T, 2>;
    Two *all = static_cast<Two *>(p.dense);
    const T first = T(p.scale), second = T(kDense == kNumbers ? p.scale : p.im_scale);
    const int64_t begin = int64_t(blockIdx.x) * kThreads + threadIdx.x;
    for (int64_t i = begin; i < p.count / 2; i += int64_t(gridDim.x) * kThreads) {
        const Two x = all[i];
        all[i] = Two{x[0] * first, x[1] * second};
    }
    if (begin == 0 && p.count % 2) static_cast<T *>(p.dense)[p.count - 1] *= first;
}
#endif

#ifdef INFINI_KERNEL_FFT_STAGE
// Stockham's algorithm: y[side (radix q + k) + r] from x[side (q + left i) + r]. Each thread
// computes one element.
INFINI_ENTRY(FourierParams, kThreads, 1) {
    const T *x = static_cast<const T *>(p.dense);
    T *y = static_cast<T *>(p.other);
    const int64_t all = p.count * p.size, round = p.radix * p.left;
    INFINI_ROLLED
    for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < all;
         i += int64_t(gridDim.x) * kThreads) {
        const int64_t line = i / p.size, at = i - line * p.size;
        const int64_t group = at / p.side, r = at - group * p.side;
        const int64_t q = group / p.radix, k = group - q * p.radix;
        double re = 0, im = 0;
        INFINI_ROLLED
        for (int64_t j = 0; j < p.radix; ++j) {
            const int64_t from = line * p.size + p.side * (q + p.left * j) + r;
            const int64_t turn = k * (j * p.left + q) % round;
            const double angle = p.direction * 2.0 * double(turn) / double(round);
            const double c = cospi(angle), s = sinpi(angle), a = x[2 * from], b = x[2 * from + 1];
            re += a * c - b * s, im += a * s + b * c;
        }
        y[2 * i] = T(re), y[2 * i + 1] = T(im);
    }
}
#endif

#endif  // INFINI_DEVICE
