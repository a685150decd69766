// conv and grouped_conv: choose an algorithm for each group by its sizes.
#include "conv_product.h"
#include "conv_taps.h"
#include "conv_winograd.h"
#include "floats.h"

namespace infini::cpu {
namespace {

[[noreturn]] void refuse_shape(const char *sentence) {
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, sentence};
}

ConvShape conv_shape(const Operation &op, int64_t groups) {
    Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
    const int64_t *pads = op.list(0), *steps = op.list(1), *dilations = op.list(2);
    int dims = int(op.integer(3));
    if (x.ndim != dims + 2 || w.ndim != dims + 2 || y.ndim != dims + 2) {
        refuse_shape("x, w and y must have n + 2 dimensions");
    }
    ConvShape s;
    s.dtype = y.dtype, s.images = x.size(0), s.groups = groups;
    s.all_channels = x.size(1), s.all_features = w.size(0);
    s.channels = s.all_channels / groups, s.features = s.all_features / groups;
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

// Calls body(y, x, w, bias) for each group.
template <class Body>
void each_group(const ConvShape &s, const Arguments &a, bool bias, const Body &body) {
    auto all = [&]<class T>(Type<T>) {
        for (int64_t g = 0; g < s.groups; ++g)
            body(a.pointer<T>(0) + g * s.features * s.out_size(),
                 a.pointer<const T>(1) + g * s.channels * s.in_size(),
                 a.pointer<const T>(2) + g * s.features * s.channels * s.tap_count(),
                 bias ? a.pointer<const T>(3) + g * s.features : nullptr);
    };
    visit_float(s.dtype, all);
}

TapShape tap_shape(const ConvShape &c) {
    TapShape s;
    s.dtype = c.dtype, s.images = c.images, s.groups = c.groups;
    s.channels = c.channels, s.features = c.features;
    for (int d = 0; d < TapShape::kDims; ++d) {
        s.in[d] = c.in[d], s.out[d] = s.grid[d] = c.out[d], s.taps[d] = c.taps[d];
        s.first[d] = -c.pad[d], s.step[d] = c.step[d], s.dilation[d] = c.dilation[d];
    }
    s.w_tap[2] = 1, s.w_tap[1] = c.taps[2], s.w_tap[0] = c.taps[1] * c.taps[2];
    s.w_channel = c.tap_count(), s.w_feature = c.channels * s.w_channel;
    s.w_group = c.features * s.w_feature;
    return s;
}

// Null if a matrix product is faster.
std::unique_ptr<Plan> plan_taps(const ConvShape &shape, bool bias, bool quicker) {
    const bool thin = shape.groups > 1 && shape.features < 8;
    if (!thin && shape.dtype == INFINI_DTYPE_F64) return nullptr;
    if (!thin && quicker && shape.features >= 16) return nullptr;
    if (shape.groups == 1) {
        // The product reads the image in place; with short vectors, reducing the multiplications
        // matters more.
        if (shape.is_plain() && (shape.images == 1 || shape.out_size() >= 512)) return nullptr;
        if (kVectorBytes < 64 && Winograd::suits(shape)) return nullptr;
    }
    const TapConvolution taps(tap_shape(shape));
    if (!taps.fits() || (!thin && taps.efficiency() < 0.4)) return nullptr;
    auto run = [=](const Arguments &a) {
        visit_float(shape.dtype, [&]<class T>(Type<T>) {
            taps.run(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2),
                     bias ? a.pointer<const T>(3) : nullptr, a.workspace());
        });
    };
    return make_plan(run, taps.workspace());
}

std::unique_ptr<Plan> plan_shape(const ConvShape &shape, bool bias) {
    if (shape.images * shape.all_features * shape.out_size() == 0)
        return make_plan([](const Arguments &) {});
    const bool quicker = kMultipliesBf16 && shape.dtype == INFINI_DTYPE_BF16;
    if (std::unique_ptr<Plan> plan = plan_taps(shape, bias, quicker)) return plan;
    if (Winograd::suits(shape) && !quicker) {
        const Winograd winograd(shape);
        auto run = [=](const Arguments &a) {
            each_group(shape, a, bias, [&]<class T>(T *y, const T *x, const T *w, const T *b) {
                if constexpr (!std::is_same_v<T, double>) winograd.run(y, x, w, b, a.workspace());
            });
        };
        return make_plan(run, winograd.workspace());
    }
    const Convolution convolution(shape, bias);
    auto run = [=](const Arguments &a) {
        each_group(shape, a, bias, [&](auto *y, auto *x, auto *w, auto *b) {
            convolution.run(y, x, w, b, a.workspace());
        });
    };
    return make_plan(run, convolution.workspace());
}

std::unique_ptr<Plan> plan_grouped_conv(const Operation &op) {
    return plan_shape(conv_shape(op, op.integer(4)), bool(op.tensor(3)));
}

INFINI_KERNEL("grouped_conv", plan_grouped_conv);

}  // namespace
}  // namespace infini::cpu
