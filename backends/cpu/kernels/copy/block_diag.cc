// block_diag: matrices on the diagonal of a larger one. Every element is written once: the blocks
// as strided copies, what is beside them as copies of one zero.
#include <vector>

#include "copy/strided.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

struct Part {
    int source;      // number among the pointers; -1: zeros
    int64_t offset;  // in the output, bytes
    StridedCopy copy;
};

std::unique_ptr<Plan> plan_block_diag(const Operation &operation) {
    const Tensor output = operation.tensor(0);
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(output.dtype)));
    const int64_t none[2] = {0, 0};
    std::vector<Part> parts;
    int64_t row = 0, column = 0;
    for (int i = 1; i < operation.tensor_count(); ++i) {
        const Tensor x = operation.tensor(i);
        if (x.ndim != 2)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "block_diag: an input is no matrix"};
        const int64_t height = x.size(0), width = x.size(1);
        auto add = [&](int source, int64_t from, int64_t to, const int64_t *strides) {
            const int64_t sizes[2] = {height, to - from};
            parts.push_back({source, (row * output.stride(0) + from * output.stride(1)) * element,
                             StridedCopy(size_t(element), 2, sizes, output.strides, strides)});
        };
        if (row + height > output.size(0) || column + width > output.size(1)) break;
        add(-1, 0, column, none);
        add(i, column, column + width, x.strides);
        add(-1, column + width, output.size(1), none);
        row += height, column += width;
    }
    if (row != output.size(0) || column != output.size(1))
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "block_diag: the output's sizes are not the sums of the inputs'"};
    return make_plan([parts](const Arguments &a) {
        static constexpr double kZero = 0;
        for (const Part &part : parts)
            part.copy.run(a.pointer<char>(0) + part.offset,
                          part.source < 0 ? &kZero : a.pointer<void>(part.source));
    });
}

INFINI_KERNEL("block_diag", plan_block_diag);

}  // namespace
}  // namespace infini::cpu
