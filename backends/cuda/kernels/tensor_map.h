// Tensor maps for TMA, see device/tensor_map.h.
#pragma once

#include "device/tensor_map.h"
#include "kernel.h"

namespace infini::cuda {

// Four dimensions, the innermost first; its stride is 1 and not passed.
struct MappedTensor {
    int64_t size[4];
    int64_t stride[4];  // in elements
    int64_t box[4];     // size of a copy; 64 elements in the innermost dimension

    // Whether a map is possible for the sizes and strides, and supported by the driver.
    bool can_map(size_t element_bytes) const;
};

// Returns false if the driver rejects the map. Elements have 16 bits; rows of a box are swizzled,
// see device/hopper.cuh.
bool make_map(TensorMap &map, const MappedTensor &tensor, const void *memory);

}  // namespace infini::cuda
