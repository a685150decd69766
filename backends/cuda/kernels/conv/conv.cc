// The operators conv, grouped_conv and conv_transpose.
#include <algorithm>
#include <mutex>
#include <string>

#include "conv_dnn.h"
#include "convolution.h"
#include "kernels/lines.h"
#include "libraries.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr int64_t kMost = int64_t(1) << 31;

// Pads, strides and dilations (the first three attributes); a null list means the default.
void read_steps(const Operation &op, int dims, ConvolutionShape &s) {
    const int64_t *pads = op.list(0), *steps = op.list(1), *dilations = op.list(2);
    for (int i = 0; i < dims; ++i) {
        const int d = 3 - dims + i;
        if (pads) s.pad[d] = pads[i];
        if (steps) s.step[d] = steps[i];
        if (dilations) s.dilation[d] = dilations[i];
        if (s.pad[d] < 0 || s.pad[d] > kMost || s.step[d] <= 0 || s.step[d] > kMost ||
            s.dilation[d] <= 0 || s.dilation[d] > kMost)
            refuse_parameter(std::string(op.name()) +
                             ": a pad is negative, or a stride or dilation is not positive");
    }
}

ConvolutionShape conv_shape(const Operation &op, int64_t groups) {
    const Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
    const int dims = int(op.integer(3));
    if (x.ndim != dims + 2 || w.ndim != dims + 2 || y.ndim != dims + 2)
        refuse_shape("x, w and y must have n + 2 dimensions");
    ConvolutionShape s;
    s.dtype = y.dtype, s.images = x.size(0), s.groups = groups, s.bias = bool(op.tensor(3));
    s.channels = x.size(1) / groups, s.features = w.size(0) / groups;
    read_steps(op, dims, s);
    for (int i = 0; i < dims; ++i) {
        const int d = 3 - dims + i;
        s.in[d] = x.size(i + 2), s.out[d] = y.size(i + 2), s.taps[d] = w.size(i + 2);
        if (s.in[d] > kMost || s.taps[d] > kMost) refuse_shape("an image or window is too large");
        const int64_t room = s.in[d] + 2 * s.pad[d] - s.dilation[d] * (s.taps[d] - 1) - 1;
        if (s.taps[d] == 0 || room < 0 || s.out[d] != room / s.step[d] + 1)
            refuse_shape("y does not have the size that pads, strides and dilations give");
    }
    return s;
}

// The convolution library and the depthwise kernel read 16 bytes at a time and fault on unaligned
// addresses. These use the direct kernel, which needs no workspace and is compiled on first use.
class AlignedConvolution final : public Plan {
public:
    AlignedConvolution(std::unique_ptr<Plan> aligned, const ConvolutionShape &shape, Device &device)
        : aligned_(std::move(aligned)), shape_(shape), device_(device) {
        workspace = aligned_->workspace;
    }

    Error run(const Arguments &a, const Stream &stream) const override {
        bool aligned = !shape_.bias || is_aligned(a.pointer<void>(3), 16);
        for (int i = 0; i < 3; ++i) aligned = aligned && is_aligned(a.pointer<void>(i), 16);
        if (aligned) [[likely]]
            return aligned_->run(a, stream);
        try {
            std::call_once(once_, [&] { direct_ = plan_direct_convolution(shape_, device_); });
        } catch (const Refusal &refusal) {
            return fail(infinirtErrorUnknown, "%s", refusal.sentence.c_str());
        }
        return direct_->run(a, stream);
    }

private:
    std::unique_ptr<Plan> aligned_;
    ConvolutionShape shape_;
    Device &device_;
    mutable std::once_flag once_;
    mutable std::unique_ptr<Plan> direct_;
};

std::unique_ptr<Plan> plan_any_convolution(const ConvolutionShape &shape, Device &device) {
    auto plan = plan_depthwise(shape, device);
    if (!plan) plan = plan_conv_dnn(shape, device);
    if (plan) return std::make_unique<AlignedConvolution>(std::move(plan), shape, device);
    return plan_convolution(shape, device);
}

std::unique_ptr<Plan> plan_grouped_conv(const Operation &op, Device &device) {
    const int64_t groups = op.integer(4);
    const ConvolutionShape shape = conv_shape(op, groups);
    if (op.tensor(0).numel() == 0) return make_empty_plan();
    // The convolution library is slow for these if it must round only once.
    if (auto plan = plan_pointwise(shape, device)) return plan;
    return plan_any_convolution(shape, device);
}

std::unique_ptr<Plan> plan_conv_transpose(const Operation &op, Device &device) {
    const Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
    const int64_t *more = op.list(3);
    const int dims = int(op.integer(4));
    ConvolutionShape s;
    s.dtype = y.dtype, s.transposed = true, s.bias = bool(op.tensor(3));
    s.images = x.size(0), s.groups = op.integer(5);
    s.channels = x.size(1) / s.groups, s.features = w.size(1);
    read_steps(op, dims, s);
    for (int i = 0; i < dims; ++i) {
        const int d = 3 - dims + i;
        s.in[d] = x.size(i + 2), s.out[d] = y.size(i + 2), s.taps[d] = w.size(i + 2);
        const int64_t extra = more ? more[i] : 0;
        if (extra < 0 || extra >= std::max(s.step[d], s.dilation[d]))
            refuse_parameter(
                "conv_transpose: output_pads has to be less than the stride or the dilation");
        if (s.in[d] > kMost || s.taps[d] > kMost || s.taps[d] == 0)
            refuse_shape("conv_transpose: an image or window is empty or too large");
        const int64_t size =
            (s.in[d] - 1) * s.step[d] - 2 * s.pad[d] + s.dilation[d] * (s.taps[d] - 1) + extra + 1;
        if (s.out[d] != size)
            refuse_shape("conv_transpose: spatial dimension " + std::to_string(i) +
                         " of y has size " + std::to_string(s.out[d]) + ": expected " +
                         std::to_string(size));
    }
    return plan_any_convolution(s, device);
}

INFINI_CUDA_KERNEL("grouped_conv", plan_grouped_conv);
INFINI_CUDA_KERNEL("conv_transpose", plan_conv_transpose);

}  // namespace
}  // namespace infini::cuda
