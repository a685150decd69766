// Products so small that the launch dominates: library calls have a greater overhead on the host.
#include <algorithm>

#include "product_parts.h"

namespace infini::cuda {
namespace {

constexpr int kSide = 16;  // as in small.cuh
constexpr int64_t kMostDepth = 256;

class SmallProduct final : public Product {
public:
    // False: the case is not supported.
    bool prepare(const ProductShape &shape, Device &device) {
        const int dtype = shape.a.dtype;
        if (dtype != shape.b.dtype || !is_float(dtype) || dtype == INFINI_DTYPE_F8) return false;
        const bool wide = dtype == INFINI_DTYPE_F64, halves = dtype_bytes(dtype) == 2;
        const int64_t rows = (shape.m + kSide - 1) / kSide, columns = (shape.n + kSide - 1) / kSide;
        const int64_t tiles = rows * columns * shape.batch;
        // For larger products, tensor cores compensate for the start-up time of their kernels.
        const int64_t most_tiles = halves ? device.multiprocessors / 2 : device.multiprocessors;
        const int64_t most_depth = halves ? kMostDepth / 4 : wide ? kMostDepth / 2 : kMostDepth;
        if (tiles > most_tiles || shape.k > most_depth || shape.k < 1) return false;
        int depth = kSide;
        while (depth < shape.k) depth *= 2;

        shape_ = shape;
        place_output(params_, shape);
        params_.a = {nullptr, shape.a.row, shape.a.column, shape.a.batch};
        params_.b = {nullptr, shape.b.column, shape.b.row, shape.b.batch};
        params_.tiles_m = int(rows), params_.tiles_n = int(columns);
        params_.splits = 1, params_.k_each = int(shape.k);
        Source source("matmul/small.cuh");
        add_epilogue(source, shape);
        source.type("A", dtype).type("B", dtype).type("O", shape.c.dtype);
        source.type("C", wide ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32);
        source.constant("kAlongA", shape.a.column == 1).constant("kAlongB", shape.b.row == 1);
        kernel_ = device.compile(source.constant("kDepth", depth));
        blocks_ = tiles;
        return true;
    }

    Error run(const ProductData &data, const Stream &stream, char *) const override {
        MatmulParams p = params_;
        p.a.data = data.a, p.b.data = data.b;
        place_data(p, shape_, data);
        return launch_product(*kernel_, stream, blocks_, kSide * kSide, 0, p, shape_, data);
    }

private:
    ProductShape shape_;
    MatmulParams params_{};
    std::shared_ptr<const Kernel> kernel_;
    int64_t blocks_ = 0;
};

}  // namespace

std::shared_ptr<const Product> make_small_product(const ProductShape &shape, Device &device) {
    auto product = std::make_shared<SmallProduct>();
    return product->prepare(shape, device) ? product : nullptr;
}

}  // namespace infini::cuda
