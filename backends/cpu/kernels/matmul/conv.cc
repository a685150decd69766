// Convolution as a product: features [M, C * taps] times columns [C * taps, outputs].
#include "../threads.h"
#include "conv_columns.h"

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

// Images are one product each, unless they are so small that reading the features again for each
// would count: then all are one product, and its result is put in order afterwards.
class Convolution final : public Plan {
public:
    Convolution(const ConvShape &shape, bool bias) : s(shape), bias_(bias) {
        joined_ = s.images > 1 && s.out_size() < 512;
        Matmul product = this->product(nullptr, nullptr, nullptr);
        ConvColumns<float> columns(s, nullptr);  // stand-ins while planning
        Epilogue epilogue;
        if (!reads_image()) product.weights = &columns;
        if (bias_) product.epilogue = &epilogue;
        workspace = matmul_workspace(product) + (joined_ ? staging_bytes() : 0);
    }

    void run(const Arguments &a) const override {
        if (s.images * s.features * s.out_size() == 0) return;
        visit([&]<class T>(Type<T>) {
            run_as(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2),
                   bias_ ? a.pointer<const T>(3) : nullptr, a.workspace());
        });
    }

private:
    template <class F>
    void visit(F &&f) const {
        if (s.dtype == INFINI_DTYPE_F16) return f(Type<f16>{});
        if (s.dtype == INFINI_DTYPE_BF16) return f(Type<bf16>{});
        f(Type<float>{});
    }

    size_t element() const { return s.dtype == INFINI_DTYPE_F32 ? 4 : 2; }
    size_t staging_bytes() const {
        return (size_t(s.images * s.features * s.out_size()) * element() + 63) / 64 * 64;
    }

    Matmul product(void *y, const void *x, const void *w) const {
        Matmul p;
        p.m = s.features, p.k = s.channels * s.tap_count();
        p.n = s.out_size() * (joined_ ? s.images : 1);
        p.a = {w, s.dtype, p.k, 1, 0};
        p.c = {y, s.dtype, p.n, 1, 0};
        if (reads_image()) {
            p.batch = s.images;
            p.b = {x, s.dtype, p.n, 1, s.channels * p.n};
            p.c.batch_stride = s.features * p.n;
        }
        return p;
    }
    bool reads_image() const { return !joined_ && s.is_plain(); }

    template <class T>
    void run_as(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        char *scratch = memory + (joined_ ? staging_bytes() : 0);
        T *result = joined_ ? reinterpret_cast<T *>(memory) : y;
        Epilogue epilogue;
        epilogue.context = bias;
        epilogue.finish = [](const void *context, float *values, int64_t row, int64_t, int64_t n) {
            float add = load_element<float>(static_cast<const T *>(context)[row]);
            for (int64_t j = 0; j < n; ++j) values[j] += add;
        };
        Matmul p = product(result, x, w);
        if (bias) p.epilogue = &epilogue;
        if (reads_image()) return matmul(p, scratch);
        int64_t calls = joined_ ? 1 : s.images;
        for (int64_t image = 0; image < calls; ++image) {
            ConvColumns<T> columns(s, x + image * s.channels * s.in_size());
            p.weights = &columns;
            p.c.data = result + image * s.features * s.out_size();
            matmul(p, scratch);
        }
        if (joined_) put_in_order(result, y);
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
    bool bias_, joined_ = false;
};

std::unique_ptr<Plan> plan_conv(const Operation &op) {
    return std::make_unique<Convolution>(conv_shape(op), bool(op.tensor(3)));
}

INFINI_KERNEL("conv", plan_conv);

}  // namespace
}  // namespace infini::cpu
