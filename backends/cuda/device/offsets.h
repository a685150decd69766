// The offset of the i-th element (or row) of a tensor, in row-major order. For host and device.
#pragma once

#include "divide.h"

// Loops over dimensions are not unrolled: divisions are long code, which would slow down
// compilation.
#ifdef INFINI_DEVICE
#define INFINI_ROLLED _Pragma("unroll 1")
#else
#define INFINI_ROLLED
#define INFINI_APART inline
#endif

namespace infini {

struct Offsets {
    static constexpr int kMost = 8;
    int32_t ndim = 0;
    int64_t count = 1;
    int64_t size[kMost] = {}, stride[kMost] = {};

    Offsets() = default;
    // Adds a new innermost dimension; it is merged into the previous one if the strides allow it,
    // which saves a division.
    INFINI_BOTH void add(int64_t n, int64_t step) {
        count *= n;
        if (n == 1) return;
        if (ndim && stride[ndim - 1] == n * step) {
            size[ndim - 1] *= n;
            stride[ndim - 1] = step;
        } else {
            size[ndim] = n;
            stride[ndim++] = step;
        }
    }
    // Whether all offsets are multiples of one step: offset i is i * step().
    INFINI_BOTH bool even() const { return ndim <= 1; }
    INFINI_BOTH int64_t step() const { return ndim ? stride[ndim - 1] : 0; }

    INFINI_BOTH int64_t operator()(int64_t index) const {
        if (ndim == 0) return 0;
        if (ndim == 1) return index * stride[0];
        return of_several(index);
    }

private:
    // A separate function, because kernels call it several times.
    INFINI_APART int64_t of_several(int64_t index) const {
        int64_t offset = 0;
        uint64_t rest = uint64_t(index);
        INFINI_ROLLED
        for (int i = ndim - 1; i > 0; --i) {
            const uint64_t next = rest / uint64_t(size[i]);
            offset += int64_t(rest - next * uint64_t(size[i])) * stride[i];
            rest = next;
        }
        return offset + int64_t(rest) * stride[0];
    }
};

}  // namespace infini
