// Offsets of the i-th element (or row) of a tensor, in row-major order.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernel.h"

namespace infini::cpu {

// memcpy for short rows: two halves that overlap.
inline void copy_short(char *to, const char *from, size_t bytes) {
    auto halves = [&](auto cell) {
        decltype(cell) last;
        std::memcpy(&cell, from, sizeof cell);
        std::memcpy(&last, from + bytes - sizeof last, sizeof last);
        std::memcpy(to, &cell, sizeof cell);
        std::memcpy(to + bytes - sizeof last, &last, sizeof last);
    };
    struct Sixteen {
        uint64_t words[2];
    };
    if (bytes > 32)
        std::memcpy(to, from, bytes);
    else if (bytes >= 16)
        halves(Sixteen{});
    else if (bytes >= 8)
        halves(uint64_t{});
    else if (bytes >= 4)
        halves(uint32_t{});
    else
        for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// Offsets over some dimensions, merged where the strides allow it, which saves a division each.
class Offsets {
public:
    Offsets() = default;
    // The dimensions [first, last) of a tensor; the strides are multiplied by `scale`.
    Offsets(const Tensor &tensor, int first, int last, int64_t scale = 1) {
        for (int i = first; i < last; ++i) {
            const int64_t size = tensor.shape[i], stride = tensor.strides[i] * scale;
            count_ *= size;
            if (size == 1) continue;
            if (ndim_ && stride_[ndim_ - 1] == size * stride)
                size_[ndim_ - 1] *= size, stride_[ndim_ - 1] = stride;
            else
                size_[ndim_] = size, stride_[ndim_++] = stride;
        }
    }

    int64_t count() const { return count_; }
    // The constant step: offset i is i times this. Only if even().
    bool even() const { return ndim_ <= 1; }
    int64_t step() const { return ndim_ ? stride_[0] : 0; }

    int64_t operator()(int64_t index) const {
        if (ndim_ == 0) return 0;
        int64_t offset = 0;
        for (int i = ndim_ - 1; i > 0; --i) {
            offset += index % size_[i] * stride_[i];
            index /= size_[i];
        }
        return offset + index * stride_[0];
    }

    // The offsets of `n` elements from `index`, without a division for each.
    void fill(int64_t index, int64_t n, int64_t *to) const {
        each_run(index, n, [&](int64_t offset, int64_t run, int64_t step) {
            for (int64_t k = 0; k < run; ++k) to[k] = offset + k * step;
            to += run;
        });
    }
    // Calls f(offset, count, step) for the equally spaced runs of `n` elements from `index`.
    template <class F>
    void each_run(int64_t index, int64_t n, const F &f) const {
        if (ndim_ == 0) return f(0, n, 0);
        const int inner = ndim_ - 1;
        int64_t at[Shape::kMost], offset = 0;
        for (int i = inner; i >= 0; --i) {
            at[i] = i ? index % size_[i] : index;
            if (i) index /= size_[i];
            offset += at[i] * stride_[i];
        }
        while (n > 0) {
            const int64_t run =
                inner ? (n < size_[inner] - at[inner] ? n : size_[inner] - at[inner]) : n;
            f(offset, run, stride_[inner]);
            n -= run, offset += run * stride_[inner], at[inner] += run;
            for (int i = inner; i > 0 && at[i] == size_[i]; --i) {
                offset += stride_[i - 1] - size_[i] * stride_[i];
                at[i] = 0, ++at[i - 1];
            }
        }
    }

private:
    int ndim_ = 0;
    int64_t count_ = 1;
    int64_t size_[Shape::kMost], stride_[Shape::kMost];
};

// A tensor seen as lines along an axis.
struct Lines {
    Offsets offsets;  // of the lines' first elements
    int64_t size = 0, step = 0;

    Lines() = default;
    Lines(const Tensor &tensor, int axis) : size(tensor.size(axis)), step(tensor.stride(axis)) {
        int64_t sizes[Shape::kMost];
        for (int i = 0; i < tensor.ndim; ++i) sizes[i] = i == axis ? 1 : tensor.shape[i];
        offsets = Offsets({tensor.dtype, tensor.ndim, sizes, tensor.strides}, 0, tensor.ndim);
    }
    int64_t count() const { return offsets.count(); }
};

// The entries of an index tensor of dtype I32 or I64.
class Indices {
public:
    Indices(int dtype, const void *data) : wide_(dtype == INFINI_DTYPE_I64), data_(data) {}
    int64_t operator[](int64_t at) const {
        return wide_ ? static_cast<const int64_t *>(data_)[at]
                     : static_cast<const int32_t *>(data_)[at];
    }

private:
    bool wide_;
    const void *data_;
};

}  // namespace infini::cpu
