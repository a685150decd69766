// Offsets of the i-th element in several tensors of the same shape, in row-major order. For host
// and device.
#pragma once

#include "divide.h"

#ifdef INFINI_DEVICE
#define INFINI_ROLLED _Pragma("unroll 1")
#else
#define INFINI_ROLLED
#define INFINI_APART inline
#endif

namespace infini {

// Separate functions: 64-bit divisions are long code, which would slow down compilation if inlined.
INFINI_APART int64_t divide_apart(int64_t a, int64_t b) { return a / b; }

template <int tensors>
struct Places {
    static constexpr int kMost = 8;
    int64_t count = 1;
    int32_t ndim = 1;
    int32_t large = 0;  // more elements than a Divider supports
    // The innermost dimension comes first.
    Divider divider[kMost];
    // (Size 1 if there are no dimensions.)
    int64_t size[kMost] = {1}, stride[tensors][kMost] = {};
    int64_t outer[tensors] = {};  // copies of the outermost strides

    INFINI_BOTH void at(int64_t index, int64_t (&offset)[tensors]) const {
        // Most tensors have few dimensions, and then need no loop and no loads of dividers.
        if (ndim == 1) {
            for (int t = 0; t < tensors; ++t) offset[t] = index * outer[t];
            return;
        }
        if (large) {
            const Offset found = at_large(index);
            for (int t = 0; t < tensors; ++t) offset[t] = found.of[t];
            return;
        }
        for (int t = 0; t < tensors; ++t) offset[t] = 0;
        uint32_t rest = uint32_t(index);
        step(0, rest, offset);
        if (ndim > 2) {
            step(1, rest, offset);
            INFINI_ROLLED
            for (int d = 2; d + 1 < ndim; ++d) step(d, rest, offset);
        }
        for (int t = 0; t < tensors; ++t) offset[t] += rest * outer[t];
    }

private:
    INFINI_BOTH void step(int d, uint32_t &rest, int64_t (&offset)[tensors]) const {
        const Quotient q = divider[d].split(rest);
        for (int t = 0; t < tensors; ++t) offset[t] += q.remainder * stride[t][d];
        rest = q.quotient;
    }

    struct Offset {
        int64_t of[tensors];
    };
    INFINI_APART Offset at_large(int64_t index) const {
        Offset offset = {};
        INFINI_ROLLED
        for (int d = 0; d + 1 < ndim; ++d) {
            const int64_t next = index / size[d];
            for (int t = 0; t < tensors; ++t)
                offset.of[t] += (index - next * size[d]) * stride[t][d];
            index = next;
        }
        for (int t = 0; t < tensors; ++t) offset.of[t] += index * outer[t];
        return offset;
    }
};

}  // namespace infini
