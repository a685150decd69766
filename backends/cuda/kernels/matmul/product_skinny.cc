// Products of few rows: reading b is all the work.
#include "product_parts.h"

namespace infini::cuda {
namespace {

constexpr int64_t kSkinnyRows = 16, kLeastDepth = 128, kLeastColumns = 64;
constexpr int kSkinnyWarps = 8;

class SkinnyProduct final : public Product {
public:
    // False: not for this case.
    bool prepare(ProductShape shape, Device &device) {
        const int dtype = shape.a.dtype;
        if (!device.has_mma || dtype != shape.b.dtype ||
            (dtype != INFINI_DTYPE_F16 && dtype != INFINI_DTYPE_BF16))
            return false;
        if (shape.m > kSkinnyRows && shape.n <= kSkinnyRows && !shape.scaled && !shape.biased &&
            !shape.epilogue) {
            swapped_ = true;
            std::swap(shape.m, shape.n), std::swap(shape.a, shape.b);
            for (Matrix *matrix : {&shape.a, &shape.b, &shape.c, &shape.addend})
                std::swap(matrix->row, matrix->column);
        }
        if (shape.m > kSkinnyRows || shape.k < kLeastDepth || shape.n < kLeastColumns ||
            shape.k % 8)
            return false;
        if (shape.a.column != 1 || shape.a.row % 8 || shape.a.batch % 8 || shape.b.batch % 8)
            return false;
        const bool along = shape.b.row == 1;
        if (along ? shape.b.column % 8 : shape.b.column != 1 || shape.b.row % 8 || shape.n % 8)
            return false;
        // As many columns for a block as leave blocks for all multiprocessors.
        int tiles = along ? 4 : 8;
        const int least = along ? 1 : 4;
        auto blocks = [&] { return (shape.n + 8 * tiles - 1) / (8 * tiles) * shape.batch; };
        while (tiles > least && blocks() < device.multiprocessors) tiles /= 2;
        if (blocks() < device.multiprocessors / 2 || blocks() > INT32_MAX) return false;

        shape_ = shape;
        place_output(params_, shape);
        params_.a = {nullptr, shape.a.row, shape.a.column, shape.a.batch};
        params_.b = {nullptr, shape.b.column, shape.b.row, shape.b.batch};
        params_.tiles_n = int((shape.n + 8 * tiles - 1) / (8 * tiles));
        blocks_ = blocks();
        Source source("matmul/skinny.cuh");
        add_epilogue(source, shape);
        source.type("T", dtype).type("O", shape.c.dtype);
        source.constant("kTiles", tiles)
            .constant("kAlongB", along)
            .constant("kWarps", kSkinnyWarps);
        Source other = source;
        kernel_ = std::make_shared<AlignedKernel>(device, source.constant("kVector", 1),
                                                  other.constant("kVector", 0));
        return true;
    }

    Error run(const ProductData &data, const Stream &stream, char *) const override {
        MatmulParams p = params_;
        place_data(p, shape_, data);
        p.a.data = swapped_ ? data.b : data.a, p.b.data = swapped_ ? data.a : data.b;
        Error error = infinirtSuccess;
        const Kernel *kernel = kernel_->get(is_aligned(p.a.data) && is_aligned(p.b.data), error);
        if (!kernel) return error;
        return launch_product(*kernel, stream, blocks_, 32 * kSkinnyWarps, 0, p, shape_, data);
    }

private:
    ProductShape shape_;
    MatmulParams params_{};
    std::shared_ptr<const AlignedKernel> kernel_;
    int64_t blocks_ = 0;
    bool swapped_ = false;
};

}  // namespace

std::shared_ptr<const Product> make_skinny_product(const ProductShape &shape, Device &device) {
    auto product = std::make_shared<SkinnyProduct>();
    return product->prepare(shape, device) ? product : nullptr;
}

}  // namespace infini::cuda
