// Matrix products with Marlin's weights.
#include "../kernel.h"
#include "../threads.h"
#include "marlin_dot.h"

namespace infini::cpu {
namespace {

// The tensor indices of an operation; -1: it has no such tensor.
struct MarlinPlaces {
    int bias, scales, a_scales, global_scales, zeros, row_group, perm;
};

class MarlinGemm final : public Plan {
public:
    MarlinGemm(const Operation &op, const MarlinPlaces &places) : at(places) {
        Tensor out = op.tensor(0), a = op.tensor(1), b = op.tensor(2),
               scales = op.tensor(at.scales);
        out_ = out, a_ = a, invariant_ = op.batch_invariant();
        data_.layout = {b.size(1) == 2 * out.size(1) ? 4 : 8, a.dtype == INFINI_DTYPE_I8};
        data_.k = a.size(1), data_.n = out.size(1), data_.groups = scales.size(0);
        data_.scale_dtype = scales.dtype;
        if (a.dtype != out.dtype && a.dtype != INFINI_DTYPE_I8) {
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE, "a must have the dtype of out, or be I8"};
        }
        if (data_.k % data_.layout.rows()) {
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "k must be a multiple of 16, or of 32 for 8-bit activations"};
        }
        const int64_t words = data_.n * data_.layout.bits / 32;
        has_bias_ = given(op, at.bias, data_.n);
        has_a_scales_ = given(op, at.a_scales, a.size(0));
        has_zeros_ = given(op, at.zeros, data_.groups * words);
        has_row_group_ = given(op, at.row_group, data_.k);
        has_perm_ = given(op, at.perm, data_.k);
        given(op, at.global_scales, 0);

        Matmul p = product();
        MarlinWeights weights(data_);
        Epilogue epilogue;
        p.weights = &weights;
        if (has_bias_ || has_a_scales_) p.epilogue = &epilogue;
        copies_ = has_perm_ || a.dtype == INFINI_DTYPE_I8;
        copy_bytes_ = copies_ ? (size_t(p.m * p.k) * 2 + 63) / 64 * 64 : 0;
        few_ = p.m <= kByteRows && !has_row_group_ && !p.invariant && MarlinDot<4>::takes(data_);
        workspace = matmul_workspace(p);
        if (few_) workspace = std::max(workspace, ByteRows::bytes(p.m, p.k, data_.groups));
        workspace += copy_bytes_;
    }

    void run(const Arguments &a) const override {
        Matmul p = product();
        p.c.data = a.pointer<void>(0);
        p.a.data = a.pointer<const void>(1);
        MarlinData data = data_;
        data.words = a.pointer<const uint32_t>(2);
        data.scales = a.pointer<const void>(at.scales);
        data.zeros = has_zeros_ ? a.pointer<const uint32_t>(at.zeros) : nullptr;
        data.row_group = has_row_group_ ? a.pointer<const int32_t>(at.row_group) : nullptr;
        // The type encodes the bits of the exponent, the bits of the number, a sign and the bias.
        const int64_t type = a.integer(0);
        data.bias = float(type >> 17 & 0xffffffff);
        if ((type & 0xff) != 0 || (type >> 8 & 0xff) != data.layout.bits) return fill_nan(p.c);
        if (copies_)
            copy_a(p.a, has_perm_ ? a.pointer<const int32_t>(at.perm) : nullptr, a.workspace());
        MarlinWeights weights(data);
        Epilogue epilogue;
        epilogue.bias_dtype = out_.dtype;
        if (has_bias_) epilogue.bias = a.pointer<const void>(at.bias);
        if (has_a_scales_) epilogue.row_scale = a.pointer<const float>(at.a_scales);
        p.weights = &weights;
        if (has_bias_ || has_a_scales_) p.epilogue = &epilogue;
        char *memory = a.workspace() + copy_bytes_;
        if (few_) {
            ByteRows rows(memory, p.m, p.k, data.groups);
            if (rows.load(p.a)) {
                if (data.layout.bits == 4) return multiply_few<4>(data, rows, p, epilogue);
                return multiply_few<8>(data, rows, p, epilogue);
            }
        }
        matmul(p, memory);
    }

private:
    // Whether the optional tensor is given. Empty ones count as absent.
    static bool given(const Operation &op, int index, int64_t size) {
        if (index < 0 || !op.tensor(index)) return false;
        int64_t count = op.tensor(index).numel();
        if (count != 0 && count != size) {
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "an optional tensor is neither empty nor of the size that it should be"};
        }
        return count != 0;
    }

    Matmul product() const {
        Matmul p;
        p.m = out_.size[0], p.n = data_.n, p.k = data_.k, p.invariant = invariant_;
        p.a = {nullptr, a_.dtype, a_.stride[0], 1, 0};
        p.c = {nullptr, out_.dtype, out_.stride[0], 1, 0};
        if (copies_ || a_.dtype == INFINI_DTYPE_I8) p.a.dtype = out_.dtype, p.a.row_stride = p.k;
        return p;
    }

    template <int kBits>
    static void multiply_few(const MarlinData &data, const ByteRows &x, const Matmul &p,
                             const Epilogue &epilogue) {
        const MarlinDot<kBits> product(data);
        const size_t grain = size_t(std::max<int64_t>(1, 4096 / std::max<int64_t>(p.k, 1)));
        parallel_for(size_t(p.n / 64), grain, [&](size_t first, size_t last) {
            for (int64_t run = int64_t(first); run < int64_t(last); ++run) {
                for (int64_t row = 0; row < p.m; row += 4) {
                    float y[4 * 64], bias[64] = {};
                    int64_t rows = std::min<int64_t>(4, p.m - row);
                    product.multiply(x, row, rows, run, y);
                    if (epilogue.bias) {
                        load_halves<64>(bias, static_cast<const char *>(epilogue.bias) + run * 128,
                                        epilogue.bias_dtype);
                    }
                    for (int64_t i = 0; i < rows; ++i) {
                        float scale = epilogue.row_scale ? epilogue.row_scale[row + i] : 1.0f;
                        for (int j = 0; j < 64; ++j)
                            y[i * 64 + j] = y[i * 64 + j] * scale + bias[j];
                        int64_t at = (row + i) * p.c.row_stride + run * 64;
                        store_halves<64>(static_cast<char *>(p.c.data) + at * 2, y + i * 64,
                                         p.c.dtype);
                    }
                }
            }
        });
    }

    // Copies a with its columns in the order of the weights' rows, in out's dtype. Small integers
    // are exact.
    void copy_a(Matrix &a, const int32_t *perm, char *memory) const {
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(data_.k, 1)));
        const void *from = a.data;
        parallel_for(size_t(out_.size[0]), grain, [&](size_t first, size_t last) {
            for (int64_t row = int64_t(first); row < int64_t(last); ++row) {
                for (int64_t i = 0; i < data_.k; ++i) {
                    int64_t column = perm ? perm[i] : i;
                    bool inside = column >= 0 && column < data_.k;
                    float value =
                        inside ? load_as<float>(a_.dtype, from, row * a_.stride[0] + column) : 0.0f;
                    store_as<float>(out_.dtype, memory, row * data_.k + i, value);
                }
            }
        });
        a.data = memory;
    }

    // For types that these weights cannot have: NaN makes the error visible.
    void fill_nan(const Output &c) const {
        for (int64_t row = 0; row < out_.size[0]; ++row) {
            for (int64_t i = 0; i < data_.n; ++i) {
                store_as<float>(c.dtype, c.data, row * c.row_stride + i, __builtin_nanf(""));
            }
        }
    }

    MarlinPlaces at;
    Shape out_, a_;
    MarlinData data_{};
    bool has_bias_, has_a_scales_, has_zeros_, has_row_group_, has_perm_, copies_ = false;
    bool invariant_;
    bool few_ = false;  // few enough rows for byte products only
    size_t copy_bytes_ = 0;
};

std::unique_ptr<Plan> plan_marlin_gemm(const Operation &op) {
    const MarlinPlaces gptq{-1, 3, -1, 4, 5, 6, 7}, awq{3, 4, 5, 6, 7, 8, 9};
    return std::make_unique<MarlinGemm>(op, op.is("awq_marlin_gemm") ? awq : gptq);
}

INFINI_KERNEL("marlin_gemm", plan_marlin_gemm);

}  // namespace
}  // namespace infini::cpu
