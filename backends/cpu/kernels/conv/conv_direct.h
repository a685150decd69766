// Convolution of groups with few features, above all with one channel each: too little for a matrix
// product. A tile of the image goes into a buffer as floats, with zeros around it and, of steps in a
// row, the columns of each remainder side by side. There every tap of a vector of outputs is a
// vector, and the sums stay in registers.
#pragma once

#include "../threads.h"
#include "conv_columns.h"

namespace infini::cpu {

class DirectConvolution {
public:
    static bool suits(const ConvShape &s) {
        return s.groups > 1 && s.features < 8 && s.channels * s.tap_count() <= kMostTaps &&
               s.step[2] <= 8 && DirectConvolution(s).rows_ > 0;
    }

    explicit DirectConvolution(const ConvShape &shape) : s(shape) {
        reach_ = s.dilation[2] * (s.taps[2] - 1) + 1;
        const int64_t parts = (s.out[2] + kWide - 1) / kWide;
        wide_ = (s.out[2] + parts - 1) / parts;
        across_ = (s.out[2] + wide_ - 1) / wide_;
        // Outputs are computed in whole vectors, which read that much more.
        const int64_t vectors = (wide_ + kLanes - 1) / kLanes;
        pitch_ = vectors * kLanes + (reach_ - 1) / s.step[2] + 1;
        const int64_t row = s.channels * s.taps[0] * pitch_ * s.step[2];
        const int64_t reach = s.dilation[1] * (s.taps[1] - 1) + 1;
        rows_ = kBuffer / row >= reach ? (kBuffer / row - reach) / s.step[1] + 1 : 0;
        if (rows_ == 0) return;
        down_ = (s.out[1] + rows_ - 1) / rows_;
        rows_ = (s.out[1] + down_ - 1) / down_;
        high_ = (rows_ - 1) * s.step[1] + reach;
    }

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias) const {
        const int64_t tiles = s.images * s.groups * s.out[0] * down_ * across_;
        const int64_t work = rows_ * wide_ * (s.features * s.channels * s.tap_count() + 4);
        const size_t grain = size_t(std::max<int64_t>(1, 32768 / work));
        parallel_for(size_t(tiles), grain, [&](size_t begin, size_t end) {
            using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
            alignas(64) C buffer[kBuffer + kLanes];
            for (int64_t tile = int64_t(begin); tile < int64_t(end); ++tile) {
                int64_t rest = tile;
                auto next = [&rest](int64_t count) {
                    const int64_t at = rest % count;
                    rest /= count;
                    return at;
                };
                Tile at;
                at.column = next(across_) * wide_, at.row = next(down_) * rows_;
                at.depth = next(s.out[0]), at.group = next(s.groups), at.image = rest;
                at.columns = std::min(wide_, s.out[2] - at.column);
                at.rows = std::min(rows_, s.out[1] - at.row);
                fill(x, at, buffer);
                for (int64_t f = 0; f < s.features; ++f) compute(y, w, bias, at, f, buffer);
            }
        });
    }

private:
    static constexpr int64_t kBuffer = 12288, kWide = 512, kMostTaps = 512;
    static constexpr int64_t kLanes = int64_t(kWidth<float>);

    // Outputs [row, row + rows) x [column, column + columns) of a group's features.
    struct Tile {
        int64_t image, group, depth, row, rows, column, columns;
    };

    // The buffer: [channel][tap 0][row][remainder][column].
    template <class T, class C>
    void fill(const T *x, const Tile &at, C *to) const {
        x += (at.image * s.all_channels + at.group * s.channels) * s.in_size();
        const int64_t top = at.row * s.step[1] - s.pad[1];
        const int64_t left = at.column * s.step[2] - s.pad[2];
        for (int64_t c = 0; c < s.channels; ++c)
            for (int64_t t = 0; t < s.taps[0]; ++t) {
                const int64_t depth = at.depth * s.step[0] + t * s.dilation[0] - s.pad[0];
                for (int64_t r = 0; r < high_; ++r, to += pitch_ * s.step[2]) {
                    const int64_t row = top + r;
                    if (depth < 0 || depth >= s.in[0] || row < 0 || row >= s.in[1])
                        std::fill(to, to + pitch_ * s.step[2], C(0));
                    else
                        fill_row(x + ((c * s.in[0] + depth) * s.in[1] + row) * s.in[2], left, to);
                }
            }
    }

    template <class T, class C>
    void fill_row(const T *row, int64_t left, C *to) const {
        const int64_t step = s.step[2];
        for (int64_t phase = 0; phase < step; ++phase, to += pitch_) {
            // Columns j with 0 <= first + j * step < width lie on the image.
            const int64_t first = left + phase, width = s.in[2];
            int64_t low = first >= 0 ? 0 : (step - 1 - first) / step;
            int64_t high = first >= width ? 0 : (width - first + step - 1) / step;
            low = std::min(low, pitch_), high = std::clamp(high, low, pitch_);
            std::fill(to, to + low, C(0));
            const T *from = row + first + low * step;
            if (step == 1)
                load_block(to + low, from, size_t(high - low));
            else if (step == 2)
                every_second(from, to + low, high - low);
            else
                for (int64_t j = 0; j < high - low; ++j)
                    to[low + j] = load_element<C>(from[j * step]);
            std::fill(to + high, to + pitch_, C(0));
        }
    }

    template <class T, class C>
    static void every_second(const T *from, C *to, int64_t count) {
        int64_t j = 0;
        // The second of the last pair may lie outside.
        if constexpr (std::is_same_v<C, float>)
            for (; j + kLanes < count; j += kLanes) {
                const TwoF32 both = load_two(from + 2 * j);
                store(to + j, __builtin_shuffle(both.first, both.second, iota<I32>() * 2));
            }
        for (; j < count; ++j) to[j] = load_element<C>(from[2 * j]);
    }

    template <class T, class C>
    void compute(T *y, const T *w, const T *bias, const Tile &at, int64_t f,
                 const C *buffer) const {
        const int64_t feature = at.group * s.features + f, taps = s.channels * s.tap_count();
        w += feature * taps;
        C weights[kMostTaps];
        int32_t places[kMostTaps];
        load_block(weights, w, size_t(taps));
        int64_t tap = 0;
        const int64_t line = pitch_ * s.step[2];
        for (int64_t c = 0; c < s.channels * s.taps[0]; ++c)
            for (int64_t i = 0; i < s.taps[1]; ++i)
                for (int64_t j = 0; j < s.taps[2]; ++j) {
                    const int64_t reach = j * s.dilation[2];
                    places[tap++] = int32_t((c * high_ + i * s.dilation[1]) * line +
                                            reach % s.step[2] * pitch_ + reach / s.step[2]);
                }
        const C begin = bias ? load_element<C>(bias[feature]) : C(0);
        y += (((at.image * s.all_features + feature) * s.out[0] + at.depth) * s.out[1] + at.row) *
                 s.out[2] +
             at.column;
        for (int64_t r = 0; r < at.rows; ++r, y += s.out[2], buffer += s.step[1] * line)
            compute_row(y, buffer, weights, places, taps, at.columns, begin);
    }

    template <class T, class C>
    static void compute_row(T *y, const C *row, const C *weights, const int32_t *places,
                            int64_t taps, int64_t columns, C begin) {
        using V = Vec<C>;
        constexpr int64_t width = int64_t(kWidth<C>);
        auto some = [&]<int kVectors>(std::integral_constant<int, kVectors>, int64_t j) {
            V sums[kVectors];
            for (V &sum : sums) sum = broadcast<V>(begin);
            for (int64_t t = 0; t < taps; ++t) {
                const V weight = broadcast<V>(weights[t]);
                const C *from = row + places[t] + j;
                for (int k = 0; k < kVectors; ++k)
                    sums[k] = fma(load<V>(from + k * width), weight, sums[k]);
            }
            C values[kVectors * width];
            for (int k = 0; k < kVectors; ++k) store(values + k * width, sums[k]);
            const int64_t n = std::min<int64_t>(kVectors * width, columns - j);
            if (n == kVectors * width)
                store_block(y + j, values, size_t(kVectors * width));
            else
                store_block(y + j, values, size_t(n));
        };
        int64_t j = 0;
        for (; j + 2 * width < columns; j += 4 * width) some(std::integral_constant<int, 4>{}, j);
        for (; j + width < columns; j += 2 * width) some(std::integral_constant<int, 2>{}, j);
        for (; j < columns; j += width) some(std::integral_constant<int, 1>{}, j);
    }

    const ConvShape s;
    int64_t reach_;                   // elements of a row that an output reads
    int64_t wide_, rows_, high_ = 0;  // outputs of a tile, and rows of the image that it reads
    int64_t across_, down_ = 1;       // tiles of a plane
    int64_t pitch_;                   // columns of the buffer
};

}  // namespace infini::cpu
