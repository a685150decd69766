// Products with few rows, which are bound by reading b.
#include <algorithm>

#include "product_parts.h"

namespace infini::cuda {
namespace {

constexpr int64_t kSkinnyRows = 16, kLeastDepth = 128, kLeastColumns = 64;
constexpr int kSkinnyWarps = 8;

// How a kernel is launched.
struct Launch {
    int64_t blocks = 0;
    int tiles_n = 0;
    size_t shared = 0;
};

// skinny_pipelined.cuh: one block per multiprocessor.
class Pipelined {
public:
    Pipelined(const ProductShape &shape, const Device &device) : shape_(shape), device_(device) {
        while (rows_ < shape.m) rows_ *= 2;
        double best = 0;
        for (int tiles = 1; tiles <= 8; ++tiles) {
            if (stages(tiles) < 3) break;
            // Wider groups read a and run the epilogue less often, unless multiprocessors idle at
            // the end.
            const double busy = this->busy(tiles);
            if (busy < 0.97 * best) continue;
            best = std::max(best, busy), tiles_ = tiles;
        }
    }

    Source source() const {
        Source source("matmul/skinny_pipelined.cuh");
        add_epilogue(source, shape_);
        source.type("T", shape_.a.dtype).type("O", shape_.c.dtype);
        return source.constant("kTiles", tiles_)
            .constant("kRows", rows_)
            .constant("kWarps", kSkinnyWarps)
            .constant("kStages", stages(tiles_))
            .constant("kAhead", kAheadBytes / (8 * tiles_) / 16 * 16);
    }
    Launch launch() const {
        const int64_t each = 8 * tiles_, tiles = (shape_.n + each - 1) / each;
        return {std::min(tiles * shape_.batch, int64_t(device_.multiprocessors)), int(tiles),
                size_t(stages(tiles_)) * stage_bytes(tiles_)};
    }

private:
    // Bytes in flight per multiprocessor, chosen so that no blocks of the next kernel fit, which
    // would only wait. Prefetched to L2: about the bandwidth-delay product of the memory.
    static constexpr int64_t kBytesOnTheWay = 160 << 10, kAheadBytes = 32 << 10;

    int64_t stage_bytes(int tiles) const { return kSkinnyWarps * (1024 * tiles + 128 * rows_); }
    int stages(int tiles) const {
        const int64_t sums = 2 * kSkinnyWarps * rows_ * 8 * tiles * int64_t(sizeof(float));
        const int64_t left = int64_t(device_.shared_bytes) - sums;
        return int(
            std::min(kBytesOnTheWay / (kSkinnyWarps * 1024 * tiles), left / stage_bytes(tiles)));
    }
    // The utilization of the multiprocessors, if all groups of columns take equal time.
    double busy(int tiles) const {
        const int64_t each = 8 * tiles, groups = (shape_.n + each - 1) / each * shape_.batch;
        const int64_t rounds = (groups + device_.multiprocessors - 1) / device_.multiprocessors;
        return double(shape_.n * shape_.batch) / double(rounds * device_.multiprocessors * each);
    }

    const ProductShape &shape_;
    const Device &device_;
    int rows_ = 1, tiles_ = 1;
};

class SkinnyProduct final : public Product {
public:
    // False: the case is not supported.
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
        // As many columns per block as possible while all multiprocessors have blocks.
        int tiles = along ? 4 : 8;
        const int least = along ? 1 : 4;
        auto blocks = [&] { return (shape.n + 8 * tiles - 1) / (8 * tiles) * shape.batch; };
        while (tiles > least && blocks() < device.multiprocessors) tiles /= 2;
        if (blocks() < device.multiprocessors / 2 || blocks() > INT32_MAX) return false;

        shape_ = shape;
        place_output(params_, shape);
        params_.a = {nullptr, shape.a.row, shape.a.column, shape.a.batch};
        params_.b = {nullptr, shape.b.column, shape.b.row, shape.b.batch};
        usual_ = other_ = {blocks(), int((shape.n + 8 * tiles - 1) / (8 * tiles))};
        Source source("matmul/skinny.cuh");
        add_epilogue(source, shape);
        source.type("T", dtype).type("O", shape.c.dtype);
        source.constant("kTiles", tiles)
            .constant("kAlongB", along)
            .constant("kWarps", kSkinnyWarps);
        Source other = source;
        source.constant("kVector", 1), other.constant("kVector", 0);
        if (along) {
            const Pipelined pipelined(shape, device);
            source = pipelined.source(), usual_ = pipelined.launch();
        }
        kernel_ = std::make_shared<AlignedKernel>(device, source, other);
        return true;
    }

    Error run(const ProductData &data, const Stream &stream, char *) const override {
        MatmulParams p = params_;
        place_data(p, shape_, data);
        p.a.data = swapped_ ? data.b : data.a, p.b.data = swapped_ ? data.a : data.b;
        Error error = infinirtSuccess;
        const bool aligned = is_aligned(p.a.data) && is_aligned(p.b.data);
        const Kernel *kernel = kernel_->get(aligned, error);
        if (!kernel) return error;
        const Launch &launch = aligned ? usual_ : other_;
        p.tiles_n = launch.tiles_n;
        return launch_product(*kernel, stream, launch.blocks, 32 * kSkinnyWarps, launch.shared, p,
                              shape_, data);
    }

private:
    ProductShape shape_;
    MatmulParams params_{};
    std::shared_ptr<const AlignedKernel> kernel_;
    Launch usual_, other_;  // by alignment
    bool swapped_ = false;
};

}  // namespace

std::shared_ptr<const Product> make_skinny_product(const ProductShape &shape, Device &device) {
    auto product = std::make_shared<SkinnyProduct>();
    return product->prepare(shape, device) ? product : nullptr;
}

}  // namespace infini::cuda
