// Small kernels applied to the operands and results of products.
#pragma once

#include "device/matmul/rows.cuh"
#include "product.h"

namespace infini::cuda {

// Applies an activation to dense rows.
class GateRows {
public:
    GateRows(int dtype, int kind, int64_t rows, int64_t columns, Device &device);
    Error run(void *to, const void *from, const Stream &stream, const float *scales = nullptr,
              const int *order = nullptr, const int *count = nullptr) const;

private:
    std::shared_ptr<const Kernel> kernel_;
    GateRowsParams params_{};
    int64_t blocks_;
};

}  // namespace infini::cuda
