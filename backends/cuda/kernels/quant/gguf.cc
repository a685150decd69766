// dequantize_gguf and linear_gguf.
#include "device/quant/gguf.cuh"

#include <algorithm>

#include "kernels/dims.h"
#include "kernels/matmul/product.h"

namespace infini::cuda {
namespace {

constexpr int64_t kFewRows = 8;              // maximum for the kernel that reads packed weights
constexpr size_t kExpandedBytes = 64 << 20;  // dequantised weights at a time

// The number of bytes that may be loaded together if all addresses are multiples of `from`.
int32_t word_of(int64_t from) { return from % 4 == 0 ? 4 : from % 2 == 0 ? 2 : 1; }
int64_t block_bytes(int64_t format) {
    constexpr int64_t kBytes[] = {0, 0, 18, 20, 0, 0, 22, 24, 34, 0, 0, 0, 144, 176, 210};
    return kBytes[format];
}
int64_t address(const void *pointer) { return int64_t(reinterpret_cast<uintptr_t>(pointer) & 15); }

class Dequantize {
public:
    Dequantize(int64_t format, int dtype, bool interleaved, Device &device)
        : device_(device), format_(format) {
        Source source("quant/gguf.cuh:dequantize");
        source.type("T", dtype).constant("kFormat", format).constant("kInterleaved", interleaved);
        kernel_ = device.compile(source);
        wide_ = int64_t(dtype_bytes(dtype)) * 4;
    }

    // `strides`: all strides of the output and of the bytes, combined by |.
    Error run(GgufDequantizeParams params, int64_t out_strides, int64_t byte_strides,
              const Stream &stream) const {
        params.word = word_of(block_bytes(format_) | byte_strides | address(params.packed));
        params.whole = out_strides % 4 == 0 && is_aligned(params.out, size_t(wide_));
        const int64_t blocks = device_.blocks_for(params.rows.count * params.units * 4, 256, 16);
        return kernel_->launch(stream, blocks, 256, params);
    }

private:
    Device &device_;
    int64_t format_, wide_;
    std::shared_ptr<const Kernel> kernel_;
};

std::unique_ptr<Plan> plan_dequantize_gguf(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), packed = operation.tensor(1);
    if (out.numel() == 0) return make_empty_plan();
    const auto kernel =
        std::make_shared<Dequantize>(operation.integer(0), out.dtype, false, device);
    Dims<2> dims;
    int64_t out_strides = 0, byte_strides = 0;
    for (int d = 0; d < out.ndim - 1; ++d) {
        dims.add(out.shape[d], out.strides[d], packed.strides[d]);
        if (out.shape[d] == 1) continue;
        out_strides |= out.strides[d], byte_strides |= packed.strides[d];
    }
    GgufDequantizeParams params = {};
    params.rows = dims.places(), params.units = out.size(-1) / 32;
    return make_plan([=](const Arguments &a, const Stream &stream) {
        GgufDequantizeParams here = params;
        here.out = a.pointer<void>(0), here.packed = a.pointer<uint8_t>(1);
        return kernel->run(here, out_strides, byte_strides, stream);
    });
}

// ---- Products -----------------------------------------------------------------------------------

struct GgufSizes {
    int64_t m, n, k, format, row_bytes;
    int dtype;
    bool bias, quantise, interleaved;
};

std::shared_ptr<const Kernel> quantise_kernel(const GgufSizes &s, bool rounded, Device &device) {
    Source source("quant/gguf.cuh:quantize");
    return device.compile(source.type("T", s.dtype).constant("kRounded", rounded));
}

// Few rows: the packed bytes are read once.
std::unique_ptr<Plan> plan_few(const GgufSizes &s, Device &device) {
    const int64_t element = int64_t(dtype_bytes(s.dtype)), units = s.k / 32;
    const int64_t rows = s.m <= 2 ? s.m : s.m <= 4 ? 4 : kFewRows;
    std::shared_ptr<const Kernel> quantise;
    if (s.quantise) quantise = quantise_kernel(s, false, device);
    Source source("quant/gguf.cuh:multiply");
    source.type("T", s.dtype).constant("kFormat", s.format).constant("kRows", rows);
    source.constant("kCodes", s.quantise).constant("kInterleaved", s.interleaved);
    const auto kernel = device.compile(source);
    const size_t codes = padded(size_t(s.m * s.k)), each = padded(size_t(s.m * units) * 4);
    const int64_t blocks = (s.n + 256 / device.warp - 1) / (256 / device.warp);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            GgufMultiplyParams p = {};
            p.x = a.pointer<void>(1), p.whole = is_aligned(p.x, size_t(4 * element));
            p.weight = a.pointer<uint8_t>(2), p.bias = s.bias ? a.pointer<void>(3) : nullptr;
            p.columns = s.n, p.row_bytes = s.row_bytes;
            p.units = int32_t(units);
            p.word = word_of(block_bytes(s.format) | s.row_bytes | address(p.weight));
            if (quantise) {
                GgufQuantizeParams q = {};
                q.x = p.x, q.units = s.m * units;
                q.codes = reinterpret_cast<int8_t *>(a.workspace());
                q.scales = reinterpret_cast<float *>(a.workspace() + codes);
                q.sums = reinterpret_cast<float *>(a.workspace() + codes + each);
                q.totals = reinterpret_cast<int32_t *>(a.workspace() + codes + 2 * each);
                p.codes = q.codes, p.scales = q.scales, p.sums = q.sums, p.totals = q.totals;
                const Error error = quantise->launch(stream, (q.units + 7) / 8, 256, q);
                if (error) return error;
            }
            Error error = infinirtSuccess;
            for (int64_t row = 0; row < s.m && !error; row += kFewRows) {  // more only if k is 0
                p.rows = int32_t(std::min(kFewRows, s.m - row));
                p.out = a.pointer<char>(0) + row * s.n * element;
                error = kernel->launch(stream, blocks, 256, p);
            }
            return error;
        },
        s.quantise ? codes + 3 * each : 0);
}

// Many rows: processes some columns of the result at a time, whose weights are dequantised first.
class ManyRows final : public Plan {
public:
    ManyRows(const GgufSizes &sizes, Device &device)
        : s(sizes), dequantise_(sizes.format, sizes.dtype, sizes.interleaved, device) {
        const int64_t element = int64_t(dtype_bytes(s.dtype));
        const int64_t most = std::max<int64_t>(int64_t(kExpandedBytes) / (s.k * element), 1);
        columns_ =
            std::min(s.n, most < 256 ? std::max<int64_t>(most / 8 * 8, 8) : most / 256 * 256);
        product_ = make_product(shape(columns_), device);
        if (s.n % columns_) last_ = make_product(shape(s.n % columns_), device);
        weights_ = padded(size_t(columns_ * s.k * element));
        if (s.quantise) {
            quantise_ = quantise_kernel(s, true, device);
            rounded_ = padded(size_t(s.m * s.k * element));
        }
        workspace = weights_ + rounded_ +
                    std::max(product_->workspace, last_ ? last_->workspace : size_t(0));
    }

    Error run(const Arguments &a, const Stream &stream) const override {
        const int64_t element = int64_t(dtype_bytes(s.dtype));
        char *memory = a.workspace() + weights_;
        ProductData data{a.pointer<void>(1), a.workspace(), nullptr};
        Error error = infinirtSuccess;
        if (quantise_) {
            GgufQuantizeParams q = {};
            q.x = data.a, q.units = s.m * s.k / 32, q.rounded = memory;
            if ((error = quantise_->launch(stream, (q.units + 7) / 8, 256, q))) return error;
            data.a = memory, memory += rounded_;
        }
        for (int64_t column = 0; column < s.n; column += columns_) {
            const int64_t count = std::min(columns_, s.n - column);
            Dims<2> dims;
            dims.add(count, s.k, s.row_bytes);
            GgufDequantizeParams p = {};
            p.rows = dims.places(), p.units = s.k / 32;
            p.out = a.workspace(), p.packed = a.pointer<uint8_t>(2) + column * s.row_bytes;
            p.row_bytes = s.row_bytes;
            if ((error = dequantise_.run(p, s.k, s.row_bytes, stream))) return error;
            data.c = a.pointer<char>(0) + column * element;
            if (s.bias) data.bias = a.pointer<char>(3) + column * element;
            const Product &product = count == columns_ ? *product_ : *last_;
            if ((error = product.run(data, stream, memory))) return error;
        }
        return error;
    }

private:
    ProductShape shape(int64_t columns) const {
        ProductShape shape;
        shape.m = s.m, shape.n = columns, shape.k = s.k;
        shape.a = {s.dtype, s.k, 1, 0}, shape.b = {s.dtype, 1, s.k, 0};
        shape.c = {s.dtype, s.n, 1, 0};
        shape.biased = s.bias;
        return shape;
    }

    const GgufSizes s;
    Dequantize dequantise_;
    int64_t columns_;
    std::shared_ptr<const Product> product_, last_;
    std::shared_ptr<const Kernel> quantise_;
    size_t weights_ = 0, rounded_ = 0;
};

std::unique_ptr<Plan> plan_linear_gguf(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), x = operation.tensor(1), weight = operation.tensor(2);
    if (out.numel() == 0) return make_empty_plan();
    GgufSizes s;
    s.n = out.size(-1), s.k = x.size(-1), s.m = out.numel() / s.n, s.dtype = out.dtype;
    s.format = operation.integer(0), s.row_bytes = weight.size(1);
    s.bias = bool(operation.tensor(3)), s.quantise = operation.integer(1) != 0;
    s.interleaved = operation.integer(2) != 0;
    // Without a bias and elements to sum up, the kernel for few rows still writes zeros.
    if (s.m <= kFewRows || s.k == 0) return plan_few(s, device);
    return std::make_unique<ManyRows>(s, device);
}

INFINI_CUDA_KERNEL("dequantize_gguf", plan_dequantize_gguf);
INFINI_CUDA_KERNEL("linear_gguf", plan_linear_gguf);

}  // namespace
}  // namespace infini::cuda
