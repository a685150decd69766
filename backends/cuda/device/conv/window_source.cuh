// The windows of an image as the columns of a matrix: column j is a place of the output, and k runs
// over taps and, inside, channels.
#pragma once

#include "convolution_params.h"
#include "matmul/sources.cuh"

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

// The place of x that a tap of an output's window meets, as an index, or -1.
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
    // For stages that fill themselves: what is not there is not read.
    INFINI_DEVICE int left(const Line &line, int k) const { return find(line, k) ? 16 : 0; }
    INFINI_DEVICE const T *address(const Line &line, int k) const {
        const T *from = find(line, k);
        return from ? from : static_cast<const T *>(p.x);
    }
};

// A tile of y [images, groups, features, out_size]: rows are features, columns places of all
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
