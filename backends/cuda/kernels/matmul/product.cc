#include "product.h"

#include <mutex>

#include "../../libraries.h"
#include "../../vendor.h"
#include "../program/epilogue.h"
#include "product_parts.h"
#include "refuse.h"

namespace infini::cuda {

Matrix matrix(const Tensor &tensor) {
    Matrix m{tensor.dtype, tensor.stride(-2), tensor.stride(-1), 0};
    if (tensor.ndim == 3 && tensor.size(0) != 1) m.batch = tensor.stride(0);
    return m;
}

namespace {

// A dimension of one element may have any stride: choose a convenient one.
void simplify(Matrix &m, int64_t rows, int64_t columns, int64_t batch) {
    if (columns == 1 && m.row != 1) m.column = 1;
    if (rows == 1 && m.column != 1) m.row = 1;
    if (columns == 1 && m.row == 1) m.column = rows;
    if (rows == 1 && m.column == 1) m.row = columns;
    if (batch == 1) m.batch = 0;
}

}  // namespace

std::shared_ptr<const Product> make_product(const ProductShape &given, Device &device) {
    ProductShape shape = given;
    shape.tf32 = shape.tf32 && device.has_mma;
    const int64_t kMost = INT32_MAX - 1024;
    // Merges a batch into the rows if possible.
    if (shape.batch > 1 && !shape.epilogue && shape.b.batch == 0 &&
        shape.a.batch == shape.m * shape.a.row && shape.c.batch == shape.m * shape.c.row &&
        shape.m * shape.batch <= kMost &&
        (!shape.addend.dtype || shape.addend.batch == shape.m * shape.addend.row))
        shape.m *= shape.batch, shape.batch = 1;
    simplify(shape.a, shape.m, shape.k, shape.batch);
    simplify(shape.b, shape.k, shape.n, shape.batch);
    simplify(shape.c, shape.m, shape.n, shape.batch);
    if (shape.addend.dtype) simplify(shape.addend, shape.m, shape.n, shape.batch);
    if (shape.m > kMost || shape.n > kMost || shape.k > kMost)
        refuse_shape("a matrix has more than 2^31 rows or columns");
    if (shape.invariant && !vendor.gemm) return make_tiled_product(shape, device);
    if (auto product = make_skinny_product(shape, device)) return product;
    if (vendor.gemm) {
        // Without a run-time compiler this is the only kernel that always works.
        if (auto product = make_gemm_product(shape, device)) return product;
        return make_tiled_product(shape, device);
    }
    if (auto product = make_small_product(shape, device)) return product;
    if (auto product = make_library_product(shape, device)) return product;
    return make_tiled_product(shape, device);
}

void place_output(MatmulParams &p, const ProductShape &s) {
    const Matrix &addend = s.addend.dtype ? s.addend : s.c;
    p.c_row = s.c.row, p.c_column = s.c.column, p.c_batch = s.c.batch;
    p.addend_row = addend.row, p.addend_column = addend.column, p.addend_batch = addend.batch;
    p.m = int(s.m), p.n = int(s.n), p.k = int(s.k);
    p.batch = int(s.batch), p.bias_stride = 1;
}

void place_data(MatmulParams &p, const ProductShape &s, const ProductData &data) {
    p.c = data.c, p.alpha = data.alpha, p.beta = data.beta;
    p.addend = s.addend.dtype ? data.addend : data.c;
    p.row_scale = data.row_scale, p.column_scale = data.column_scale, p.bias = data.bias;
}

namespace {

// As ProductParams in finish.cuh.
struct EpilogueParams {
    MatmulParams product;
    alignas(16) char epilogue[3072];
};

}  // namespace

Error launch_product(const Kernel &kernel, const Stream &stream, Grid grid, unsigned threads,
                     size_t shared, const MatmulParams &params, const ProductShape &shape,
                     const ProductData &data) {
    if (!shape.epilogue) return kernel.launch(stream, grid, threads, params, shared);
    EpilogueParams both;
    both.product = params;
    shape.epilogue->fill(*data.arguments, both.epilogue);
    return kernel.launch(stream, grid, threads, both, shared);
}

void add_epilogue(Source &source, const ProductShape &shape) {
    if (!shape.epilogue) return;
    if (shape.epilogue->bytes() > sizeof(EpilogueParams::epilogue))
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      "the epilogue has more parameters than a launch can pass"};
    shape.epilogue->add_to(source);
    source.line("#define INFINI_EPILOGUE 1");
}

Join::Join(const ProductShape &shape, int64_t parts, int sum_dtype, Device &device)
    : shape_(shape), parts_(int(parts)) {
    Source source("matmul/gemm.cuh:join");
    source.type("C", sum_dtype).type("O", shape.c.dtype);
    kernel_ = device.compile(source);
    blocks_ = device.blocks_for(shape.batch * shape.m * ((shape.n + 3) / 4), 256);
}

Error Join::run(const ProductData &data, const void *sums, const Stream &stream) const {
    MatmulParams p{};
    place_output(p, shape_);
    place_data(p, shape_, data);
    p.splits = parts_, p.partial = const_cast<void *>(sums);
    return kernel_->launch(stream, blocks_, 256, p);
}

// ---- Kernels for aligned and unaligned pointers -------------------------------------------------

struct AlignedKernel::Other {
    Other(Device &device, Source source) : device(device), source(std::move(source)) {}

    Device &device;
    Source source;
    std::mutex lock;
    std::shared_ptr<const Kernel> kernel;
};

AlignedKernel::AlignedKernel(Device &device, Source aligned, Source other)
    : kernel_(device.compile(aligned)), other_(std::make_shared<Other>(device, std::move(other))) {}

const Kernel *AlignedKernel::get(bool aligned, Error &error) const {
    if (aligned) [[likely]]
        return kernel_.get();
    std::lock_guard guard(other_->lock);
    if (!other_->kernel) {
        try {
            other_->kernel = other_->device.compile(other_->source);
        } catch (const Refusal &refusal) {
            error = fail(infinirtErrorUnknown, "%s", refusal.sentence.c_str());
        }
    }
    return other_->kernel.get();
}

}  // namespace infini::cuda
