// Iterates over several tensors row by row: merges the leading dimensions where possible, and gives
// the start of each row in each tensor.
#pragma once

#include "kernel.h"

namespace infini::cpu {

template <int tensors>
struct Rows {
    int ndim = 0;
    int64_t count = 1;  // rows
    int64_t size[Shape::kMost];
    int64_t stride[tensors][Shape::kMost];

    // Merges the first `leading` dimensions, which all have the sizes of the first tensor.
    Rows(const Tensor (&from)[tensors], int leading) {
        for (int dim = 0; dim < leading; ++dim) {
            const int64_t length = from[0].size(dim);
            count *= length;
            if (length == 1) continue;
            bool joins = ndim > 0;
            for (int t = 0; joins && t < tensors; ++t)
                joins = stride[t][ndim - 1] == from[t].stride(dim) * length;
            if (!joins) size[ndim++] = 1;
            size[ndim - 1] *= length;
            for (int t = 0; t < tensors; ++t) stride[t][ndim - 1] = from[t].stride(dim);
        }
    }

    // Makes the innermost dimension the row itself; returns its length.
    int64_t take_inner(int64_t (&step)[tensors]) {
        for (int t = 0; t < tensors; ++t) step[t] = ndim ? stride[t][ndim - 1] : 1;
        if (ndim == 0) return count;  // one element, or none
        const int64_t length = size[--ndim];
        count = 1;
        for (int dim = 0; dim < ndim; ++dim) count *= size[dim];
        return length;
    }

    void at(int64_t row, int64_t (&offset)[tensors]) const {
        for (int t = 0; t < tensors; ++t) offset[t] = 0;
        for (int dim = ndim - 1; dim >= 0; --dim) {
            const int64_t index = row % size[dim];
            row /= size[dim];
            for (int t = 0; t < tensors; ++t) offset[t] += index * stride[t][dim];
        }
    }
};

}  // namespace infini::cpu
