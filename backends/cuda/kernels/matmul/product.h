// Matrix products, for all operators that need one: through the vendor's library if it supports the
// case and is as fast, otherwise with our own kernels.
//
//     ProductShape shape;               // sizes, dtypes and strides are enough to plan
//     auto product = make_product(shape, device);
//     return make_plan([=](...) { return product->run({a, b, c, alpha, beta}, stream, memory); },
//                      product->workspace);
//
// Sums run over k in an order that depends only on the sizes, so that results are deterministic.
// 16-bit floats are summed in F32 and rounded once; F64 stays F64; I8 times I8 is summed exactly in
// I32.
#pragma once

#include "../../kernel.h"

namespace infini::cuda {

namespace program {
class Epilogue;
}

// Strides are in elements and may have any value.
struct Matrix {
    int dtype = 0;
    int64_t row = 0, column = 1, batch = 0;
};

struct ProductShape {
    int64_t batch = 1, m = 0, n = 0, k = 0;
    Matrix a, b, c;  // [m, k], [k, n], [m, n]
    Matrix addend;   // [m, n], of c's dtype; if unset, c itself
    // The sums are processed in ways that the library does not support: see ProductData.
    bool scaled = false, biased = false;
    bool tf32 = false;  // factors in F32 may be rounded to TF32 (see INFINI_MODE_TF32)
    // A row's bits do not depend on m (see INFINI_MODE_BATCH_INVARIANT): uses tiles, and k is not
    // split.
    bool invariant = false;
    // A program that processes the result and stores its own outputs; c is then not written.
    std::shared_ptr<const program::Epilogue> epilogue;
};

// c = alpha * a @ b * row_scale * column_scale + bias + beta * addend; the addend is not read when
// beta is 0.
struct ProductData {
    const void *a, *b;
    void *c;
    double alpha = 1, beta = 0;
    const float *row_scale = nullptr, *column_scale = nullptr;  // [m], [n]
    const void *bias = nullptr;                                 // [n], of c's dtype
    const void *addend = nullptr;                               // if the shape has one
    const Arguments *arguments = nullptr;                       // for the epilogue
};

class Product {
public:
    virtual ~Product() = default;
    virtual Error run(const ProductData &data, const Stream &stream, char *workspace) const = 0;

    size_t workspace = 0;  // bytes, 256-byte aligned
};

std::shared_ptr<const Product> make_product(const ProductShape &shape, Device &device);

// Converts sums [parts, batch, m, n] of a product without its scales, in F32, F64 or I32, to the
// final product. The partial sums are added up, always in the same order.
class Join {
public:
    Join(const ProductShape &shape, int64_t parts, int sum_dtype, Device &device);

    Error run(const ProductData &data, const void *sums, const Stream &stream) const;

private:
    ProductShape shape_;
    int parts_;
    std::shared_ptr<const Kernel> kernel_;
    int64_t blocks_;
};

// Tensors as operands: the last two dimensions are the matrix, a third is the batch; a batch of 1
// is broadcast.
Matrix matrix(const Tensor &tensor);

inline size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace infini::cuda
