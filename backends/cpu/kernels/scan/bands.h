// Tensors of one shape seen as bands of neighbouring lines along an axis: the lines of a band are
// scanned together, element by element.
#pragma once

#include <algorithm>
#include <array>

#include "index/offsets.h"
#include "kernel.h"

namespace infini::cpu {

inline constexpr int64_t kBand = 256;  // lines

// The offsets of a band in each of `count` tensors, and its number of lines.
template <size_t count>
struct Band {
    std::array<int64_t, count> at;
    int64_t width;
};

template <size_t count>
class Bands {
public:
    // A 0-dimensional tensor is a line of one element. A negative axis counts from the end.
    Bands(const std::array<Tensor, count> &tensors, int axis) {
        const int ndim = tensors[0].ndim;
        if (axis < 0) axis += ndim;
        // The dimension along which the lines of all tensors are adjacent.
        int side = -1;
        for (int i = ndim - 1; i >= 0 && side < 0; --i) {
            bool near = i != axis && tensors[0].size(i) > 1;
            for (const Tensor &tensor : tensors) near &= tensor.stride(i) == 1;
            if (near) side = i;
        }
        if (side >= 0) lines_ = tensors[0].size(side);
        if (ndim > 0) size = tensors[0].size(axis);
        for (size_t t = 0; t < count; ++t) {
            int64_t sizes[Shape::kMost];
            for (int i = 0; i < ndim; ++i)
                sizes[i] = i == axis || i == side ? 1 : tensors[t].shape[i];
            offsets_[t] = Offsets({tensors[t].dtype, ndim, sizes, tensors[t].strides}, 0, ndim);
            step[t] = ndim > 0 ? tensors[t].stride(axis) : 0;
        }
        bands_ = (lines_ + kBand - 1) / kBand;
    }

    int64_t number() const { return offsets_[0].count() * bands_; }
    Band<count> operator[](int64_t index) const {
        int64_t first = 0;
        if (bands_ > 1) first = index % bands_ * kBand, index /= bands_;  // divisions are slow
        Band<count> band;
        for (size_t t = 0; t < count; ++t) band.at[t] = offsets_[t](index) + first;
        band.width = std::min(kBand, lines_ - first);
        return band;
    }
    // The number of bands that justify a thread.
    size_t grain() const {
        const int64_t work = size * std::min(lines_, kBand);
        return size_t(std::max<int64_t>(1, 8192 / std::max<int64_t>(1, work)));
    }

    int64_t size = 1;                      // of a line
    std::array<int64_t, count> step = {};  // between elements of a line

private:
    int64_t lines_ = 1;  // adjacent lines
    int64_t bands_ = 1;  // bands of these lines
    std::array<Offsets, count> offsets_;
};

}  // namespace infini::cpu
