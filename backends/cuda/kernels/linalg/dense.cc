#include <algorithm>

#include "kernels/linalg/solver.h"

namespace infini::cuda {

int64_t threads_for(const MatrixParams &m) {
    const int64_t largest = std::max(m.rows, m.columns);
    return largest <= 32 ? 64 : largest <= 128 ? 256 : 512;
}

std::unique_ptr<Plan> plan_blocks(Device &device, BlockWork work, size_t most_bytes) {
    LinalgParams &params = work.params;
    const int64_t threads = threads_for(params.x);
    params.count = params.x.batch.count;
    const int64_t parts = params.count * params.parts;  // blocks, if all fit
    if (parts == 0) return make_empty_plan();
    params.room = round_up(work.doubles, 32);
    const size_t room_bytes = size_t(params.room) * sizeof(double);
    // Shared memory is faster, but leaves room for fewer blocks.
    constexpr size_t kSmall = 16 << 10, kStatic = 2 << 10;
    const size_t largest_room = parts <= device.multiprocessors ? device.shared_bytes : kSmall;
    const bool is_shared = work.stages == 1 && room_bytes + kStatic <= largest_room;
    const size_t shared_bytes = is_shared ? room_bytes : 0;
    work.source.constant("kSharedRoom", is_shared);
    work.source.type("T", work.dtype).constant("kThreads", threads);
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (int i = 0; i < work.stages; ++i) {
        Source stage = work.source;
        kernels.push_back(device.compile(stage.constant("kStage", i)));
    }
    int64_t blocks = parts;
    for (const auto &kernel : kernels) {
        const int64_t resident =
            std::max(1, kernel->resident_blocks(unsigned(threads), shared_bytes));
        blocks = std::min(blocks, int64_t(device.multiprocessors) * resident);
    }
    // Each chunk of matrices launches all stages, so small matrices are processed in large chunks.
    constexpr int64_t kRooms = (64 << 20) / sizeof(double);
    if (work.stages > 1) blocks = std::min(params.count, std::max(blocks, kRooms / params.room));
    if (room_bytes && !is_shared)
        blocks = std::clamp<int64_t>(int64_t(most_bytes / room_bytes), 1, blocks);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        LinalgParams p = work.with_data(a);
        p.rooms = reinterpret_cast<double *>(a.workspace());
        const int64_t end = kernels.size() > 1 ? p.count : 1;
        const int64_t all = p.count * p.parts;
        for (p.first = 0; p.first < end; p.first += blocks)
            for (const auto &kernel : kernels) {
                const int64_t here = std::min(blocks, all - p.first);
                INFINI_CUDA_TRY(kernel->launch(stream, here, unsigned(threads), p, shared_bytes));
            }
        return infinirtSuccess;
    };
    return make_plan(run, is_shared ? 0 : size_t(blocks) * room_bytes);
}

}  // namespace infini::cuda
