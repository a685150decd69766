// Convolution tap by tap, without a matrix of columns. The input of a region of the output is
// copied to a buffer that fits into L2, converted to the compute type and padded with zeros; with
// strides, rows and columns are grouped by their remainders. In the buffer, each tap of
// neighbouring outputs is a vector at a constant offset. Vectors continue from the end of a row to
// the next row; the results between rows are not stored.
#pragma once

#include <atomic>

#include "../convert.h"
#include "../copy/transpose.h"
#include "tap_layout.h"

namespace infini::cpu {

class TapConvolution : public TapLayout {
public:
    using TapLayout::TapLayout;

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        C *weights = reinterpret_cast<C *>(memory);
        pack(w, weights);
        const int64_t tasks = s.images * s.groups * regions_ * splits_;
        const int64_t each =
            s.features * std::max<int64_t>(steps_, 8) * size_[0] * size_[1] * size_[2] / splits_;
        // Threads take tasks one after another; neighbouring tasks may share the buffer's contents.
        const int64_t grain = std::max<int64_t>(1, kLeastWork / std::max<int64_t>(each, 1));
        const int64_t slots = std::min(slots_, parts(tasks, grain));
        std::atomic<int64_t> taken = 0;
        parallel_for(size_t(slots), 1, [&](size_t first, size_t last) {
            for (size_t slot = first; slot < last; ++slot) {
                C *buffer = reinterpret_cast<C *>(memory + weights_size() + slot * buffer_size());
                int64_t filled = -1;
                for (;;) {
                    const int64_t begin = taken.fetch_add(grain, std::memory_order_relaxed);
                    if (begin >= tasks) break;
                    const int64_t end = std::min(begin + grain, tasks);
                    for (int64_t task = begin; task < end; ++task) {
                        const Region at = region(task / splits_);
                        if (filled != task / splits_ && steps_ > 0) fill(x, at, buffer);
                        filled = task / splits_;
                        compute(y, bias, at, task % splits_, weights, buffer);
                    }
                }
            }
        });
    }

private:
    // Packs the weights of each block as [channel][tap][feature].
    template <class T, class C>
    void pack(const T *w, C *to) const {
        const size_t grain = size_t(
            std::max<int64_t>(1, 16384 / std::max<int64_t>(1, steps_ * s.features / blocks_)));
        parallel_for(size_t(s.groups * blocks_), grain, [&](size_t first, size_t last) {
            for (int64_t at = int64_t(first); at < int64_t(last); ++at) {
                const int64_t group = at / blocks_, block = at % blocks_;
                const int64_t f0 = block_begin(block), n = block_begin(block + 1) - f0;
                pack_block(w + s.w_first + group * s.w_group + f0 * s.w_feature, n,
                           to + (group * packed_features() + f0) * steps_);
            }
        });
    }

    template <class T, class C>
    void pack_block(const T *w, int64_t n, C *to) const {
        const int64_t wide = padded(n);
        for (int64_t k = 0; wide > n && k < steps_; ++k)
            std::fill(to + k * wide + n, to + (k + 1) * wide, C(0));
        const bool in_order = s.w_tap[2] == 1 && s.w_tap[1] == s.taps[2] &&
                              s.w_tap[0] == s.taps[1] * s.taps[2] &&
                              (s.w_channel == s.tap_count() || s.channels == 1);
        if (in_order) {
            if constexpr (std::is_same_v<T, float>) {
                constexpr int64_t kPart = 1024;
                for (int64_t k = 0; k < steps_; k += kPart)
                    transpose_block<uint32_t>(reinterpret_cast<char *>(to + k * wide), wide * 4,
                                              reinterpret_cast<const char *>(w + k),
                                              s.w_feature * 4, n, std::min(kPart, steps_ - k));
                return;
            }
            for (int64_t k = 0; k < steps_; ++k, to += wide)
                for (int64_t f = 0; f < n; ++f) to[f] = load_element<C>(w[f * s.w_feature + k]);
            return;
        }
        for (int64_t c = 0; c < s.channels; ++c)
            for (int64_t i = 0; i < s.taps[0]; ++i)
                for (int64_t j = 0; j < s.taps[1]; ++j)
                    for (int64_t k = 0; k < s.taps[2]; ++k, to += wide) {
                        const T *from =
                            w + c * s.w_channel + i * s.w_tap[0] + j * s.w_tap[1] + k * s.w_tap[2];
                        for (int64_t f = 0; f < n; ++f)
                            to[f] = load_element<C>(from[f * s.w_feature]);
                    }
    }

    template <class T, class C>
    void fill(const T *x, const Region &at, C *to) const {
        const int64_t top = s.first[1] + at.place[1] * s.step[1];
        const int64_t left = s.first[2] + at.place[2] * s.step[2];
        const T *end = x + s.images * s.groups * s.channels * s.in_size();
        x += (at.image * s.groups + at.group) * s.channels * s.in_size();
        const int64_t gap = channel_ - planes_ * plane_;
        for (int64_t c = 0; c < s.channels; ++c, x += s.in_size()) {
            for (int64_t p = 0; p < planes_; ++p, to += plane_) {
                if (p % s.step[0] >= s.remainders(0)) continue;
                const int64_t plane = s.first[0] + at.place[0] * s.step[0] + p;
                if (plane < 0 || plane >= s.in[0]) {
                    clear(to, plane_);
                    continue;
                }
                const T *from = x + plane * s.in[1] * s.in[2];
                for (int64_t i = 0; i < s.remainders(1); ++i)
                    for (int64_t j = 0; j < s.remainders(2); ++j)
                        fill_rows(from, end, top + i, left + j,
                                  to + (i * s.remainders(2) + j) * rows_ * pitch_);
            }
            clear(to, gap);
            to += gap;
        }
        std::fill(to, to + kSlack, C(0));
    }

    // Stores whole vectors: elements after n are overwritten later.
    template <class C>
    INFINI_SIMD static void clear(C *to, int64_t n) {
        for (int64_t j = 0; j < n; j += int64_t(kWidth<C>)) store(to + j, Vec<C>{});
    }

    // Fills the rows and columns of one remainder.
    template <class T, class C>
    void fill_rows(const T *from, const T *end, int64_t row, int64_t left, C *to) const {
        const int64_t step = s.step[2], width = s.in[2];
        // Columns j with 0 <= left + j * step < width are inside the image.
        int64_t low = left >= 0 ? 0 : (step - 1 - left) / step;
        int64_t high = left >= width ? 0 : (width - left + step - 1) / step;
        low = std::min(low, pitch_), high = std::clamp(high, low, pitch_);
        const int64_t count = high - low, start = left + low * step;
        for (int64_t r = 0; r < rows_; ++r, row += s.step[1], to += pitch_) {
            if (row < 0 || row >= s.in[1]) {
                clear(to, pitch_);
                continue;
            }
            clear(to, low);
            copy_row(from + row * width + start, end, count, to + low);
            clear(to + high, pitch_ - high);
        }
    }

    template <class T, class C>
    INFINI_SIMD void copy_row(const T *from, const T *end, int64_t count, C *to) const {
        int64_t j = 0;
        if constexpr (std::is_same_v<C, float>) {
            if (s.step[2] == 1) {
                for (; j < count && from + j + kLanes <= end; j += kLanes)
                    store(to + j, load_f32(from + j));
            } else if (s.step[2] == 2) {
                for (; j < count && from + 2 * (j + kLanes) <= end; j += kLanes) {
                    const TwoF32 both = load_two(from + 2 * j);
                    store(to + j, __builtin_shuffle(both.first, both.second, iota<I32>() * 2));
                }
            }
        }
        for (; j < count; ++j) to[j] = load_element<C>(from[j * s.step[2]]);
    }

    template <class T, class C>
    void compute(T *y, const T *bias, const Region &at, int64_t split, const C *weights,
                 const C *buffer) const {
        const int64_t first = split * blocks_ / splits_, last = (split + 1) * blocks_ / splits_;
        const int64_t all = s.groups * s.features;
        y += (at.image * all + at.group * s.features) * s.out_size();
        for (int d = 0; d < 3; ++d) {
            int64_t stride = 1;
            for (int e = d + 1; e < 3; ++e) stride *= s.out[e];
            y += (s.out_first[d] + at.place[d] * s.out_step[d]) * stride;
        }
        for (int64_t block = first; block < last; ++block) {
            const int64_t f0 = block_begin(block), n = block_begin(block + 1) - f0;
            const int64_t feature = at.group * s.features + f0;
            C begin[std::max(kTapFeatures, 3 * int(kLaneFeatures))] = {};
            for (int64_t f = 0; bias && f < n; ++f) begin[f] = load_element<C>(bias[feature + f]);
            const C *w = weights + (at.group * packed_features() + f0) * steps_;
            T *to = y + f0 * s.out_size();
            for (int64_t d = 0; d < at.size[0]; ++d) {
                const C *from = buffer + d * s.step[0] * plane_;
                T *plane = to + d * s.out_step[0] * s.out[1] * s.out[2];
                if (across_)
                    across(plane, from, w, begin, n, at.size[1], at.size[2]);
                else if (by_rows_)
                    for (int64_t r = 0; r < at.size[1]; ++r)
                        line(plane + r * s.out_step[1] * s.out[2], from + r * pitch_, w, begin, n,
                             1, at.size[2]);
                else
                    line(plane, from, w, begin, n, at.size[1], at.size[2]);
            }
        }
    }

    // Rows of outputs with features across lanes, transposed before they are stored.
    template <class T, class C>
    void across(T *y, const C *from, const C *w, const C *begin, int64_t features, int64_t rows,
                int64_t columns) const {
        if constexpr (std::is_same_v<C, float>) {
            constexpr int64_t width = kLaneFeatures;
            const int64_t vectors = parts(features, width), most = most_tap_places(int(vectors));
            const TapOffsets taps = tap_offsets();
            const auto &kernels = vectors == 2 ? kAddTapsAcross<2> : kAddTapsAcross<3>;
            for (int64_t r = 0, two; r < rows; r += two) {
                two = r + 1 < rows && columns <= most / 2 ? 2 : 1;
                int64_t cuts = parts(columns, two == 2 ? most / 2 : most);
                for (int64_t c = 0, n; c < columns; c += n, --cuts) {
                    n = parts(columns - c, cuts);
                    alignas(64) float sums[28 * width], turned[28 * width];
                    kernels[size_t(two - 1)][size_t(n - 1)](taps, from + r * pitch_ + c, pitch_, w,
                                                            begin, sums);
                    const int64_t places = two * n;
                    transpose_block<uint32_t>(reinterpret_cast<char *>(turned), places * 4,
                                              reinterpret_cast<const char *>(sums),
                                              vectors * width * 4, places, features);
                    for (int64_t i = 0; i < two; ++i)
                        put(y, (r + i) * s.out_step[1] * s.out[2] + c * s.out_step[2], 0,
                            turned + i * n, places, features, n);
                }
            }
        }
    }

    // Rows of outputs, consecutive in the buffer.
    template <class T, class C>
    void line(T *y, const C *from, const C *w, const C *begin, int64_t features, int64_t rows,
              int64_t columns) const {
        constexpr int64_t width = int64_t(kWidth<C>);
        const TapOffsets taps = tap_offsets();
        const auto &kernels = kAddTaps<C>[size_t(features - 1)];
        const int64_t places = (rows - 1) * pitch_ + columns, vectors = parts(places, width);
        int64_t tiles = parts(vectors, most_tap_vectors(int(features)));
        const bool dense = columns == s.out[2] && s.out_step[1] == 1 && s.out_step[2] == 1;
        const int64_t end = dense ? rows * columns : 0;
        int64_t row = 0, column = 0;  // of the tile's first position
        for (int64_t done = 0; done < vectors; --tiles) {
            const int64_t n = parts(vectors - done, tiles);
            const C *at = from + done * width;
            const auto kernel = kernels[size_t(n - 1)];
            if constexpr (std::is_same_v<T, C>)
                if (s.out_step[2] == 1 && column + n * width <= columns) {
                    kernel(taps, at, w, begin, y + row * s.out_step[1] * s.out[2] + column,
                           s.out_size());
                    done += n, column += n * width;
                    if (column == pitch_) column = 0, ++row;
                    continue;
                }
            alignas(64) C sums[kTapSums * width];
            kernel(taps, at, w, begin, sums, n * width);
            for (int64_t j = 0; j < n * width;) {
                const int64_t count = std::min(columns - column, n * width - j);
                if (count > 0)
                    put(y, row * s.out_step[1] * s.out[2] + column * s.out_step[2], end, sums + j,
                        n * width, features, count);
                const int64_t whole = std::min(pitch_ - column, n * width - j);
                j += whole, column += whole;
                if (column == pitch_) {
                    column = 0;
                    if (++row == rows) break;
                }
            }
            done += n;
        }
    }

    // Stores `count` outputs of each feature. Outputs before `end` are overwritten later, so whole
    // vectors may be stored there.
    template <class T, class C>
    void put(T *y, int64_t at, int64_t end, const C *sums, int64_t pitch, int64_t features,
             int64_t count) const {
        y += at;
        for (int64_t f = 0; f < features; ++f, y += s.out_size(), sums += pitch) {
            int64_t j = 0;
            if constexpr (std::is_same_v<C, float>)
                if (s.out_step[2] == 1)
                    for (; j < count && (j + kLanes <= count || at + j + kLanes <= end);
                         j += kLanes)
                        store_f32(y + j, load<F32>(sums + j));
            for (; j < count; ++j) store_element(y[j * s.out_step[2]], sums[j]);
        }
    }
};

}  // namespace infini::cpu
