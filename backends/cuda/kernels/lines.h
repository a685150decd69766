// A tensor seen as lines along an axis.
#pragma once

#include "device/offsets.h"
#include "kernel.h"

namespace infini::cuda {

// The offsets over dimensions [first, last) of a tensor.
inline Offsets offsets_of(const Tensor &tensor, int first, int last) {
    Offsets offsets;
    for (int i = first; i < last; ++i) offsets.add(tensor.shape[i], tensor.strides[i]);
    return offsets;
}
inline Offsets offsets_of(const Tensor &tensor) { return offsets_of(tensor, 0, tensor.ndim); }

struct Lines {
    Offsets offsets;  // of the lines
    int64_t size = 1, step = 1;

    Lines() = default;
    // A 0-dimensional tensor is a line of one element. A negative axis counts from the end.
    Lines(const Tensor &tensor, int axis) {
        if (axis < 0) axis += tensor.ndim;
        for (int i = 0; i < tensor.ndim; ++i)
            if (i != axis) offsets.add(tensor.shape[i], tensor.strides[i]);
        if (tensor.ndim > 0) size = tensor.size(axis), step = tensor.stride(axis);
    }
    int64_t count() const { return offsets.count; }
    // Whether every line is aligned for reads of `bytes` bytes if the first one is.
    bool aligned(size_t element, size_t bytes) const {
        const int64_t each = int64_t(bytes / element);
        for (int i = 0; i < offsets.ndim; ++i)
            if (offsets.stride[i] % each) return false;
        return step == 1;
    }
};

inline bool is_aligned(const void *pointer, size_t bytes = 16) {
    return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

inline int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
inline int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Returns early if a launch failed.
#define INFINI_CUDA_TRY(launch)                                         \
    do {                                                                \
        if (const ::infini::cuda::Error error = (launch)) return error; \
    } while (0)

}  // namespace infini::cuda
