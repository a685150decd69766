#include <algorithm>

#include "kernels/linalg/solver.h"

namespace infini::cuda {

std::unique_ptr<Plan> plan_blocks(Device &device, BlockWork work, size_t most_bytes) {
    LinalgParams &params = work.params;
    const int64_t largest = std::max(params.x.rows, params.x.columns);
    const int64_t threads = largest <= 32 ? 64 : largest <= 128 ? 256 : 512;
    params.count = params.x.batch.count;
    if (params.count == 0) return make_empty_plan();
    work.source.type("T", work.dtype).constant("kThreads", threads);
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (int i = 0; i < work.stages; ++i) {
        Source stage = work.source;
        kernels.push_back(device.compile(stage.constant("kStage", i)));
    }
    params.room = round_up(work.doubles, 32);
    int64_t blocks = params.count;
    for (const auto &kernel : kernels) {
        const int64_t resident = std::max(1, kernel->resident_blocks(unsigned(threads)));
        blocks = std::min(blocks, int64_t(device.multiprocessors) * resident);
    }
    // Each chunk of matrices launches all stages, so small matrices are processed in large chunks.
    constexpr int64_t kRooms = (64 << 20) / sizeof(double);
    const size_t room_bytes = size_t(params.room) * sizeof(double);
    if (work.stages > 1) blocks = std::min(params.count, std::max(blocks, kRooms / params.room));
    if (room_bytes) blocks = std::clamp<int64_t>(int64_t(most_bytes / room_bytes), 1, blocks);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        LinalgParams p = work.with_data(a);
        p.rooms = reinterpret_cast<double *>(a.workspace());
        const int64_t end = kernels.size() > 1 ? p.count : 1;
        for (p.first = 0; p.first < end; p.first += blocks)
            for (const auto &kernel : kernels) {
                const int64_t here = std::min(blocks, p.count - p.first);
                INFINI_CUDA_TRY(kernel->launch(stream, here, unsigned(threads), p));
            }
        return infinirtSuccess;
    };
    return make_plan(run, size_t(blocks) * room_bytes);
}

}  // namespace infini::cuda
