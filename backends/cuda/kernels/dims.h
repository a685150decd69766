// The dimensions of several tensors of the same shape, merged if all of them allow it.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "device/places.h"
#include "kernels/lines.h"

namespace infini::cuda {

template <int tensors>
struct Dims {
    static constexpr int kMost = Places<tensors>::kMost;
    struct Dim {
        int64_t size, stride[tensors];
    };
    int ndim = 0;
    int64_t count = 1;
    Dim dim[kMost];  // the outermost one first

    // Adds a new innermost dimension.
    template <class... Strides>
    void add(int64_t size, Strides... strides) {
        static_assert(sizeof...(Strides) == tensors);
        push({size, {int64_t(strides)...}});
    }
    void push(const Dim &next) {
        count *= next.size;
        if (next.size == 1) return;
        bool joins = ndim > 0;
        for (int t = 0; joins && t < tensors; ++t)
            joins = dim[ndim - 1].stride[t] == next.stride[t] * next.size;
        if (joins) {
            const int64_t size = dim[ndim - 1].size * next.size;
            dim[ndim - 1] = next;
            dim[ndim - 1].size = size;
        } else {
            dim[ndim++] = next;
        }
    }
    const Dim &inner() const { return dim[ndim - 1]; }
    // Removes and returns the innermost dimension.
    Dim take_inner() {
        if (ndim == 0) {
            Dim one = {count, {}};
            count = count > 0;
            return one;
        }
        const Dim last = dim[--ndim];
        count = 1;
        for (int d = 0; d < ndim; ++d) count *= dim[d].size;
        return last;
    }
    Places<tensors> places() const {
        Places<tensors> result;
        result.count = count, result.ndim = std::max(ndim, 1),
        result.large = count >= int64_t(1) << 31;
        for (int d = 0; d < ndim; ++d) {
            const Dim &from = dim[ndim - 1 - d];
            result.size[d] = from.size;
            if (!result.large && from.size > 0) result.divider[d] = Divider(uint32_t(from.size));
            for (int t = 0; t < tensors; ++t)
                result.outer[t] = result.stride[t][d] = from.stride[t];
        }
        return result;
    }
};

// The largest power of two, at most 16, that divides all of these byte counts.
inline int64_t common_word(std::initializer_list<int64_t> bytes) {
    int64_t bits = 16;
    for (int64_t each : bytes) bits |= each;
    return bits & -bits;
}
inline int64_t alignment_of(const void *a, const void *b = nullptr) {
    return common_word(
        {int64_t(reinterpret_cast<uintptr_t>(a)), int64_t(reinterpret_cast<uintptr_t>(b))});
}

// The type of a word that one access moves.
inline const char *word_type(int64_t bytes) {
    return bytes == 16 ? "Vec<uint32_t, 4>" : bytes_type(size_t(bytes));
}

}  // namespace infini::cuda
