// Convolution as a product: features [M, C * taps] times columns [C * taps, outputs].
#include "../threads.h"
#include "conv_columns.h"
#include "conv_winograd.h"
#include "pack.h"

namespace infini::cpu {
namespace {

[[noreturn]] void refuse_shape(const char *sentence) {
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, sentence};
}

ConvShape conv_shape(const Operation &op) {
    Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
    const int64_t *pads = op.list(0), *steps = op.list(1), *dilations = op.list(2);
    int dims = int(op.integer(3));
    if (x.ndim != dims + 2 || w.ndim != dims + 2 || y.ndim != dims + 2) {
        refuse_shape("x, w and y must have n + 2 dimensions");
    }
    ConvShape s;
    s.dtype = y.dtype, s.images = x.size(0), s.channels = x.size(1), s.features = w.size(0);
    for (int i = 0; i < dims; ++i) {
        int d = ConvShape::kDims - dims + i;
        s.in[d] = x.size(i + 2), s.out[d] = y.size(i + 2), s.taps[d] = w.size(i + 2);
        if (pads) s.pad[d] = pads[i];
        if (steps) s.step[d] = steps[i];
        if (dilations) s.dilation[d] = dilations[i];
        constexpr int64_t kMost = int64_t(1) << 31;
        if (s.pad[d] < 0 || s.pad[d] > kMost || s.step[d] <= 0 || s.step[d] > kMost ||
            s.dilation[d] <= 0 || s.dilation[d] > kMost) {
            throw Refusal{INFINI_STATUS_BAD_PARAM,
                          "a pad is negative, or a stride or dilation is not positive"};
        }
        if (s.in[d] > kMost || s.taps[d] > kMost) refuse_shape("an image or window is too large");
        int64_t room = s.in[d] + 2 * s.pad[d] - s.dilation[d] * (s.taps[d] - 1) - 1;
        if (s.taps[d] == 0 || room < 0 || s.out[d] != room / s.step[d] + 1) {
            refuse_shape("y does not have the size that pads, strides and dilations give");
        }
    }
    return s;
}

#if defined(INFINI_AMX) || defined(INFINI_BF16_DOT)
constexpr bool kMultipliesBf16 = true;
#else
constexpr bool kMultipliesBf16 = false;
#endif

// Images are one product each, unless they are so small that reading the features again for each
// would count: then all are one product, and its result is put in order afterwards. The columns are
//   the image itself, where each output has one tap;
//   read while the product packs them, when it computes in F32;
//   written out, a part at a time, when it has a quicker way for elements as they are;
//   written out as rows, of few outputs: then the features, of which there are more, are packed once.
class Convolution final : public Plan {
public:
    Convolution(const ConvShape &shape, bool bias) : s(shape), bias_(bias) {
        joined_ = s.images > 1 && s.out_size() < 512;
        outputs_ = s.out_size() * (joined_ ? s.images : 1);
        k_ = s.channels * s.tap_count();
        plain_ = !joined_ && s.is_plain();
        rows_ = outputs_ <= 96 && s.features > outputs_;
        written_ = !plain_ && (rows_ || (kMultipliesBf16 && s.dtype == INFINI_DTYPE_BF16));
        part_ = outputs_;
        if (written_ && !rows_) {
            part_ = std::clamp<int64_t>((4 << 20) / (2 * std::max<int64_t>(k_, 1)), 512, 1 << 20);
            part_ = std::min(part_, outputs_);
        }
        columns_ = joined_ ? aligned(s.images * s.features * s.out_size()) : 0;
        scratch_ = columns_ + (written_ ? aligned(k_ * part_) : 0);

        ConvColumns<float> columns(s, nullptr);  // stand-ins while planning
        Epilogue epilogue;
        for (int64_t outputs : {part_, outputs_ % std::max<int64_t>(part_, 1)}) {
            Matmul p = product(outputs);
            if (!plain_ && !written_) p.weights = &columns;
            if (bias_ || rows_) p.epilogue = &epilogue;
            workspace = std::max(workspace, matmul_workspace(p));
        }
        workspace += size_t(scratch_);
    }

    void run(const Arguments &a) const override {
        if (s.images * s.features * s.out_size() == 0) return;
        if (s.dtype == INFINI_DTYPE_F16) return run_as<f16>(a);
        if (s.dtype == INFINI_DTYPE_BF16) return run_as<bf16>(a);
        run_as<float>(a);
    }

private:
    int64_t aligned(int64_t elements) const {
        return (elements * (s.dtype == INFINI_DTYPE_F32 ? 4 : 2) + 63) / 64 * 64;
    }

    // Of some outputs, without pointers.
    Matmul product(int64_t outputs) const {
        Matmul p;
        p.k = k_;
        if (rows_) {
            p.m = outputs, p.n = s.features;
            p.a = {nullptr, s.dtype, 1, outputs, 0};
            p.b = {nullptr, s.dtype, 1, k_, 0};
            p.c = {nullptr, s.dtype, 1, outputs_, 0};
        } else {
            p.m = s.features, p.n = outputs;
            p.a = {nullptr, s.dtype, k_, 1, 0};
            p.b = {nullptr, s.dtype, outputs, 1, 0};
            p.c = {nullptr, s.dtype, outputs_, 1, 0};
        }
        return p;
    }

    template <class T>
    void run_as(const Arguments &a) const {
        T *y = a.pointer<T>(0), *staging = reinterpret_cast<T *>(a.workspace());
        const T *x = a.pointer<const T>(1), *w = a.pointer<const T>(2);
        Epilogue epilogue;
        if (rows_ && bias_) epilogue.bias = a.pointer<const T>(3), epilogue.bias_dtype = s.dtype;
        if (!rows_ && bias_)
            epilogue.context = a.pointer<const T>(3), epilogue.finish = add_bias<T>;
        const Epilogue *use = rows_ || bias_ ? &epilogue : nullptr;
        if (joined_) {
            multiply(staging, x, w, use, a.workspace());
            return put_in_order(staging, y);
        }
        for (int64_t image = 0; image < s.images; ++image) {
            multiply(y + image * s.features * outputs_, x + image * s.channels * s.in_size(), w,
                     use, a.workspace());
        }
    }

    // One product: of an image, or of all.
    template <class T>
    void multiply(T *y, const T *x, const T *w, const Epilogue *epilogue, char *memory) const {
        const ConvColumns<T> columns(s, x);
        T *written = reinterpret_cast<T *>(memory + columns_);
        for (int64_t first = 0; first < outputs_; first += part_) {
            const int64_t outputs = std::min(part_, outputs_ - first);
            Matmul p = product(outputs);
            p.epilogue = epilogue;
            p.c.data = y + first;
            if (written_) write(columns, first, outputs, written);
            const T *from = plain_ ? x : written;
            p.a.data = rows_ ? from : w, p.b.data = rows_ ? w : from;
            if (!plain_ && !written_) p.weights = &columns;
            matmul(p, memory + scratch_);
        }
    }

    template <class T>
    void write(const ConvColumns<T> &columns, int64_t first, int64_t outputs, T *to) const {
        const int64_t block = 64, blocks = (k_ + block - 1) / block;
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / (block * outputs)));
        parallel_for(size_t(blocks), grain, [&](size_t begin, size_t end) {
            for (int64_t k = int64_t(begin) * block; k < int64_t(end) * block; k += block) {
                columns.write(k, std::min(block, k_ - k), first, outputs, to + k * outputs,
                              outputs);
            }
        });
    }

    template <class T>
    static void add_bias(const void *context, float *values, int64_t row, int64_t, int64_t n) {
        float add = load_element<float>(static_cast<const T *>(context)[row]);
        for (int64_t j = 0; j < n; ++j) values[j] += add;
    }

    // [features, images, outputs] to [images, features, outputs].
    template <class T>
    void put_in_order(const T *from, T *to) const {
        size_t outputs = size_t(s.out_size());
        size_t grain = std::max<size_t>(1, 32768 / outputs);
        parallel_for(size_t(s.images * s.features), grain, [&](size_t first, size_t last) {
            for (size_t row = first; row < last; ++row) {
                size_t image = row / size_t(s.features), feature = row % size_t(s.features);
                const T *source = from + (feature * size_t(s.images) + image) * outputs;
                std::copy(source, source + outputs, to + row * outputs);
            }
        });
    }

    ConvShape s;
    bool bias_, joined_, plain_, rows_, written_;
    int64_t outputs_, k_;        // of one product
    int64_t part_;               // outputs at a time
    int64_t columns_, scratch_;  // places in the workspace, behind the result that is out of order
};

std::unique_ptr<Plan> plan_winograd(const ConvShape &shape, bool has_bias) {
    Winograd winograd(shape);
    return make_plan(
        [=](const Arguments &a) {
            auto run = [&]<class T>(Type<T>) {
                const T *bias = has_bias ? a.pointer<const T>(3) : nullptr;
                winograd.run(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2), bias,
                             a.workspace());
            };
            if (shape.dtype == INFINI_DTYPE_F16) return run(Type<f16>{});
            if (shape.dtype == INFINI_DTYPE_BF16) return run(Type<bf16>{});
            run(Type<float>{});
        },
        winograd.workspace());
}

std::unique_ptr<Plan> plan_conv(const Operation &op) {
    const ConvShape shape = conv_shape(op);
    const bool bias = bool(op.tensor(3));
    const bool quicker = kMultipliesBf16 && shape.dtype == INFINI_DTYPE_BF16;
    if (Winograd::suits(shape) && !quicker) return plan_winograd(shape, bias);
    return std::make_unique<Convolution>(shape, bias);
}

INFINI_KERNEL("conv", plan_conv);

}  // namespace
}  // namespace infini::cpu
