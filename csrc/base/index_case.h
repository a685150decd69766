/* Operations along one indexed dimension, as planners see them. For back ends written in C++.
 * Header only. */
#ifndef INFINI_INDEX_CASE_H
#define INFINI_INDEX_CASE_H

#include "refuse.h"

namespace infini {

// The dimension given by attribute 0, counted from the front.
inline int indexed_dim(const Operation &operation, const Tensor &tensor) {
    const int axis = int(operation.integer(0));
    return axis < 0 ? axis + tensor.ndim : axis;
}

// gather and index_select: calls add(size, output stride, input stride, index stride) for each
// dimension. The input's stride is 0 in the indexed dimension.
template <class Add>
void each_gathered_dim(const Operation &operation, bool select, int axis, const Add &add) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor index = operation.tensor(2);
    for (int d = 0; d < output.ndim; ++d) {
        const bool here = d == axis;
        if (select && output.shape[d] != (here ? index.size(0) : input.shape[d]))
            refuse_shape("the output has not one slice of the input for each index");
        if (!select && !here && index.shape[d] > input.shape[d])
            refuse_shape("the index has a dimension that is larger than the input's");
        add(output.shape[d], output.strides[d], here ? 0 : input.strides[d],
            !select ? index.strides[d]
            : here  ? index.stride(0)
                    : 0);
    }
}

// scatter, scatter_add and scatter_reduce: the dimension, after checking the indices' sizes.
inline int scattered_dim(const Operation &operation) {
    const Tensor output = operation.tensor(0), indices = operation.tensor(2);
    const int axis = indexed_dim(operation, output);
    for (int i = 0; i < output.ndim; ++i)
        if (i != axis && indices.shape[i] > output.shape[i])
            refuse_shape("the indices have a dimension that is larger than the input's");
    return axis;
}

}  // namespace infini
#endif
