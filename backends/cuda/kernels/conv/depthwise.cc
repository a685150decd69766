// Convolutions whose features see a single channel each: limited by memory, so tensor cores and
// other layouts do not help.
#include "device/conv/depthwise.cuh"

#include <algorithm>
#include <bit>

#include "convolution.h"

namespace infini::cuda {

std::unique_ptr<Plan> plan_depthwise(const ConvolutionShape &s, Device &device) {
    constexpr int64_t kMostTaps = 49, kMostStep = 4, kMostThreads = INT32_MAX - 256;
    bool possible = !s.transposed && s.channels == 1 && s.tap_count() <= kMostTaps &&
                    s.in[0] == 1 && s.out[0] == 1 && s.taps[0] == 1 && s.in_size() > 0;
    for (int d = 1; d < 3; ++d)
        possible = possible && s.step[d] <= kMostStep && s.dilation[d] <= kMostStep &&
                   s.pad[d] <= s.dilation[d] * (s.taps[d] - 1) && s.in[d] < 1 << 24 &&
                   s.out[d] < 1 << 24;
    const int64_t planes = s.groups * s.features;
    if (!possible || s.images * planes * s.out_size() == 0) return nullptr;

    // As many columns as make 16 bytes of x, but not many more than there are.
    const int64_t bytes = int64_t(dtype_bytes(s.dtype));
    const int64_t wide = std::max<int64_t>(1, 16 / (bytes * s.step[2]));
    const int64_t columns = std::min<int64_t>(int64_t(std::bit_floor(uint64_t(wide))),
                                              int64_t(std::bit_ceil(uint64_t(s.out[2]))));
    const int64_t rows = std::min<int64_t>(4, s.out[1]);
    const int64_t piece = std::min(columns * s.step[2], 16 / bytes);
    const int64_t chunks = (s.out[2] + columns - 1) / columns;
    const int64_t strips = (s.out[1] + rows - 1) / rows;
    // Each factor is below 2^31, but their product may not be.
    if (planes > kMostThreads || s.images > kMostThreads || s.images * planes > kMostThreads ||
        s.images * planes * strips > kMostThreads / chunks)
        return nullptr;

    Source source("conv/depthwise.cuh");
    source.type("T", s.dtype).type("C", s.dtype == INFINI_DTYPE_F64 ? "double" : "float");
    for (int d = 1; d < 3; ++d) {
        source.constant(d == 1 ? "kTaps0" : "kTaps1", s.taps[d]);
        source.constant(d == 1 ? "kStep0" : "kStep1", s.step[d]);
        source.constant(d == 1 ? "kGap0" : "kGap1", s.dilation[d]);
        source.constant(d == 1 ? "kPad0" : "kPad1", s.pad[d]);
    }
    source.constant("kRows", rows).constant("kColumns", columns);
    source.constant("kVectorIn", std::has_single_bit(uint64_t(piece)) && s.in[2] % piece == 0);
    source.constant("kVectorOut", s.out[2] % columns == 0);
    const auto kernel = device.compile(source);

    DepthwiseParams params{};
    params.count = uint32_t(s.images * planes * strips * chunks);
    params.channels = int(s.groups);
    for (int d = 0; d < 2; ++d) params.in[d] = int(s.in[d + 1]), params.out[d] = int(s.out[d + 1]);
    params.by_chunks = Divider(uint32_t(chunks)), params.by_strips = Divider(uint32_t(strips));
    params.by_planes = Divider(uint32_t(planes));
    params.by_multiplier = Divider(uint32_t(s.features));
    const int64_t blocks = (int64_t(params.count) + 255) / 256;
    return make_plan([=, bias = s.bias](const Arguments &a, const Stream &stream) {
        DepthwiseParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1), p.w = a.pointer<void>(2);
        if (bias) p.bias = a.pointer<void>(3);
        return kernel->launch(stream, blocks, 256, p);
    });
}

}  // namespace infini::cuda
