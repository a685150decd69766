// How a convolution by taps divides its work: regions of the output, the layout of the buffer that
// holds the input of a region, and blocks of features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../kernel.h"
#include "../threads.h"
#include "conv_tile.h"

namespace infini::cpu {

// y[out_first + o * out_step] = sum over c, t of w[t] * x[first + o * step + t * dilation], in each
// of three dimensions; missing dimensions come first and have size 1. Outside, the image is zero.
struct TapShape {
    static constexpr int kDims = 3;
    int dtype = 0;
    int64_t images = 0, groups = 1, channels = 0, features = 0;  // the last two: per group
    int64_t in[kDims] = {1, 1, 1}, out[kDims] = {1, 1, 1}, taps[kDims] = {1, 1, 1};
    int64_t first[kDims] = {0, 0, 0}, step[kDims] = {1, 1, 1}, dilation[kDims] = {1, 1, 1};
    int64_t grid[kDims] = {1, 1, 1};  // outputs that are computed
    int64_t out_first[kDims] = {0, 0, 0}, out_step[kDims] = {1, 1, 1};
    // Offset of tap 0 in the weights, and the strides of groups, features, channels and taps.
    int64_t w_first = 0, w_group = 0, w_feature = 0, w_channel = 0, w_tap[kDims] = {0, 0, 0};

    int64_t in_size() const { return in[0] * in[1] * in[2]; }
    int64_t out_size() const { return out[0] * out[1] * out[2]; }
    int64_t grid_size() const { return grid[0] * grid[1] * grid[2]; }
    int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
    int64_t reach(int d) const { return std::max<int64_t>(dilation[d] * (taps[d] - 1), 0); }
    // Taps have positions with remainders 0, 1, ... (this many) modulo the step.
    int64_t remainders(int d) const {
        return dilation[d] % step[d] == 0 ? 1 : std::min(step[d], reach(d) + 1);
    }
};

class TapLayout {
public:
    explicit TapLayout(const TapShape &shape) : s(shape) {
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

    // The share of computed outputs that are stored.
    double efficiency() const { return efficiency_; }
    bool fits() const { return fits_; }

    size_t workspace() const { return weights_size() + size_t(slots_) * buffer_size(); }

protected:
    static constexpr int64_t kBuffer = 96 << 10;      // elements
    static constexpr int64_t kLeastWork = 256 << 10;  // multiply-adds that justify a task
    static constexpr int64_t kLanes = int64_t(kWidth<float>);
    static constexpr int64_t kSlack = (kTapVectors + 2) * kLanes;  // read past the end

    struct Region {
        int64_t image, group, place[3], size[3];
    };

    static int64_t parts(int64_t count, int64_t each) { return (count + each - 1) / each; }

    // The buffer of a region: [channel][plane][row % step][column % step][row][column].
    void layout() {
        rows_ = size_[1] + s.reach(1) / s.step[1];
        pitch_ = size_[2] + s.reach(2) / s.step[2];
        planes_ = (size_[0] - 1) * s.step[0] + s.reach(0) + 1;
        // The padding to the right of a row is the padding to the left of the next one.
        lead_ = 0;
        const int64_t left = -s.first[2], right = size_[2] + s.reach(2) - left - s.in[2];
        if (s.step[2] == 1 && size_[2] == s.grid[2] && left > 0 && right > 0)
            lead_ = std::min(left, right), pitch_ -= lead_;
        plane_ = s.remainders(1) * s.remainders(2) * rows_ * pitch_;
        channel_ = planes_ * plane_;
        // With an odd number of cache lines per channel, channels use all sets of the L1 cache.
        if (s.channels > 1) channel_ = (parts(channel_, 16) | 1) * 16;
        const int64_t across = parts(size_[2], kLanes);
        const int64_t flat = parts((size_[1] - 1) * pitch_ + size_[2], kLanes);
        // A tile of a single vector is less efficient.
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
        // As large as fits, but a few tasks per thread as long as halos stay small.
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

    // Vectors hold neighbouring outputs or features, whichever fills the lanes better.
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

    // The first feature of a block; block sizes differ by at most one.
    int64_t block_begin(int64_t block) const {
        if (!across_) return block * s.features / blocks_;
        return std::min(block * vectors_ / blocks_ * kLaneFeatures, s.features);
    }
    int64_t packed_features() const { return across_ ? vectors_ * kLaneFeatures : s.features; }
    // The number of features computed for n features, including padding.
    int64_t padded(int64_t n) const {
        return across_ ? parts(n, kLaneFeatures) * kLaneFeatures : n;
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

    TapOffsets tap_offsets() const {
        return {offsets_.data(), int64_t(offsets_.size()), advance_, steps_, 2 * channel_, last_};
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
