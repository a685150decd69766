// Products with weights of 4 or 8 bits.
#pragma once

#include "device/matmul/packed_params.h"
#include "product_parts.h"

namespace infini::cuda {

// How the weights of a product are packed. Sizes are in its ProductShape, whose b is not set.
struct Packing {
    bool mxfp4 = false;
    // For Marlin's layout.
    int bits = 4;
    bool bytes_a = false;              // for 8-bit activations
    int64_t groups = 1;                // groups of scales along k
    bool zeros = false, rows = false;  // zero points; rows specify their groups
};

struct PackedData {
    const void *codes, *scales;
    const uint32_t *zeros = nullptr;
    const int *row_group = nullptr;
    float offset = 0;
};

class PackedProduct {
public:
    virtual ~PackedProduct() = default;
    virtual Error run(const ProductData &data, const PackedData &weights, const Stream &stream,
                      char *workspace) const = 0;

    size_t workspace = 0;
};

std::shared_ptr<const PackedProduct> make_packed_product(const ProductShape &shape,
                                                         const Packing &packing, Device &device);

}  // namespace infini::cuda
