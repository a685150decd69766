// lower_median: lines are sorted in the workspace, and one entry of each is the result.
#include "device/sort/median.cuh"

#include <limits>

#include "kernels/sort/order.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_lower_median(const Operation &operation, Device &device) {
    const Tensor indices = operation.tensor(1), input = operation.tensor(2);
    Ordering ordering = {};
    ordering.dtype = input.dtype, ordering.place_dtype = INFINI_DTYPE_I64;
    ordering.from = Lines(input, int(operation.integer(1)));
    const int64_t size = ordering.from.size, lines = ordering.lines();
    if (size > std::numeric_limits<int32_t>::max()) refuse_shape("lines of 2^31 elements or more");
    if (size < 1) refuse_parameter("lower_median: dim is empty: expected an element or more");
    if (lines == 0) return make_empty_plan();
    ordering.to.offsets.add(lines, size), ordering.to.size = size;
    ordering.stood = ordering.to;
    ordering.count = size;
    std::shared_ptr<const Plan> sort = plan_sort_lines(ordering, device);
    Source source("sort/median.cuh");
    source.type("T", input.dtype).type("I", indices.dtype);
    auto pick = device.compile(source.constant("kSkips", operation.integer(0) != 0));
    MedianParams params = {};
    params.lines = lines, params.size = size;
    const int64_t elements = lines * size;
    const size_t places = size_t(round_up(elements * int64_t(dtype_bytes(input.dtype)), 256));
    const size_t workspace = places + size_t(round_up(elements * 8, 256));
    const int64_t blocks = device.blocks_for(lines, 256, 64);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        void *pointers[] = {a.workspace(), a.workspace() + places, a.pointer<void>(2)};
        InfiniArguments arguments = a.c;
        arguments.pointers = pointers, arguments.workspace = a.workspace() + workspace;
        INFINI_CUDA_TRY(sort->run(Arguments{arguments}, stream));
        MedianParams p = params;
        p.sorted = pointers[0], p.places = static_cast<const int64_t *>(pointers[1]);
        p.values = a.pointer<void>(0), p.indices = a.pointer<void>(1);
        return pick->launch(stream, blocks, 256, p);
    };
    return make_plan(run, workspace + sort->workspace);
}

INFINI_CUDA_KERNEL("lower_median", plan_lower_median);

}  // namespace
}  // namespace infini::cuda
