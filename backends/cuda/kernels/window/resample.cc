// resample: interpolation takes a fixed number of elements per output; antialiasing has tables with
// the elements and weights of each output, which a first kernel computes.
#include <algorithm>
#include <cmath>

#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

Source source_of(const char *file, const Operation &operation, const ResampleParams &params,
                 const ResampleCase &given) {
    Source source(file);
    const int dtype = operation.tensor(0).dtype;
    source.type("T", dtype).type("W", dtype == INFINI_DTYPE_F64 ? "double" : "float");
    source.type("I", index_type(is_small(params.to) && reaches_32_bits(params.from, params.to)));
    return std::move(source.constant("kMode", int(given.mode)));
}

std::unique_ptr<Plan> plan_interpolation(const Operation &operation, Device &device,
                                         ResampleParams params, const ResampleCase &given) {
    Source source = source_of("window/resample.cuh:strips", operation, params, given);
    source.constant("kRank", given.rank);
    for (int d = 0; d < kImageDims; ++d) {
        const int taps = given.mode == ResampleMode::kLinear ? 2 : given.moves() ? 1 : 4;
        // Missing dimensions copy their only element.
        source.constant(("kTaps" + std::to_string(d)).c_str(), given.own(d) < 0 ? 1 : taps);
    }
    const StripPlan plan = plan_strips(device, params.to, dtype_bytes(operation.tensor(0).dtype));
    params.strips = plan.params;
    auto kernel = device.compile(source.constant("kColumns", kColumns)
                                     .constant("kMostRows", StripPlan::kMostRows)
                                     .constant("kLanes", plan.lanes));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        ResampleParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1);
        p.strips.whole = plan.is_whole(p.y);
        return kernel->launch(stream, plan.blocks, 256, p);
    });
}

std::unique_ptr<Plan> plan_antialiasing(const Operation &operation, Device &device,
                                        ResampleParams params, const ResampleCase &given) {
    const size_t weight_bytes = operation.tensor(0).dtype == INFINI_DTYPE_F64 ? 8 : 4;
    size_t first[kImageDims], count[kImageDims], weights[kImageDims], bytes = 0;
    auto room = [&](int64_t entries, size_t each) {
        const size_t at = bytes;
        bytes += size_t(round_up(entries * int64_t(each), 256));
        return at;
    };
    int64_t outputs = 0;
    for (int d = 1; d < kImageDims; ++d) {
        AxisParams &axis = params.axes[d];
        const double width = given.mode == ResampleMode::kSmoothCubic ? 2 : 1;
        const double reach = std::max(axis.step, 1.0) * width;
        axis.taps = reach >= double(axis.in) ? axis.in : std::min(axis.in, int64_t(2 * reach) + 2);
        if (axis.taps * axis.out > ResampleCase::kMostTaps) ResampleCase::refuse_large();
        outputs += axis.out;
        first[d] = room(axis.out, 4), count[d] = room(axis.out, 4);
        weights[d] = room(axis.out * axis.taps, weight_bytes);
    }
    auto make = device.compile(source_of("window/resample.cuh:axis", operation, params, given));
    auto blend =
        device.compile(source_of("window/resample.cuh:resample", operation, params, given));
    const int64_t blocks = device.blocks_for(operation.tensor(0).numel(), 256, 64);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ResampleParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1);
        for (int d = 1; d < kImageDims; ++d) {
            p.axes[d].first = reinterpret_cast<int32_t *>(a.workspace() + first[d]);
            p.axes[d].count = reinterpret_cast<int32_t *>(a.workspace() + count[d]);
            p.axes[d].weight = a.workspace() + weights[d];
        }
        INFINI_CUDA_TRY(make->launch(stream, divide_up(outputs, 256), 256, p));
        return blend->launch(stream, blocks, 256, p);
    };
    return make_plan(run, bytes);
}

std::unique_ptr<Plan> plan_resample(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0);
    ResampleParams params = {};
    params.to = image_of(output), params.from = image_of(operation.tensor(1));
    const ResampleCase given(operation, params.from.size, params.to.size);
    params.corners = given.corners;
    if (output.numel() == 0) return make_empty_plan();
    for (int d = 0; d < kImageDims; ++d) {
        AxisParams &axis = params.axes[d];
        axis.in = params.from.size[d], axis.out = params.to.size[d];
        const double scale = given.scale(d);
        axis.step = scale > 0 ? 1 / std::max(scale, 1e-300) : double(axis.in) / double(axis.out);
        if (given.smooth() && given.corners)
            axis.step = axis.out > 1 ? double(axis.in - 1) / double(axis.out - 1) : 0;
    }
    return given.smooth() ? plan_antialiasing(operation, device, params, given)
                          : plan_interpolation(operation, device, params, given);
}

INFINI_CUDA_KERNEL("resample", plan_resample);

}  // namespace
}  // namespace infini::cuda
