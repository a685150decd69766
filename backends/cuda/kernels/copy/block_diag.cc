// block_diag: matrices on the diagonal of a larger one. Each of them has its rows of the output.
#include "device/copy/block_diag.cuh"

#include <vector>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

struct Block {
    int source;      // number among the pointers
    int64_t offset;  // in the output, bytes
    BlockDiagParams params;
};

std::unique_ptr<Plan> plan_block_diag(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0);
    const int64_t element = int64_t(dtype_bytes(output.dtype));
    std::vector<Block> parts;
    int64_t row = 0, column = 0;
    for (int i = 1; i < operation.tensor_count(); ++i) {
        const Tensor x = operation.tensor(i);
        if (x.ndim != 2)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "block_diag: an input is no matrix"};
        const int64_t height = x.size(0), width = x.size(1);
        if (row + height > output.size(0) || column + width > output.size(1)) break;
        BlockDiagParams params = {};
        params.rows = height, params.columns = output.size(1);
        params.first = column, params.width = width;
        params.to_row = output.stride(0), params.to_step = output.stride(1);
        params.from_row = x.stride(0), params.from_step = x.stride(1);
        params.row_blocks = std::min<int64_t>(height, 65535);
        if (height > 0 && output.size(1) > 0)
            parts.push_back({i, row * output.stride(0) * element, params});
        row += height, column += width;
    }
    if (row != output.size(0) || column != output.size(1))
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "block_diag: the output's sizes are not the sums of the inputs'"};
    const auto kernel =
        device.compile(Source("copy/block_diag.cuh").type("E", bytes_type(size_t(element))));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        for (const Block &part : parts) {
            BlockDiagParams params = part.params;
            params.to = a.pointer<char>(0) + part.offset;
            params.from = a.pointer<void>(part.source);
            const Grid grid(divide_up(params.columns, 256), params.row_blocks);
            INFINI_CUDA_TRY(kernel->launch(stream, grid, 256, params));
        }
        return infinirtSuccess;
    });
}

INFINI_CUDA_KERNEL("block_diag", plan_block_diag);

}  // namespace
}  // namespace infini::cuda
