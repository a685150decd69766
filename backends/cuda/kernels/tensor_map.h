// Tensor maps for TMA, see device/tensor_map.h.
#pragma once

#include "device/tensor_map.h"
#include "kernel.h"

namespace infini::cuda {

// Four sizes, the innermost first and without a stride, which is 1.
struct MappedTensor {
    int64_t size[4];
    int64_t stride[4];  // elements
    int64_t box[4];     // what a copy takes; 64 elements of the innermost size

    // Whether a map is possible for the sizes and strides, and supported by the driver.
    bool can_map(size_t element_bytes) const;
};

// False: the driver refused. Elements have 16 bits; rows of a box are swizzled, see
// device/hopper.cuh.
bool make_map(TensorMap &map, const MappedTensor &tensor, const void *memory);

}  // namespace infini::cuda
