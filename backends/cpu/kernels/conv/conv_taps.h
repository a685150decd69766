// Convolution tap by tap, without a matrix of columns. A region of the image goes into a buffer in
// the second cache as numbers that are computed with, with zeros around it and, of steps, the rows
// and columns of each remainder together. There a tap of neighbouring outputs is a vector at an
// offset, and goes on from the end of a row to the next one: what falls between rows is not stored.
#pragma once

#include <atomic>

#include "../convert.h"
#include "../copy/transpose.h"
#include "../kernel.h"
#include "../threads.h"
#include "conv_tile.h"

namespace infini::cpu {

// y[out_first + o * out_step] = sum over c, t of w[t] * x[first + o * step + t * dilation], for each
// of three dimensions; missing ones come first and are 1. Places beyond the image are zero.
struct TapShape {
    static constexpr int kDims = 3;
    int dtype = 0;
    int64_t images = 0, groups = 1, channels = 0, features = 0;  // the last two of a group
    int64_t in[kDims] = {1, 1, 1}, out[kDims] = {1, 1, 1}, taps[kDims] = {1, 1, 1};
    int64_t first[kDims] = {0, 0, 0}, step[kDims] = {1, 1, 1}, dilation[kDims] = {1, 1, 1};
    int64_t grid[kDims] = {1, 1, 1};  // outputs that are computed
    int64_t out_first[kDims] = {0, 0, 0}, out_step[kDims] = {1, 1, 1};
    // Elements of the weights: of tap 0, and from one group, feature, channel or tap to the next.
    int64_t w_first = 0, w_group = 0, w_feature = 0, w_channel = 0, w_tap[kDims] = {0, 0, 0};

    int64_t in_size() const { return in[0] * in[1] * in[2]; }
    int64_t out_size() const { return out[0] * out[1] * out[2]; }
    int64_t grid_size() const { return grid[0] * grid[1] * grid[2]; }
    int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
    int64_t reach(int d) const { return std::max<int64_t>(dilation[d] * (taps[d] - 1), 0); }
    // Remainders of places by the step on which taps fall: 0, 1, ...
    int64_t remainders(int d) const {
        return dilation[d] % step[d] == 0 ? 1 : std::min(step[d], reach(d) + 1);
    }
};

class TapConvolution {
public:
    explicit TapConvolution(const TapShape &shape) : s(shape) {
        steps_ = s.channels * s.tap_count();
        slots_ = int64_t(thread_count());
        choose_region(slots_);
        choose_lanes();
        regions_ = 1;
        for (int d = 0; d < 3; ++d) cuts_[d] = parts(s.grid[d], size_[d]), regions_ *= cuts_[d];
        const int64_t work = s.images * s.groups * regions_;
        splits_ = std::clamp<int64_t>(parts(3 * slots_, work), 1, std::min<int64_t>(blocks_, 16));
        if (s.images * s.groups * s.grid_size() * s.features * std::max<int64_t>(steps_, 8) <
            kLeastWork)
            splits_ = 1;
        offsets();
    }

    // How much of what is computed is wanted.
    double efficiency() const { return efficiency_; }
    bool fits() const { return fits_; }

    size_t workspace() const { return weights_size() + size_t(slots_) * buffer_size(); }

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        C *weights = reinterpret_cast<C *>(memory);
        pack(w, weights);
        const int64_t tasks = s.images * s.groups * regions_ * splits_;
        const int64_t each =
            s.features * std::max<int64_t>(steps_, 8) * size_[0] * size_[1] * size_[2] / splits_;
        // A task is taken when the one before is done; neighbours may share what is in the buffer.
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
    static constexpr int64_t kBuffer = 96 << 10;      // numbers
    static constexpr int64_t kLeastWork = 256 << 10;  // products that are worth a task
    static constexpr int64_t kLanes = int64_t(kWidth<float>);
    static constexpr int64_t kSlack = (kTapVectors + 2) * kLanes;  // read behind the last place

    struct Region {
        int64_t image, group, place[3], size[3];
    };

    static int64_t parts(int64_t count, int64_t each) { return (count + each - 1) / each; }

    // The buffer of a region: [channel][plane][row % step][column % step][row][column].
    void layout() {
        rows_ = size_[1] + s.reach(1) / s.step[1];
        pitch_ = size_[2] + s.reach(2) / s.step[2];
        planes_ = (size_[0] - 1) * s.step[0] + s.reach(0) + 1;
        // What is right of a row is what is left of the next one.
        lead_ = 0;
        const int64_t left = -s.first[2], right = size_[2] + s.reach(2) - left - s.in[2];
        if (s.step[2] == 1 && size_[2] == s.grid[2] && left > 0 && right > 0)
            lead_ = std::min(left, right), pitch_ -= lead_;
        plane_ = s.remainders(1) * s.remainders(2) * rows_ * pitch_;
        channel_ = planes_ * plane_;
        // An odd number of lines apart, channels are spread over all sets of the first cache.
        if (s.channels > 1) channel_ = (parts(channel_, 16) | 1) * 16;
        const int64_t across = parts(size_[2], kLanes);
        const int64_t flat = parts((size_[1] - 1) * pitch_ + size_[2], kLanes);
        // A single vector at a time takes longer.
        by_rows_ = across * size_[1] * (across == 1 ? 4 : 3) <= 3 * flat;
        efficiency_ =
            double(size_[1] * size_[2]) / double(kLanes * (by_rows_ ? across * size_[1] : flat));
    }

    void choose_region(int64_t threads) {
        for (int d = 0; d < 3; ++d) size_[d] = d == 2 ? s.grid[d] : 1;
        auto room = [&] { return layout(), channel_ * s.channels <= kBuffer; };
        while (!room() && size_[2] > 8 * kLanes) {
            const int64_t cuts = parts(s.grid[2], size_[2]) + 1;
            const int64_t even = parts(parts(s.grid[2], cuts), kLanes) * kLanes;
            size_[2] = std::min(even, size_[2] - kLanes);
        }
        fits_ = channel_ * s.channels <= 6 * kBuffer;
        // As much as fits, but some tasks for each thread as long as halos stay small.
        for (int d = 1; d >= 0; --d) {
            int64_t low = 1, high = s.grid[d];
            while (low < high) {
                size_[d] = (low + high + 1) / 2;
                if (room())
                    low = size_[d];
                else
                    high = size_[d] - 1;
            }
            size_[d] = low;
            int64_t others = s.images * s.groups;
            for (int e = 0; e < 3; ++e)
                if (e != d) others *= parts(s.grid[e], size_[e]);
            const int64_t wanted = parts(3 * threads, others);
            const int64_t least = 4 * (s.reach(d) / s.step[d] + 1);
            const int64_t fewer = parts(s.grid[d], wanted);
            size_[d] = std::min(size_[d], std::max(fewer, least));
            size_[d] = parts(s.grid[d], parts(s.grid[d], size_[d]));
            if (size_[d] < s.grid[d]) break;
        }
        layout();
    }

    void offsets() {
        const int64_t taps = s.tap_count();
        const int64_t some = taps ? std::clamp<int64_t>(8 / taps, 1, s.channels) : 0;
        last_ = (some + 2) * taps;
        for (int64_t c = 0; c < some; ++c)
            for (int64_t i = 0; i < s.taps[0]; ++i)
                for (int64_t j = 0; j < s.taps[1]; ++j)
                    for (int64_t k = 0; k < s.taps[2]; ++k)
                        offsets_.push_back(int32_t(c * channel_ + offset(i, j, k)));
        advance_ = some * channel_;
    }

    int64_t offset(int64_t i, int64_t j, int64_t k) const {
        const int64_t row = j * s.dilation[1], column = k * s.dilation[2];
        const int64_t remainder = row % s.step[1] * s.remainders(2) + column % s.step[2];
        return i * s.dilation[0] * plane_ + remainder * rows_ * pitch_ + row / s.step[1] * pitch_ +
               column / s.step[2];
    }

    // Vectors of places or of features, whichever are filled better.
    void choose_lanes() {
        vectors_ = parts(s.features, kLaneFeatures);
        const double filled = double(s.features) / double(vectors_ * kLaneFeatures);
        across_ = kVectorBytes == 64 && s.dtype != INFINI_DTYPE_F64 && steps_ >= 192 &&
                  vectors_ > 1 && 0.93 * filled > efficiency_;
        blocks_ = across_ ? vectors_ / 2 : parts(s.features, kTapFeatures);
        if (across_) efficiency_ = filled;
    }

    int64_t element() const { return s.dtype == INFINI_DTYPE_F64 ? 8 : 4; }
    size_t weights_size() const {
        return size_t(s.groups * packed_features() * steps_ * element() + 63) / 64 * 64;
    }
    size_t buffer_size() const {
        return size_t((s.channels * channel_ + kSlack) * element() + 63) / 64 * 64 + 192;
    }

    // The first feature of a block; blocks differ by one at most.
    int64_t block_begin(int64_t block) const {
        if (!across_) return block * s.features / blocks_;
        return std::min(block * vectors_ / blocks_ * kLaneFeatures, s.features);
    }
    int64_t packed_features() const { return across_ ? vectors_ * kLaneFeatures : s.features; }
    // Features that are computed for n.
    int64_t padded(int64_t n) const {
        return across_ ? parts(n, kLaneFeatures) * kLaneFeatures : n;
    }

    // Of each block [channel][tap][feature].
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

    Region region(int64_t rest) const {
        Region at;
        for (int d = 2; d >= 0; --d) {
            at.place[d] = rest % cuts_[d] * size_[d], rest /= cuts_[d];
            at.size[d] = std::min(size_[d], s.grid[d] - at.place[d]);
        }
        at.group = rest % s.groups, at.image = rest / s.groups;
        return at;
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

    // Whole vectors: those behind the n are written again, they come later.
    template <class C>
    INFINI_SIMD static void clear(C *to, int64_t n) {
        for (int64_t j = 0; j < n; j += int64_t(kWidth<C>)) store(to + j, Vec<C>{});
    }

    // The rows and columns of one remainder.
    template <class T, class C>
    void fill_rows(const T *from, const T *end, int64_t row, int64_t left, C *to) const {
        const int64_t step = s.step[2], width = s.in[2];
        // Columns j with 0 <= left + j * step < width lie on the image.
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

    TapOffsets tap_offsets() const {
        return {offsets_.data(), int64_t(offsets_.size()), advance_, steps_, 2 * channel_, last_};
    }

    // Rows of outputs, their features side by side until they are stored.
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

    // Rows of outputs that follow each other in the buffer.
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
        int64_t row = 0, column = 0;  // of the tile's first place
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

    // A run of each feature. Outputs before `end` may be written too early: they come later.
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

    TapShape s;
    int64_t steps_, blocks_, splits_ = 1, slots_ = 1;
    int64_t size_[3] = {1, 1, 1}, cuts_[3], regions_ = 1;
    int64_t rows_ = 0, pitch_ = 0, planes_ = 0, plane_ = 0, channel_ = 0, lead_ = 0;
    bool by_rows_ = false, fits_ = true, across_ = false;
    int64_t vectors_ = 1;  // of features
    double efficiency_ = 1;
    std::vector<int32_t> offsets_;
    int64_t advance_ = 0, last_ = 0;
};

}  // namespace infini::cpu
