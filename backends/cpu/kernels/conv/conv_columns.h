// The input of a convolution as a matrix [channels * taps, outputs] that is never materialized
// (implicit im2col): panels of it are read from the image when the product requests them.
#pragma once

#include <algorithm>

#include "../convert.h"
#include "../kernel.h"
#include "../matmul/matmul.h"

namespace infini::cpu {

// Sizes of a convolution with three spatial dimensions; missing ones come first and are 1.
struct ConvShape {
    static constexpr int kDims = 3;
    int dtype = 0;
    int64_t images = 0, channels = 0, features = 0;          // per group
    int64_t groups = 1, all_channels = 0, all_features = 0;  // in total
    int64_t in[kDims] = {1, 1, 1}, out[kDims] = {1, 1, 1}, taps[kDims] = {1, 1, 1};
    int64_t pad[kDims] = {0, 0, 0}, step[kDims] = {1, 1, 1}, dilation[kDims] = {1, 1, 1};

    int64_t in_size() const { return in[0] * in[1] * in[2]; }
    int64_t out_size() const { return out[0] * out[1] * out[2]; }
    int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
    // Whether a single tap covers the whole image: the matrix is then the image itself.
    bool is_plain() const {
        bool plain = tap_count() == 1;
        for (int i = 0; i < kDims; ++i) plain = plain && pad[i] == 0 && step[i] == 1;
        return plain;
    }
};

// The columns are the outputs of all images, starting at `data`.
template <class T>
class ConvColumns final : public Weights {
public:
    ConvColumns(const ConvShape &shape, const T *data) : s(shape), x(data) {}

    void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                int64_t stride) const override {
        write(k0, k, n0, n, panel, stride);
    }
    bool fills_panels() const override { return true; }

    // Writes floats, or elements without conversion.
    template <class To>
    void write(int64_t k0, int64_t k, int64_t n0, int64_t n, To *panel, int64_t stride) const {
        // Processes wide panels in slices, so that the runs of a slice fit on the stack.
        for (int64_t j = 0; j < n; j += kMostColumns) {
            slice(k0, k, n0 + j, std::min(kMostColumns, n - j), panel + j, stride);
        }
    }

private:
    static constexpr int64_t kMostColumns = 64;

    // Columns that belong to one row of outputs.
    struct Run {
        int64_t column, count;                   // in the panel
        int64_t image, place[ConvShape::kDims];  // of the first column
    };
    // The source of some columns for one tap: a contiguous range of an image row, or zeros.
    struct Piece {
        int64_t column, count;
        int64_t source;  // offset in a channel of the first image, or -1 for zeros
    };

    template <class To>
    void slice(int64_t k0, int64_t k, int64_t n0, int64_t n, To *panel, int64_t stride) const {
        Run runs[kMostColumns];
        int run_count = find_runs(n0, n, runs);
        const int64_t taps = s.tap_count(), channel = s.in_size();
        int64_t at[ConvShape::kDims] = {0, 0, 0};
        for (int64_t tap = 0; tap < taps; ++tap) {
            Piece pieces[3 * kMostColumns];
            int count = find_pieces(runs, run_count, at, pieces);
            // The rows of this tap: one in every `taps`, one per channel.
            int64_t first = k0 > tap ? (k0 - tap + taps - 1) / taps : 0;
            int64_t last = k0 + k > tap ? (k0 + k - tap + taps - 1) / taps : 0;
            To *to = panel + (first * taps + tap - k0) * stride;
            if (first < last) {
                copy(x + first * channel, last - first, pieces, count, to, taps * stride);
            }
            for (int d = ConvShape::kDims - 1; d >= 0 && ++at[d] == s.taps[d]; --d) at[d] = 0;
        }
    }

    int find_runs(int64_t n0, int64_t n, Run *runs) const {
        int count = 0;
        int64_t position = n0 % s.out_size(), image = n0 / s.out_size();
        int64_t row = position / s.out[2], place = position % s.out[2];
        for (int64_t j = 0; j < n;) {
            Run &run = runs[count++];
            run.column = j;
            run.count = std::min(n - j, s.out[2] - place);
            run.image = image;
            run.place[0] = row / s.out[1], run.place[1] = row % s.out[1], run.place[2] = place;
            j += run.count, place = 0;
            if (++row == s.out[0] * s.out[1]) row = 0, ++image;
        }
        return count;
    }

    // The outputs of a run whose tap is inside the image form one piece; those to its left and
    // right, or all if the tap's row is outside, are zero.
    int find_pieces(const Run *runs, int run_count, const int64_t *tap, Piece *pieces) const {
        int count = 0;
        auto add = [&](int64_t column, int64_t end, int64_t source) {
            if (end > column) pieces[count++] = {column, end - column, source};
        };
        for (int i = 0; i < run_count; ++i) {
            const Run &run = runs[i];
            int64_t end = run.column + run.count, source = run.image * s.all_channels;
            bool inside = true;
            for (int d = 0; d < 2; ++d) {
                int64_t at = run.place[d] * s.step[d] + tap[d] * s.dilation[d] - s.pad[d];
                inside = inside && at >= 0 && at < s.in[d];
                source = source * s.in[d] + at;
            }
            // Positions j of the run with 0 <= start + j * step < width.
            int64_t start = run.place[2] * s.step[2] + tap[2] * s.dilation[2] - s.pad[2];
            int64_t step = s.step[2], width = s.in[2];
            int64_t low = start >= 0 ? 0 : (step - 1 - start) / step;
            int64_t high = start >= width ? 0 : (width - start + step - 1) / step;
            if (!inside) low = high = 0;
            low = std::min(low, run.count), high = std::clamp(high, low, run.count);
            add(run.column, run.column + low, -1);
            add(run.column + low, run.column + high, source * width + start + low * step);
            add(run.column + high, end, -1);
        }
        return count;
    }

    template <class To>
    void copy(const T *from, int64_t channels, const Piece *pieces, int count, To *to,
              int64_t stride) const {
        const int64_t channel = s.in_size();
        for (int i = 0; i < count; ++i) {
            const Piece &piece = pieces[i];
            To *row = to + piece.column;
            const T *source = piece.source < 0 ? from : from + piece.source;
            if (piece.source < 0) {
                for (int64_t c = 0; c < channels; ++c, row += stride) {
                    std::fill(row, row + piece.count, To{});
                }
            } else if (s.step[2] == 1) {
                copy_rows(source, channel, channels, piece.count, row, stride);
            } else {
                for (int64_t c = 0; c < channels; ++c, row += stride, source += channel) {
                    copy_steps(source, piece.count, row);
                }
            }
        }
    }

    template <class To>
    INFINI_SIMD static To convert(T x) {
        if constexpr (std::is_same_v<To, T>) {
            return x;
        } else {
            return load_element<To>(x);
        }
    }

    // Short rows of many channels. The last vector of a row overlaps the one before.
    template <class To>
    static void copy_rows(const T *source, int64_t channel, int64_t channels, int64_t count, To *to,
                          int64_t stride) {
        if constexpr (std::is_same_v<To, float>) {
            constexpr int64_t width = int64_t(kWidth<float>);
            if (count >= width) {
                for (int64_t c = 0; c < channels; ++c, source += channel, to += stride) {
                    for (int64_t j = 0; j + width <= count; j += width)
                        store(to + j, load_f32(source + j));
                    if (count % width) store(to + count - width, load_f32(source + count - width));
                }
                return;
            }
        }
        if constexpr (std::is_same_v<To, T> && sizeof(T) == 2) {
            const auto copy = [&]<int width>(std::integral_constant<int, width>) {
                copy_vectors<width>(source, channel, channels, count, to, stride);
            };
            if (count >= 32) return copy(std::integral_constant<int, 32>());
            if (count >= 16) return copy(std::integral_constant<int, 16>());
            if (count >= 8) return copy(std::integral_constant<int, 8>());
            if (count >= 4) return copy(std::integral_constant<int, 4>());
        }
        for (int64_t c = 0; c < channels; ++c, source += channel, to += stride) {
            for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(source[i]);
        }
    }
    template <int width>
    static void copy_vectors(const T *source, int64_t channel, int64_t channels, int64_t count,
                             T *to, int64_t stride) {
        struct V {
            T values[width];
        };
        for (int64_t c = 0; c < channels; ++c, source += channel, to += stride) {
            V last;
            std::memcpy(&last, source + count - width, sizeof last);
            for (int64_t j = 0; j + width <= count; j += width) {
                V value;
                std::memcpy(&value, source + j, sizeof value);
                std::memcpy(to + j, &value, sizeof value);
            }
            std::memcpy(to + count - width, &last, sizeof last);
        }
    }

    template <class To>
    INFINI_SIMD void copy_steps(const T *source, int64_t count, To *to) const {
        const int64_t step = s.step[2];
        int64_t j = 0;
        if constexpr (std::is_same_v<To, float>) {
            constexpr int64_t width = int64_t(kWidth<float>);
            // The last pair may end outside the image: the last elements are converted one by one.
            for (; step == 2 && j + width < count; j += width) {
                const TwoF32 both = load_two(source + 2 * j);
                store(to + j, __builtin_shuffle(both.first, both.second, iota<I32>() * 2));
            }
        }
        for (; j < count; ++j) to[j] = convert<To>(source[j * step]);
    }

    const ConvShape &s;
    const T *x;
};

}  // namespace infini::cpu
