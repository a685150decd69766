// What the planners of linear algebra share.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device/linalg/dense.cuh"
#include "kernels/lines.h"

namespace infini::cuda {

// A tensor as a batch of matrices (`trailing` is 2), of vectors (one row) or of numbers.
inline MatrixParams matrices_of(const Tensor &tensor, int trailing) {
    MatrixParams m;
    m.batch = offsets_of(tensor, 0, tensor.ndim - trailing);
    if (trailing > 0) m.columns = tensor.size(-1), m.column_step = tensor.stride(-1);
    if (trailing > 1) m.rows = tensor.size(-2), m.row_step = tensor.stride(-2);
    return m;
}
inline MatrixParams transposed(MatrixParams m) {
    std::swap(m.rows, m.columns);
    std::swap(m.row_step, m.column_step);
    return m;
}

// The member of LinalgParams that takes a tensor's data, by the number of its pointer.
struct Operand {
    MatrixParams LinalgParams::*member;
    int pointer;
};

// Work of our own kernels: a block works on a matrix, in `doubles` of its own. What would take long
// to compile is done in stages, a kernel for each.
struct BlockWork {
    Source source;
    LinalgParams params;
    std::vector<Operand> operands;
    int dtype;
    int64_t doubles;
    int stages = 1;

    LinalgParams with_data(const Arguments &arguments) const {
        LinalgParams p = params;
        for (const Operand &operand : operands)
            (p.*operand.member).data = arguments.pointer<void>(operand.pointer);
        return p;
    }
};

// There are as many blocks as fit on the device at once and into `most_bytes` (at least one); stages
// are launched for as many matrices at a time.
std::unique_ptr<Plan> plan_blocks(Device &device, BlockWork work, size_t most_bytes = SIZE_MAX);

}  // namespace infini::cuda
