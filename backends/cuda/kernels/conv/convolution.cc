#include "convolution.h"

#include <algorithm>

#include "refuse.h"

namespace infini::cuda {
namespace {

ConvolutionParams make_params(const ConvolutionShape &s) {
    constexpr int64_t kMost = int64_t(1) << 30;
    ConvolutionParams p{};
    for (int d = 0; d < 3; ++d) {
        if (s.in[d] > kMost || s.out[d] > kMost || s.pad[d] > kMost || s.step[d] > kMost ||
            s.dilation[d] * s.taps[d] > kMost || s.out[d] * s.step[d] > kMost)
            refuse_shape("an image or window is too large");
        p.in[d] = int(s.in[d]), p.out[d] = int(s.out[d]), p.taps[d] = int(s.taps[d]);
        p.pad[d] = int(s.pad[d]), p.step[d] = int(s.step[d]), p.dilation[d] = int(s.dilation[d]);
    }
    if (std::max({s.in_size(), s.out_size(), s.tap_count(), s.groups * s.channels,
                  s.groups * s.features}) > kMost)
        refuse_shape("an image or window is too large");
    p.groups = int(s.groups), p.features = int(s.features), p.channels = int(s.channels);
    p.in_size = int(s.in_size()), p.out_size = int(s.out_size()), p.tap_count = int(s.tap_count());
    p.by_out_size = Divider(uint32_t(p.out_size));
    p.by_out1 = Divider(uint32_t(p.out[1])), p.by_out2 = Divider(uint32_t(p.out[2]));
    p.by_taps1 = Divider(uint32_t(p.taps[1])), p.by_taps2 = Divider(uint32_t(p.taps[2]));
    p.by_step0 = Divider(uint32_t(p.step[0])), p.by_step1 = Divider(uint32_t(p.step[1]));
    p.by_step2 = Divider(uint32_t(p.step[2]));
    return p;
}

const char *sums_of(const ConvolutionShape &s) {
    return s.dtype == INFINI_DTYPE_F64 ? "double" : "float";
}

// Makes channels the innermost dimension, with padding.
class ChannelsLast {
public:
    ChannelsLast(int dtype, int64_t images, int64_t groups, int64_t channels, int64_t padded,
                 int64_t positions, Device &device)
        : params_{nullptr,       nullptr,     images,        int(groups),
                  int(channels), int(padded), int(positions)} {
        const int64_t tiles = (positions + 31) / 32 * ((padded + 31) / 32);
        const int64_t blocks = tiles * images * groups;
        // Each launch processes whole images.
        const int64_t most = INT32_MAX / (tiles * groups);
        if (most == 0 || positions > INT32_MAX) refuse_shape("an image is too large");
        images_ = std::min(images, most), blocks_ = blocks;
        bytes_ = int64_t(dtype_bytes(dtype));
        Source source("conv/convolution.cuh:channels_last");
        kernel_ = device.compile(source.type("T", dtype));
    }

    size_t bytes() const {
        return padded(
            size_t(params_.images * params_.positions * params_.groups * params_.padded * bytes_));
    }
    Error run(void *to, const void *from, const Stream &stream) const {
        for (int64_t first = 0; first < params_.images; first += images_) {
            ChannelsLastParams p = params_;
            p.images = std::min(images_, params_.images - first);
            const int64_t places = first * p.groups * p.positions;
            p.to = static_cast<char *>(to) + places * p.padded * bytes_;
            p.from = static_cast<const char *>(from) + places * p.channels * bytes_;
            const int64_t blocks = blocks_ / params_.images * p.images;
            if (Error error = kernel_->launch(stream, blocks, 256, p)) return error;
        }
        return infinirtSuccess;
    }

private:
    ChannelsLastParams params_;
    std::shared_ptr<const Kernel> kernel_;
    int64_t images_, blocks_, bytes_;

    static size_t padded(size_t bytes) { return cuda::padded(bytes); }
};

std::unique_ptr<Plan> plan_product(const ConvolutionShape &s, Device &device) {
    ConvolutionParams params = make_params(s);
    const int64_t wide = int64_t(16 / dtype_bytes(s.dtype));
    const int64_t padded_channels = (s.channels + wide - 1) / wide * wide;
    if (s.tap_count() * padded_channels > INT32_MAX - 1024) refuse_shape("a window is too large");
    params.padded = int(padded_channels), params.by_padded = Divider(uint32_t(params.padded));
    const ChannelsLast image(s.dtype, s.images, s.groups, s.channels, padded_channels, s.in_size(),
                             device);
    // Filters of a transposed convolution have channels as the outermost dimension.
    const ChannelsLast filters =
        s.transposed ? ChannelsLast(s.dtype, s.groups, 1, s.channels, padded_channels,
                                    s.features * s.tap_count(), device)
                     : ChannelsLast(s.dtype, s.groups * s.features, 1, s.channels, padded_channels,
                                    s.tap_count(), device);

    const bool mma =
        device.has_mma && (s.dtype == INFINI_DTYPE_F16 || s.dtype == INFINI_DTYPE_BF16);
    const int64_t columns = s.images * s.out_size();
    const int64_t large = (s.features + 127) / 128 * ((columns + 127) / 128) * s.groups;
    const bool small = s.dtype == INFINI_DTYPE_F64 || s.features <= 64 || columns <= 64 ||
                       large < device.multiprocessors;
    const int side = small ? 64 : 128;
    Source source("conv/convolution.cuh:product");
    source.type("T", s.dtype).type("C", std::string(sums_of(s)));
    source.constant("kTransposed", s.transposed).constant("kRows", side).constant("kColumns", side);
    if (mma)
        source.constant("kWarpsM", 2).constant("kWarpsN", small ? 2 : 4);
    else
        source.constant("kMicro", small ? 4 : 8);
    source.line(mma ? "#define INFINI_MMA 1" : "#define INFINI_MMA 0");
    auto kernel = device.compile(source);
    const unsigned threads = mma && small ? 128 : 256;
    const size_t shared = mma ? size_t(side) * 512 : 0;  // four stages, or all sums
    params.tiles_m = int((s.features + side - 1) / side);
    // As many images at a time as 32-bit indices allow.
    const int64_t images =
        std::clamp<int64_t>((INT32_MAX - 1024) / s.out_size(), 1, std::max<int64_t>(s.images, 1));
    if (s.groups > 65535) refuse_shape("more groups than a grid can have");
    const int64_t all = s.images, x_step = s.groups * padded_channels * s.in_size();
    const int64_t y_step = s.groups * s.features * s.out_size();
    const int64_t element = int64_t(dtype_bytes(s.dtype));
    const bool bias = s.bias;
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            char *x = a.workspace(), *w = x + image.bytes();
            Error error = image.run(x, a.pointer<void>(1), stream);
            if (!error) error = filters.run(w, a.pointer<void>(2), stream);
            ConvolutionParams p = params;
            p.w = w;
            if (bias) p.bias = a.pointer<void>(3);
            for (int64_t first = 0; first < all && !error; first += images) {
                p.images = int(std::min(images, all - first));
                p.x = x + first * x_step * element;
                p.y = a.pointer<char>(0) + first * y_step * element;
                const int64_t tiles = (int64_t(p.images) * p.out_size + side - 1) / side;
                p.tiles_n = int(tiles);
                error = kernel->launch(stream, {tiles * p.tiles_m, p.groups}, threads, p, shared);
            }
            return error;
        },
        image.bytes() + filters.bytes());
}

}  // namespace

std::unique_ptr<Plan> plan_direct_convolution(const ConvolutionShape &s, Device &device) {
    const ConvolutionParams params = make_params(s);
    Source source("conv/convolution.cuh:direct");
    source.type("T", s.dtype).type("C", std::string(sums_of(s)));
    source.constant("kTransposed", s.transposed);
    auto kernel = device.compile(source);
    const int64_t images = s.images;
    const int64_t blocks =
        device.blocks_for(images * s.groups * s.features * s.out_size(), 256, 64);
    const bool bias = s.bias;
    return make_plan([=](const Arguments &a, const Stream &stream) {
        ConvolutionParams p = params;
        p.images = int(images);
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1), p.w = a.pointer<void>(2);
        if (bias) p.bias = a.pointer<void>(3);
        return kernel->launch(stream, blocks, 256, p);
    });
}

std::unique_ptr<Plan> plan_convolution(const ConvolutionShape &s, Device &device) {
    if (s.images * s.groups * s.features * s.out_size() == 0) return make_empty_plan();
    const bool few = s.channels <= 2 || s.features <= 2 || s.groups > 65535 || s.in_size() == 0;
    if (few && s.images <= INT32_MAX) return plan_direct_convolution(s, device);
    return plan_product(s, device);
}

}  // namespace infini::cuda
