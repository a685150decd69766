// resample: a first kernel computes tables for each dimension, with the input elements of each
// output and their weights; the second computes the outputs.
#include <algorithm>
#include <cmath>

#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

// The maximum number of elements that contribute to an output.
int64_t taps_of(const ResampleCase &given, const AxisParams &axis) {
    if (given.moves()) return 1;
    if (!given.smooth()) return given.mode == ResampleMode::kLinear ? 2 : 4;
    double step =
        axis.scale > 0 ? 1 / std::max(axis.scale, 1e-300) : double(axis.in) / double(axis.out);
    if (given.corners) step = axis.out > 1 ? double(axis.in - 1) / double(axis.out - 1) : 0;
    const double reach = std::max(step, 1.0) * (given.mode == ResampleMode::kSmoothCubic ? 2 : 1);
    return reach >= double(axis.in) ? axis.in : std::min(axis.in, int64_t(2 * reach) + 2);
}

std::unique_ptr<Plan> plan_resample(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0);
    ResampleParams params = {};
    params.to = image_of(output), params.from = image_of(operation.tensor(1));
    const ResampleCase given(operation, params.from.size, params.to.size);
    params.corners = given.corners;
    if (output.numel() == 0) return make_empty_plan();

    const size_t weight_bytes = output.dtype == INFINI_DTYPE_F64 ? 8 : 4;
    size_t first[kImageDims], count[kImageDims], weights[kImageDims], bytes = 0;
    auto room = [&](int64_t entries, size_t each) {
        const size_t at = bytes;
        bytes += size_t(round_up(entries * int64_t(each), 256));
        return at;
    };
    int64_t outputs = 0;
    for (int d = 0; d < kImageDims; ++d) {
        AxisParams &axis = params.axes[d];
        axis.in = params.from.size[d], axis.out = params.to.size[d];
        axis.scale = given.scale(d);
        // Missing dimensions copy their only element.
        axis.taps = given.own(d) < 0 && given.smooth() ? 1 : taps_of(given, axis);
        if (axis.taps * axis.out > ResampleCase::kMostTaps) ResampleCase::refuse_large();
        outputs += axis.out;
        first[d] = room(axis.out, 4), count[d] = room(axis.out, 4);
        weights[d] = room(axis.out * axis.taps, weight_bytes);
    }
    Source tables("window/resample.cuh:axis"), source("window/resample.cuh:resample");
    const std::string weight = weight_bytes == 8 ? "double" : "float";
    auto make = device.compile(tables.type("W", weight).constant("kMode", int(given.mode)));
    source.type("T", output.dtype).type("W", weight).type("I", index_type(is_small(params.to)));
    auto blend = device.compile(source.constant("kMoves", given.moves()));
    const int64_t blocks = device.blocks_for(output.numel(), 256, 64);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ResampleParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1);
        for (int d = 0; d < kImageDims; ++d) {
            p.axes[d].first = reinterpret_cast<int32_t *>(a.workspace() + first[d]);
            p.axes[d].count = reinterpret_cast<int32_t *>(a.workspace() + count[d]);
            p.axes[d].weight = a.workspace() + weights[d];
        }
        INFINI_CUDA_TRY(make->launch(stream, divide_up(outputs, 256), 256, p));
        return blend->launch(stream, blocks, 256, p);
    };
    return make_plan(run, bytes);
}

INFINI_CUDA_KERNEL("resample", plan_resample);

}  // namespace
}  // namespace infini::cuda
