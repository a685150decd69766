// The implementations of products, for make_product.
#pragma once

#include "device/matmul/product_params.h"
#include "kernels/lines.h"
#include "product.h"

namespace infini::cuda {

// With tiles in shared memory; supports all cases.
std::shared_ptr<const Product> make_tiled_product(const ProductShape &shape, Device &device);
// Through the vendor's library. Null: it is missing, or does not support this case.
std::shared_ptr<const Product> make_library_product(const ProductShape &shape, Device &device);
// The same for a library without product descriptors.
std::shared_ptr<const Product> make_gemm_product(const ProductShape &shape, Device &device);
// For few rows, bound by reading b. Null if the case is not supported.
std::shared_ptr<const Product> make_skinny_product(const ProductShape &shape, Device &device);
// For tiny products, bound by the launch. Null if the case is not supported.
std::shared_ptr<const Product> make_small_product(const ProductShape &shape, Device &device);

// Whether the library is available.
bool has_library(const Device &device);

// Launches a product kernel, with its epilogue if there is one.
Error launch_product(const Kernel &kernel, const Stream &stream, Grid grid, unsigned threads,
                     size_t shared, const MatmulParams &params, const ProductShape &shape,
                     const ProductData &data);
// Adds the epilogue's text to the source; must precede all other lines.
void add_epilogue(Source &source, const ProductShape &shape);

// The parameters that describe c.
void place_output(MatmulParams &params, const ProductShape &shape);
void place_data(MatmulParams &params, const ProductShape &shape, const ProductData &data);

// A kernel in two variants: for pointers aligned to 16 bytes, and for others, which is compiled on
// first use.
class AlignedKernel {
public:
    AlignedKernel(Device &device, Source aligned, Source other);

    // Null with `error` set if the other variant cannot be compiled.
    const Kernel *get(bool aligned, Error &error) const;

private:
    struct Other;
    std::shared_ptr<const Kernel> kernel_;
    std::shared_ptr<Other> other_;
};

}  // namespace infini::cuda
