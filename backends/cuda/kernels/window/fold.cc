// fold: adds overlapping windows into an image.
#include "kernels/window/windows.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_fold(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    FoldParams params = {};
    params.count = y.numel(), params.channels = y.size(1);
    for (int d = 0; d < 2; ++d) params.step[d] = params.gap[d] = 1;
    for (int i = 0; i < 4; ++i) params.to[i] = y.stride(i);
    for (int i = 0; i < 3; ++i) params.from[i] = x.stride(i);
    read_list(operation, 0, 2, 0, "output_size", params.size, 2);
    read_list(operation, 1, 2, 1, "kernel_sizes", params.taps, 2);
    read_list(operation, 2, 2, 1, "strides", params.step, 2);
    read_list(operation, 3, 2, 0, "paddings", params.pad, 2);
    read_list(operation, 4, 2, 1, "dilations", params.gap, 2);
    bool small = params.count < int64_t(1) << 30;
    for (int d = 0; d < 2; ++d) {
        const int64_t reach = params.gap[d] * (params.taps[d] - 1) + 1;
        const int64_t room = params.size[d] + 2 * params.pad[d] - reach;
        params.windows[d] = room < 0 ? 0 : room / params.step[d] + 1;
        small &= reach + params.size[d] + params.pad[d] + params.step[d] < int64_t(1) << 30;
    }
    if (x.size(2) != params.windows[0] * params.windows[1])
        refuse_shape("fold: the input has " + std::to_string(x.size(2)) + " columns: expected " +
                     std::to_string(params.windows[0]) + " x " + std::to_string(params.windows[1]));
    if (params.count == 0) return make_empty_plan();
    Source source("window/fold.cuh");
    auto kernel = device.compile(source.type("T", y.dtype).type("I", index_type(small)));
    const int64_t blocks = device.blocks_for(params.count, 256, 64);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        FoldParams p = params;
        p.image = a.pointer<void>(0), p.columns = a.pointer<void>(1);
        return kernel->launch(stream, blocks, 256, p);
    });
}

INFINI_CUDA_KERNEL("fold", plan_fold);

}  // namespace
}  // namespace infini::cuda
