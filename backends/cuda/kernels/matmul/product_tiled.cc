// Products with tiles in shared memory: on the tensor cores, or with ordinary multiplications.
#include <algorithm>

#include "product_parts.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr size_t kStages = 4, kStageBytes = 64;  // per line, as in mma_tile.cuh

// The memory layout of an operand's lines.
struct Lying {
    bool along, vector;
};

Lying lying(const MatmulOperand &operand, size_t element, bool only_along) {
    const int64_t chunk = int64_t(16 / element);
    bool along = operand.along == 1 || only_along;
    if (!along && operand.line != 1) along = std::abs(operand.along) < std::abs(operand.line);
    const int64_t run = along ? operand.along : operand.line;
    const int64_t step = along ? operand.line : operand.along;
    return {along, run == 1 && step % chunk == 0 && operand.batch % chunk == 0};
}

class TiledProduct final : public Product {
public:
    TiledProduct(ProductShape shape, Device &device) {
        // Columns of c are stored together.
        if (shape.c.column != 1 && shape.c.row == 1 && !shape.scaled && !shape.biased &&
            !shape.epilogue) {
            swapped_ = true;
            std::swap(shape.m, shape.n);
            std::swap(shape.a, shape.b);
            std::swap(shape.a.row, shape.a.column), std::swap(shape.b.row, shape.b.column);
            std::swap(shape.c.row, shape.c.column);
            std::swap(shape.addend.row, shape.addend.column);
        }
        params_.a = {nullptr, shape.a.row, shape.a.column, shape.a.batch};
        params_.b = {nullptr, shape.b.column, shape.b.row, shape.b.batch};
        place_output(params_, shape);
        shape_ = shape;
        const bool bytes = shape.a.dtype == INFINI_DTYPE_I8;
        const bool halves = shape.a.dtype == INFINI_DTYPE_F16 || shape.a.dtype == INFINI_DTYPE_BF16;
        const bool mma = device.has_mma && shape.a.dtype == shape.b.dtype && (bytes || halves);
        mma ? prepare_mma(shape, device) : prepare_plain(shape, device);
        if (params_.splits > 1) {
            workspace = padded(size_t(params_.splits) * size_t(shape.batch * shape.m * shape.n) *
                               dtype_bytes(sums_in_));
            join_ = std::make_shared<Join>(shape, params_.splits, sums_in_, device);
        }
    }

    Error run(const ProductData &data, const Stream &stream, char *memory) const override {
        MatmulParams p = params_;
        p.a.data = swapped_ ? data.b : data.a, p.b.data = swapped_ ? data.a : data.b;
        place_data(p, shape_, data);
        p.partial = memory;
        Error error = infinirtSuccess;
        const bool aligned =
            (!vector_a_ || is_aligned(p.a.data)) && (!vector_b_ || is_aligned(p.b.data));
        const Kernel *kernel = kernel_->get(aligned, error);
        if (!kernel) return error;
        const int64_t blocks = int64_t(p.tiles_m) * p.tiles_n * p.splits * p.batch;
        error = launch_product(*kernel, stream, blocks, threads_, shared_, p, shape_, data);
        if (error == infinirtSuccess && p.splits > 1) error = join_->run(data, memory, stream);
        return error;
    }

private:
    // Divides c into tiles and, if those are few, splits k.
    void cut(int rows, int columns, int depth, const ProductShape &shape, const Device &device) {
        MatmulParams &p = params_;
        p.tiles_m = (p.m + rows - 1) / rows, p.tiles_n = (p.n + columns - 1) / columns;
        const int64_t tiles = int64_t(p.tiles_m) * p.tiles_n * shape.batch;
        p.splits = 1, p.k_each = p.k;
        const int64_t steps = (p.k + depth - 1) / depth;
        const int64_t wanted = device.multiprocessors / std::max<int64_t>(tiles, 1);
        if (wanted > 1 && steps >= 16 && !shape.epilogue && !shape.invariant) {
            const int64_t splits = std::min<int64_t>({wanted, steps / 8, 32});
            const int64_t each = (steps + splits - 1) / splits;
            p.k_each = int(each * depth);
            p.splits = int((steps + each - 1) / each);
        }
        if (tiles * p.splits > INT32_MAX) refuse_shape("more matrices than a grid can have");
    }

    void prepare_mma(const ProductShape &shape, Device &device) {
        const size_t element = dtype_bytes(shape.a.dtype);
        const int depth = int(kStageBytes / element);
        const int64_t large = ((shape.m + 127) / 128) * ((shape.n + 127) / 128) * shape.batch;
        const bool small = large < device.multiprocessors || shape.m <= 64 || shape.n <= 64;
        const int tile = small ? 64 : 128;
        cut(tile, tile, depth, shape, device);
        threads_ = small ? 128 : 256;
        shared_ = std::max(kStages * 2 * size_t(tile) * kStageBytes, size_t(tile * tile) * 4);
        Source source("matmul/gemm.cuh:mma");
        add_epilogue(source, shape);
        source.type("T", shape.a.dtype).type("O", shape.c.dtype);
        source.constant("kRows", tile).constant("kColumns", tile);
        source.constant("kWarpsM", 2).constant("kWarpsN", small ? 2 : 4);
        compile(source, element, shape.a.dtype == INFINI_DTYPE_I8, device);
        sums_in_ = shape.a.dtype == INFINI_DTYPE_I8 ? INFINI_DTYPE_I32 : INFINI_DTYPE_F32;
    }

    void prepare_plain(const ProductShape &shape, Device &device) {
        const bool wide = shape.a.dtype == INFINI_DTYPE_F64 || shape.b.dtype == INFINI_DTYPE_F64;
        sums_in_ = wide                      ? INFINI_DTYPE_F64
                   : is_float(shape.a.dtype) ? INFINI_DTYPE_F32
                                             : INFINI_DTYPE_I32;
        const int64_t large = ((shape.m + 127) / 128) * ((shape.n + 127) / 128) * shape.batch;
        const bool small = wide || large < device.multiprocessors || shape.m <= 64 || shape.n <= 64;
        const int tile = small ? 64 : 128;
        cut(tile, tile, 8, shape, device);
        threads_ = 256;
        Source source("matmul/gemm.cuh:plain");
        add_epilogue(source, shape);
        source.type("A", shape.a.dtype).type("B", shape.b.dtype).type("O", shape.c.dtype);
        source.type("C", sums_in_);
        source.constant("kTile", tile).constant("kMicro", small ? 4 : 8);
        // Runs of 2 or 4 elements, so alignment to 16 bytes is more than sufficient.
        compile(source, std::min(dtype_bytes(shape.a.dtype), dtype_bytes(shape.b.dtype)), false,
                device);
    }

    void compile(Source source, size_t element, bool only_along, Device &device) {
        const Lying a = lying(params_.a, element, only_along);
        const Lying b = lying(params_.b, element, only_along);
        source.constant("kAlongA", a.along).constant("kAlongB", b.along);
        source.constant("kSplit", params_.splits > 1);
        vector_a_ = a.vector, vector_b_ = b.vector;
        Source other = source;
        source.constant("kVectorA", a.vector).constant("kVectorB", b.vector);
        other.constant("kVectorA", 0).constant("kVectorB", 0);
        kernel_ = std::make_shared<AlignedKernel>(device, source, other);
    }

    MatmulParams params_{};
    std::shared_ptr<const AlignedKernel> kernel_;
    ProductShape shape_;
    std::shared_ptr<const Join> join_;
    int sums_in_ = 0;
    unsigned threads_ = 0;
    size_t shared_ = 0;
    bool swapped_ = false, vector_a_ = false, vector_b_ = false;
};

}  // namespace

std::shared_ptr<const Product> make_tiled_product(const ProductShape &shape, Device &device) {
    return std::make_shared<TiledProduct>(shape, device);
}

}  // namespace infini::cuda
