// Tensors as operands of matrix products: the last two dimensions are the matrix, the one before
// them is the batch; a batch of 1 is broadcast.
#pragma once

#include "../kernel.h"
#include "matmul.h"

namespace infini::cpu {

template <class M>
inline M operand(const Tensor &tensor) {
    M m;
    m.dtype = tensor.dtype;
    m.row_stride = tensor.stride(-2), m.col_stride = tensor.stride(-1);
    // A dimension of one element may have any stride: choose a suitable one.
    if (tensor.size(-1) == 1 && m.row_stride != 1) m.col_stride = 1;
    if (tensor.size(-2) == 1 && m.col_stride != 1) m.row_stride = 1;
    if (tensor.size(-2) == 1 && m.col_stride == 1) m.row_stride = tensor.size(-1);
    m.batch_stride = tensor.ndim == 3 && tensor.size(0) != 1 ? tensor.stride(0) : 0;
    return m;
}

inline Matrix matrix(const Tensor &tensor) { return operand<Matrix>(tensor); }
inline Output output(const Tensor &tensor) { return operand<Output>(tensor); }

}  // namespace infini::cpu
