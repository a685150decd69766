#include "packed.h"

#include <algorithm>

#include "refuse.h"

namespace infini::cuda {
namespace {

// Weights are unpacked on their way to shared memory.
class TiledPackedProduct final : public PackedProduct {
public:
    TiledPackedProduct(const ProductShape &shape, const Packing &packing, Device &device)
        : shape_(shape) {
        const int dtype = shape.a.dtype;
        const bool mma =
            device.has_mma && (dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16);
        const int rows = !mma ? 64 : shape.m <= 16 ? 16 : shape.m <= 1024 ? 64 : 128;
        const int columns = mma ? 128 : 64;
        threads_ = mma && rows == 16 ? 128 : 256;
        if (mma) shared_ = size_t(std::max(256 * (rows + columns), 4 * rows * columns));
        MatmulParams &p = params_.product;
        place_output(p, shape);
        p.a = {nullptr, shape.a.row, shape.a.column, 0};
        p.tiles_m = (p.m + rows - 1) / rows, p.tiles_n = (p.n + columns - 1) / columns;
        p.splits = 1, p.k_each = p.k;
        // Splits k if there are few tiles; each chunk is a multiple of scale groups and stages.
        constexpr int kStep = 32;
        const int64_t steps = (p.k + kStep - 1) / kStep;
        const int64_t wanted =
            4 * device.multiprocessors / std::max(int64_t(p.tiles_m) * p.tiles_n, int64_t(1));
        if (wanted > 1 && steps >= 16) {
            const int64_t splits = std::min<int64_t>({wanted, steps / 8, 32});
            const int64_t each = (steps + splits - 1) / splits;
            p.k_each = int(each * kStep), p.splits = int((steps + each - 1) / each);
        }
        params_.groups = int(packing.groups);
        params_.group_size = int(std::max<int64_t>(shape.k / packing.groups, 1));

        const int64_t chunk = int64_t(16 / dtype_bytes(dtype));
        vector_ = shape.a.column == 1 && shape.a.row % chunk == 0;
        Source source("matmul/gemm_packed.cuh");
        source.type("T", dtype).type("O", shape.c.dtype).type("C", INFINI_DTYPE_F32);
        source.constant("kMxfp4", packing.mxfp4).constant("kBits", packing.bits);
        source.constant("kBytesA", packing.bytes_a).constant("kSplit", p.splits > 1);
        source.constant("kAnyGroups", packing.rows || params_.group_size % 16 != 0);
        source.constant("kRows", rows).constant("kColumns", columns);
        if (mma)
            source.constant("kWarpsM", rows == 16 ? 1 : 2).constant("kWarpsN", 4);
        else
            source.constant("kMicro", 4);
        source.line(mma ? "#define INFINI_MMA 1" : "#define INFINI_MMA 0");
        Source other = source;
        source.constant("kVectorA", vector_).constant("kVectorCodes", 1);
        other.constant("kVectorA", 0).constant("kVectorCodes", 0);
        kernel_ = std::make_shared<AlignedKernel>(device, source, other);
        if (p.splits > 1) {
            workspace = padded(size_t(p.splits) * size_t(shape.m * shape.n) * 4);
            join_ = std::make_shared<Join>(shape, p.splits, INFINI_DTYPE_F32, device);
        }
    }

    Error run(const ProductData &data, const PackedData &weights, const Stream &stream,
              char *memory) const override {
        PackedParams p = params_;
        place_data(p.product, shape_, data);
        p.product.a.data = data.a, p.product.b.data = weights.codes, p.product.partial = memory;
        p.scales = weights.scales, p.zeros = weights.zeros, p.row_group = weights.row_group;
        p.offset = weights.offset;
        Error error = infinirtSuccess;
        const Kernel *kernel =
            kernel_->get((!vector_ || is_aligned(data.a)) && is_aligned(weights.codes), error);
        if (!kernel) return error;
        const int64_t blocks = int64_t(p.product.tiles_m) * p.product.tiles_n * p.product.splits;
        error = kernel->launch(stream, blocks, threads_, p, shared_);
        return error || !join_ ? error : join_->run(data, memory, stream);
    }

private:
    ProductShape shape_;
    PackedParams params_{};
    std::shared_ptr<const AlignedKernel> kernel_;
    std::shared_ptr<const Join> join_;
    unsigned threads_ = 256;
    size_t shared_ = 0;
    bool vector_ = false;
};

// Multiplies few rows by Marlin's weights, which are loaded directly into fragments of the tensor
// cores.
class SkinnyMarlinProduct final : public PackedProduct {
public:
    static bool suits(const ProductShape &shape, const Packing &packing, const Device &device) {
        return device.has_mma && !packing.mxfp4 && !packing.bytes_a && !packing.rows &&
               shape.m <= 32 && shape.k % (16 * packing.groups) == 0 && shape.a.row % 2 == 0 &&
               shape.a.column == 1;
    }

    SkinnyMarlinProduct(const ProductShape &shape, const Packing &packing, Device &device)
        : shape_(shape) {
        MatmulParams &p = params_.product;
        place_output(p, shape);
        p.a = {nullptr, shape.a.row, 1, 0};
        p.tiles_m = 1, p.tiles_n = p.n / 64;
        // Splits k so that there are enough blocks, and bands for all warps of a block.
        const int64_t bands = p.k / 16;
        const int64_t wanted = 2 * device.multiprocessors / std::max(p.tiles_n, 1);
        const int64_t splits = std::clamp<int64_t>(std::min(wanted, bands / (4 * kWarps)), 1, 16);
        const int64_t each = (bands + splits - 1) / splits;
        p.k_each = int(each * 16), p.splits = int((bands + each - 1) / each);
        params_.groups = int(packing.groups);
        params_.group_size = int(shape.k / packing.groups);
        Source source("quant/marlin_skinny.cuh");
        source.type("T", shape.a.dtype).constant("kBits", packing.bits);
        source.constant("kZeros", packing.zeros).constant("kTilesM", shape.m <= 16 ? 1 : 2);
        source.constant("kWarps", kWarps).constant("kSplit", p.splits > 1);
        Source other = source;
        kernel_ = std::make_shared<AlignedKernel>(device, source.constant("kVector", 1),
                                                  other.constant("kVector", 0));
        if (p.splits > 1) {
            workspace = padded(size_t(p.splits) * size_t(shape.m * shape.n) * 4);
            join_ = std::make_shared<Join>(shape, p.splits, INFINI_DTYPE_F32, device);
        }
    }

    Error run(const ProductData &data, const PackedData &weights, const Stream &stream,
              char *memory) const override {
        PackedParams p = params_;
        place_data(p.product, shape_, data);
        p.product.a.data = data.a, p.product.b.data = weights.codes, p.product.partial = memory;
        p.scales = weights.scales, p.zeros = weights.zeros, p.offset = weights.offset;
        const bool aligned =
            is_aligned(data.a) && is_aligned(weights.codes) && is_aligned(weights.scales);
        Error error = infinirtSuccess;
        const Kernel *kernel = kernel_->get(aligned, error);
        if (!kernel) return error;
        error =
            kernel->launch(stream, int64_t(p.product.tiles_n) * p.product.splits, 32 * kWarps, p);
        return error || !join_ ? error : join_->run(data, memory, stream);
    }

private:
    static constexpr int kWarps = 8;

    ProductShape shape_;
    PackedParams params_{};
    std::shared_ptr<const AlignedKernel> kernel_;
    std::shared_ptr<const Join> join_;
};

}  // namespace

std::shared_ptr<const PackedProduct> make_packed_product(const ProductShape &shape,
                                                         const Packing &packing, Device &device) {
    constexpr int64_t kMost = INT32_MAX - 1024;
    if (shape.m > kMost || shape.n > kMost || shape.k > kMost)
        refuse_shape("a matrix has more than 2^31 rows or columns");
    if (SkinnyMarlinProduct::suits(shape, packing, device))
        return std::make_shared<SkinnyMarlinProduct>(shape, packing, device);
    return std::make_shared<TiledPackedProduct>(shape, packing, device);
}

}  // namespace infini::cuda
