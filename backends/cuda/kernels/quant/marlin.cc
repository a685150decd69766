// Products with Marlin's weights.
#include <cmath>

#include "../matmul/packed.h"
#include "device/quant/marlin_rows.cuh"
#include "refuse.h"

namespace infini::cuda {
namespace {

// Indices of an operation's tensors; -1: none.
struct MarlinTensors {
    int bias, scales, a_scales, global_scales, zeros, row_group, perm;
};

class MarlinGemm final : public Plan {
public:
    MarlinGemm(const Operation &op, const MarlinTensors &tensors, Device &device) : at(tensors) {
        const Tensor out = op.tensor(0), a = op.tensor(1), b = op.tensor(2);
        const Tensor scales = op.tensor(at.scales);
        packing_.bits = b.size(1) == 2 * out.size(1) ? 4 : 8;
        packing_.bytes_a = a.dtype == INFINI_DTYPE_I8;
        packing_.groups = scales.size(0);
        if (a.dtype != out.dtype && a.dtype != INFINI_DTYPE_I8)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE, "a must have the dtype of out, or be I8"};
        shape_.m = out.size(0), shape_.n = out.size(1), shape_.k = a.size(1);
        if (shape_.k % (packing_.bytes_a ? 32 : 16))
            refuse_shape("k must be a multiple of 16, or of 32 for 8-bit activations");
        const int64_t words = shape_.n * packing_.bits / 32;
        has_bias_ = given(op, at.bias, shape_.n);
        has_a_scales_ = given(op, at.a_scales, a.size(0));
        packing_.zeros = given(op, at.zeros, packing_.groups * words);
        packing_.rows = given(op, at.row_group, shape_.k);
        has_perm_ = given(op, at.perm, shape_.k);
        given(op, at.global_scales, 0);
        empty_ = out.numel() == 0;
        if (empty_) return;

        shape_.c = {out.dtype, out.stride(0), 1, 0};
        copies_ = has_perm_ || packing_.bytes_a;
        shape_.a = {out.dtype, copies_ ? shape_.k : a.stride(0), 1, 0};
        product_ = make_packed_product(shape_, packing_, device);
        workspace = product_->workspace;
        if (copies_) {
            a_row_ = a.stride(0);
            copy_bytes_ = padded(size_t(shape_.m * shape_.k) * 2);
            workspace += copy_bytes_;
            Source source("quant/marlin_rows.cuh");
            copy_ = device.compile(source.type("From", a.dtype).type("T", out.dtype));
            copy_blocks_ = device.blocks_for(shape_.m * shape_.k, 256);
        }
    }

    Error run(const Arguments &a, const Stream &stream) const override {
        if (empty_) return infinirtSuccess;
        ProductData data{a.pointer<void>(1), nullptr, a.pointer<void>(0)};
        PackedData weights{a.pointer<void>(2), a.pointer<void>(at.scales)};
        if (packing_.zeros) weights.zeros = a.pointer<uint32_t>(at.zeros);
        if (packing_.rows) weights.row_group = a.pointer<int>(at.row_group);
        if (has_bias_) data.bias = a.pointer<void>(at.bias);
        if (has_a_scales_) data.row_scale = a.pointer<float>(at.a_scales);
        // The encoding of the type: exponent bits, then mantissa bits, sign and bias. For types
        // that these weights cannot have, the result is NaN.
        const int64_t type = a.integer(0);
        weights.offset = float(type >> 17 & 0xffffffff);
        if ((type & 0xff) != 0 || (type >> 8 & 0xff) != packing_.bits) data.alpha = NAN;
        if (copies_) {
            const MarlinRowsParams rows{
                a.workspace(), data.a, has_perm_ ? a.pointer<int>(at.perm) : nullptr,
                shape_.m,      a_row_, int(shape_.k)};
            if (Error error = copy_->launch(stream, copy_blocks_, 256, rows)) return error;
            data.a = a.workspace();
        }
        return product_->run(data, weights, stream, a.workspace() + copy_bytes_);
    }

private:
    // Whether the optional tensor is present. Empty ones count as absent.
    static bool given(const Operation &op, int index, int64_t size) {
        if (index < 0 || !op.tensor(index)) return false;
        const int64_t count = op.tensor(index).numel();
        if (count != 0 && count != size)
            refuse_shape("an optional tensor is neither empty nor of the size that it should be");
        return count != 0;
    }

    MarlinTensors at;
    ProductShape shape_;
    Packing packing_;
    bool has_bias_, has_a_scales_, has_perm_, empty_, copies_ = false;
    int64_t a_row_ = 0, copy_blocks_ = 0;
    size_t copy_bytes_ = 0;
    std::shared_ptr<const Kernel> copy_;
    std::shared_ptr<const PackedProduct> product_;
};

std::unique_ptr<Plan> plan_marlin_gemm(const Operation &op, Device &device) {
    const MarlinTensors gptq{-1, 3, -1, 4, 5, 6, 7}, awq{3, 4, 5, 6, 7, 8, 9};
    return std::make_unique<MarlinGemm>(op, op.is("awq_marlin_gemm") ? awq : gptq, device);
}

INFINI_CUDA_KERNEL("marlin_gemm", plan_marlin_gemm);

}  // namespace
}  // namespace infini::cuda
