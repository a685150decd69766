// Convolution: direct, or as a matrix product over windows (implicit GEMM).
#pragma once

#include "divide.h"

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// Converts x [images, groups, channels, positions] to [images, positions, groups, padded], with
// zeros after the channels.
struct ChannelsLastParams {
    void *to;
    const void *from;
    int64_t images;
    int groups, channels, padded, positions;
};

// Three spatial dimensions; missing ones are leading ones of size 1. A position of y reads x at
// position * step - pad + tap * dilation; in a transposed convolution, y and x are exchanged in
// this formula.
struct ConvolutionParams {
    const void *x, *w, *bias;  // bias may be null
    void *y;
    int images, groups, features, channels;  // features and channels per group
    int in[3], out[3], step[3], dilation[3], pad[3], taps[3];
    int in_size, out_size, tap_count;
    Divider by_out_size, by_out1, by_out2;  // out[1] * out[2] is split in two steps
    Divider by_taps1, by_taps2;
    Divider by_step0, by_step1, by_step2;
    // For matrix products: x with channels last, w [groups, features, taps, padded].
    int padded;
    Divider by_padded;
    int tiles_m, tiles_n;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#if defined(INFINI_KERNEL_CONVOLUTION_DIRECT) || defined(INFINI_KERNEL_CONVOLUTION_PRODUCT)
#include "matmul/sources.cuh"

// The windows of an image as the columns of a matrix: column j is a position of the output; k runs
// over taps and, innermost, channels.
namespace infini {

struct Place3 {
    int at[3];
};

INFINI_DEVICE Place3 place_of(const ConvolutionParams &p, int out) {
    const Quotient rows = p.by_out2.split(uint32_t(out));
    const Quotient planes = p.by_out1.split(rows.quotient);
    return {{int(planes.quotient), int(planes.remainder), int(rows.remainder)}};
}
INFINI_DEVICE Place3 tap_of(const ConvolutionParams &p, int tap) {
    const Quotient rows = p.by_taps2.split(uint32_t(tap));
    const Quotient planes = p.by_taps1.split(rows.quotient);
    return {{int(planes.quotient), int(planes.remainder), int(rows.remainder)}};
}

// The index in x that a tap of an output's window reads, or -1.
template <bool transposed>
INFINI_DEVICE int window_place(const ConvolutionParams &p, const Place3 &out, const Place3 &tap) {
    int index = 0;
    const Divider *dividers[3] = {&p.by_step0, &p.by_step1, &p.by_step2};
#pragma unroll
    for (int d = 0; d < 3; ++d) {
        int at;
        if constexpr (transposed) {
            const int from = out.at[d] + p.pad[d] - tap.at[d] * p.dilation[d];
            const Quotient place = dividers[d]->split(uint32_t(from < 0 ? 0 : from));
            at = from < 0 || place.remainder ? -1 : int(place.quotient);
        } else {
            at = out.at[d] * p.step[d] - p.pad[d] + tap.at[d] * p.dilation[d];
        }
        if (at < 0 || at >= p.in[d]) return -1;
        index = index * p.in[d] + at;
    }
    return index;
}

template <class Element, bool transposed>
struct WindowSource {
    using T = Element;
    static constexpr bool kAlongK = true, kVector = true;

    struct Line {
        const T *image;  // null: no such column
        Place3 place;
    };
    template <int n>
    using Raw = Run<T, n>;

    const ConvolutionParams &p;
    int first, columns, group;

    INFINI_DEVICE Line line(int outer) const {
        const int column = first + outer;
        if (column >= columns) return {nullptr, {}};
        const Quotient image = p.by_out_size.split(uint32_t(column));
        const T *x = static_cast<const T *>(p.x);
        return {x + (int64_t(image.quotient) * p.in_size * p.groups + group) * p.padded,
                place_of(p, int(image.remainder))};
    }
    INFINI_DEVICE const T *find(const Line &line, int k) const {
        if (!line.image) return nullptr;
        const Quotient tap = p.by_padded.split(uint32_t(k));
        if (int(tap.quotient) >= p.tap_count) return nullptr;
        const int place = window_place<transposed>(p, line.place, tap_of(p, int(tap.quotient)));
        if (place < 0) return nullptr;
        return line.image + int64_t(place) * p.groups * p.padded + tap.remainder;
    }
    template <int n>
    INFINI_DEVICE Run<T, n> fetch(const Line &line, int k) const {
        const T *from = find(line, k);
        Run<T, n> run;
        const Vec<T, n> values = from ? load<n>(from) : Vec<T, n>{};
#pragma unroll
        for (int i = 0; i < n; ++i) run.value[i] = values[i];
        return run;
    }
    template <int n>
    INFINI_DEVICE void finish(const Run<T, n> &raw, T (&values)[n]) const {
#pragma unroll
        for (int i = 0; i < n; ++i) values[i] = raw.value[i];
    }
    // For stages that copy asynchronously: elements that do not exist are not read.
    INFINI_DEVICE int left(const Line &line, int k) const { return find(line, k) ? 16 : 0; }
    INFINI_DEVICE const T *address(const Line &line, int k) const {
        const T *from = find(line, k);
        return from ? from : static_cast<const T *>(p.x);
    }
};

// A tile of y [images, groups, features, out_size]: rows are features, columns positions of all
// images.
template <class O, class C>
struct StoreWindows {
    const ConvolutionParams &p;
    int group, row, column;  // of the tile

    template <int n, class Sum>
    INFINI_DEVICE void operator()(int i, int j, const Sum (&sums)[n], int count) const {
        const int feature = row + i;
        const C bias =
            p.bias
                ? convert<C>(static_cast<const O *>(p.bias)[int64_t(group) * p.features + feature])
                : C(0);
        const Quotient image = p.by_out_size.split(uint32_t(column + j));
        O *y = static_cast<O *>(p.y);
        auto place = [&](int64_t of, int64_t at) {
            return y + ((of * p.groups + group) * p.features + feature) * int64_t(p.out_size) + at;
        };
        O *to = place(image.quotient, image.remainder);
        constexpr int kWidth = n < kWide<O> ? n : kWide<O>;
        C values[n];
#pragma unroll
        for (int q = 0; q < n; ++q) values[q] = C(sums[q]) + bias;
        if (count == n && int(image.remainder) + n <= p.out_size &&
            (reinterpret_cast<uint64_t>(to) & (kWidth * sizeof(O) - 1)) == 0) {
#pragma unroll
            for (int q = 0; q < n; q += kWidth) {
                C part[kWidth];
#pragma unroll
                for (int r = 0; r < kWidth; ++r) part[r] = values[q + r];
                store(to + q, narrow<O, kWidth>(part));
            }
            return;
        }
        int64_t of = image.quotient, at = image.remainder;
#pragma unroll
        for (int q = 0; q < n; ++q) {
            if (q < count) *place(of, at) = convert<O>(values[q]);
            if (++at == p.out_size) at = 0, ++of;
        }
    }
};

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_CONVOLUTION_CHANNELS_LAST
// Makes channels the innermost dimension. Each block transposes a tile of 32 positions and 32
// channels. The host defines T.
INFINI_ENTRY(infini::ChannelsLastParams, 256, 1) {
    using namespace infini;
    constexpr int kSide = 32, kAcross = 256 / kSide;
    INFINI_SHARED T tile[kSide][kSide + 2];
    const uint32_t tiles_p = uint32_t(p.positions + kSide - 1) / kSide;
    const uint32_t tiles_c = uint32_t(p.padded + kSide - 1) / kSide;
    const int place = int(blockIdx.x % tiles_p) * kSide;
    const int channel = int(blockIdx.x / tiles_p % tiles_c) * kSide;
    const int64_t batch = blockIdx.x / tiles_p / tiles_c;
    const int64_t image = batch / p.groups, group = batch % p.groups;
    const T *from = static_cast<const T *>(p.from) + batch * p.channels * int64_t(p.positions);
    T *to = static_cast<T *>(p.to);
    const int x = int(threadIdx.x) % kSide, y = int(threadIdx.x) / kSide;
#pragma unroll
    for (int i = y; i < kSide; i += kAcross) {
        const bool inside = channel + i < p.channels && place + x < p.positions;
        tile[i][x] = inside ? from[(channel + i) * int64_t(p.positions) + place + x] : T{};
    }
    __syncthreads();
#pragma unroll
    for (int i = y; i < kSide; i += kAcross) {
        if (place + i >= p.positions || channel + x >= p.padded) continue;
        const int64_t row = (image * p.positions + place + i) * p.groups + group;
        to[row * p.padded + channel + x] = tile[x][i];
    }
}
#endif

#ifdef INFINI_KERNEL_CONVOLUTION_DIRECT
// Convolution with few channels: one thread per element of y. The host defines T, C (the type of
// sums) and kTransposed. Filters are [groups * features, channels, taps], or if transposed [groups
// * channels, features, taps].
INFINI_ENTRY(infini::ConvolutionParams, 256, 1) {
    using namespace infini;
    const int64_t all = int64_t(p.images) * p.groups * p.features * p.out_size;
    for (int64_t i = grid_thread(); i < all; i += grid_threads()) {
        const int64_t plane = i / p.out_size;
        const Place3 out = place_of(p, int(i % p.out_size));
        const int64_t image = plane / (int64_t(p.groups) * p.features);
        const int of = int(plane % (int64_t(p.groups) * p.features));
        const int group = of / p.features, feature = of % p.features;
        C sum = p.bias ? convert<C>(static_cast<const T *>(p.bias)[of]) : C(0);
        for (int tap = 0; tap < p.tap_count; ++tap) {
            const int place = window_place<kTransposed>(p, out, tap_of(p, tap));
            if (place < 0) continue;
            const T *x = static_cast<const T *>(p.x) +
                         (image * p.groups + group) * p.channels * int64_t(p.in_size) + place;
            const T *w = static_cast<const T *>(p.w) + tap;
            w += kTransposed ? (int64_t(group) * p.channels * p.features + feature) * p.tap_count
                             : int64_t(of) * p.channels * p.tap_count;
            const int64_t step = kTransposed ? int64_t(p.features) * p.tap_count : p.tap_count;
            for (int c = 0; c < p.channels; ++c)
                sum += convert<C>(x[c * int64_t(p.in_size)]) * convert<C>(w[c * step]);
        }
        static_cast<T *>(p.y)[i] = convert<T>(sum);
    }
}
#endif

#ifdef INFINI_KERNEL_CONVOLUTION_PRODUCT
#include "matmul/mma_tile.cuh"
#include "matmul/simt_tile.cuh"

// Convolution as a product of filters [features, taps * channels] and windows, which are not stored
// in memory. The host defines T, C (the type of sums), kTransposed, kRows, kColumns; for tensor
// cores INFINI_MMA = 1, kWarpsM, kWarpsN, otherwise kMicro.
namespace infini {
#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<C, kRows, kColumns, kMicro>;
#endif
}  // namespace infini

INFINI_ENTRY(infini::ConvolutionParams, infini::Product::kThreads, 1) {
    using namespace infini;
    const int group = int(blockIdx.y), row = int(blockIdx.x % p.tiles_m) * kRows;
    const int column = int(blockIdx.x / p.tiles_m) * kColumns;
    const int depth = p.tap_count * p.padded, columns = p.images * p.out_size;
    const MatmulOperand filters{p.w, depth, 1, int64_t(p.features) * depth};
    const StridedSource<T, true, true> a(filters, group, row, p.features, depth);
    const WindowSource<T, kTransposed> b{p, column, columns, group};
    const StoreWindows<T, C> finish{p, group, row, column};
    Product product;
#if INFINI_MMA
    INFINI_DYNAMIC_SHARED(shared);
    product.multiply(a, b, 0, depth, shared);
    product.store_runs(shared, p.features - row, columns - column, finish);
#else
    INFINI_SHARED Product::Shared shared;
    product.multiply(a, b, 0, depth, shared);
    product.store_runs(p.features - row, columns - column, finish);
#endif
}
#endif

#endif  // INFINI_DEVICE
