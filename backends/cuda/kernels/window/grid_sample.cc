// grid_sample: samples an image at the points of a grid.
#include <algorithm>

#include "kernels/window/windows.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_grid_sample(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), grid = operation.tensor(2);
    GridParams params = {};
    params.to = image_of(output), params.from = image_of(operation.tensor(1));
    const int rank = output.ndim - 2;
    params.grid_stride[0] = grid.stride(0), params.grid_stride[4] = grid.stride(-1);
    for (int i = 0; i < rank; ++i)
        params.grid_stride[1 + kImageDims - rank + i] = grid.stride(1 + i);
    const std::string mode = operation.text(0) ? operation.text(0) : "";
    int neighbours = 2;
    if (mode == "nearest") {
        neighbours = 1;
    } else if (mode == "bicubic" && rank == 2) {
        neighbours = 4;
    } else if (mode != "bilinear") {
        refuse_parameter(
            "grid_sample: mode is \"" + mode +
            "\": expected \"bilinear\", \"nearest\" or, for two dimensions, \"bicubic\"");
    }
    params.corners = operation.integer(2) != 0;
    if (output.numel() == 0) return make_empty_plan();
    Source source("window/grid_sample.cuh");
    source.type("T", output.dtype).type("I", index_type(is_small(params.to)));
    source.constant("kNeighbours", neighbours).constant("kRank", rank);
    auto kernel = device.compile(source.constant("kAround", operation.integer(1)));
    // A thread processes all channels of a point, or some of them if there are few points.
    const int64_t points = params.to.batch * params.to.elements();
    const int64_t busy = int64_t(device.multiprocessors) * device.threads_per_multiprocessor;
    const int64_t chunks = std::clamp<int64_t>(busy / points, 1, params.to.channels);
    params.chunk = divide_up(params.to.channels, chunks);
    const int64_t tasks = points * divide_up(params.to.channels, params.chunk);
    const int64_t blocks = device.blocks_for(tasks, 256, 64);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        GridParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1), p.grid = a.pointer<void>(2);
        return kernel->launch(stream, blocks, 256, p);
    });
}

INFINI_CUDA_KERNEL("grid_sample", plan_grid_sample);

}  // namespace
}  // namespace infini::cuda
