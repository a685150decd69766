// histc and bincount: the number of elements in each bin, or the sum of their weights. Counts use
// atomic additions of integers, whose order does not matter; weights are added up in a fixed order,
// after sorting the elements.
#include "device/sort/count.cuh"

#include "kernels/sort/order.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr int64_t kCountThreads = 256, kSharedBins = 8192;

std::unique_ptr<Plan> plan_counts(const Operation &operation, Device &device, CountParams params,
                                  bool histogram) {
    const int dtype = operation.tensor(1).dtype, result = operation.tensor(0).dtype;
    Source source("sort/count.cuh:bins"), finish_source("sort/count.cuh:finish");
    const bool shared = params.bins <= kSharedBins;
    source.type("T", dtype).constant("kHistogram", histogram);
    auto count = device.compile(source.constant("kBins", shared ? kSharedBins : 0));
    auto finish = device.compile(finish_source.type("R", result));
    const int64_t blocks = device.blocks_for(params.size, kCountThreads * 16, 4);
    const size_t bytes = size_t(params.bins) * 8;
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        CountParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1), p.tables = a.workspace();
        INFINI_CUDA_TRY(fill_bytes(stream, a.workspace(), 0, bytes));
        INFINI_CUDA_TRY(count->launch(stream, blocks, kCountThreads, p));
        return finish->launch(stream, divide_up(p.bins, kCountThreads), kCountThreads, p);
    };
    return make_plan(run, bytes);
}

std::unique_ptr<Plan> plan_histc(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    CountParams params = {};
    params.bins = operation.integer(0), params.out_step = y.stride(0);
    params.size = x.size(0), params.step = x.stride(0);
    params.least = operation.number(1), params.greatest = operation.number(2);
    params.width = (params.greatest - params.least) / double(params.bins);
    return plan_counts(operation, device, params, true);
}

// The sums of weights. If every bin can read all elements, these are not sorted.
std::unique_ptr<Plan> plan_weights(const Operation &operation, Device &device, CountParams params) {
    const Tensor input = operation.tensor(1);
    const bool sorted = params.bins * params.size > int64_t(1) << 20;
    Source source("sort/count.cuh:weigh");
    source.type("T", input.dtype).type("R", operation.tensor(0).dtype);
    std::shared_ptr<const Kernel> weigh = device.compile(source.constant("kSorted", sorted));
    std::shared_ptr<const Plan> sort;
    size_t places = 0, workspace = 0;
    if (sorted) {
        Ordering ordering = {};
        ordering.dtype = input.dtype, ordering.place_dtype = INFINI_DTYPE_I64;
        ordering.from = Lines(input, 0);
        ordering.to.size = ordering.stood.size = params.size;
        ordering.count = params.size;
        sort = plan_sort_lines(ordering, device);
        places = size_t(round_up(params.size * int64_t(dtype_bytes(input.dtype)), 256));
        workspace = places + size_t(round_up(params.size * 8, 256));
    }
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        CountParams p = params;
        p.y = a.pointer<void>(0), p.x = a.pointer<void>(1), p.weights = a.pointer<void>(2);
        if (sorted) {
            void *pointers[] = {a.workspace(), a.workspace() + places, a.pointer<void>(1)};
            InfiniArguments arguments = a.c;
            arguments.pointers = pointers, arguments.workspace = a.workspace() + workspace;
            INFINI_CUDA_TRY(sort->run(Arguments{arguments}, stream));
            p.x = pointers[0], p.tables = pointers[1], p.step = 1;
        }
        return weigh->launch(stream, divide_up(p.bins * stream.device.warp, kCountThreads),
                             kCountThreads, p);
    };
    return make_plan(run, sorted ? workspace + sort->workspace : 0);
}

std::unique_ptr<Plan> plan_bincount(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor weights = operation.tensor(2);
    CountParams params = {};
    params.bins = output.size(0), params.out_step = output.stride(0);
    params.size = input.size(0), params.step = input.stride(0);
    if (params.bins == 0) return make_empty_plan();
    if (!weights) return plan_counts(operation, device, params, false);
    params.weight_step = weights.stride(0);
    if (params.size >= int64_t(1) << 31) refuse_shape("bincount: weights of 2^31 elements or more");
    return plan_weights(operation, device, params);
}

INFINI_CUDA_KERNEL("histc", plan_histc);
INFINI_CUDA_KERNEL("bincount", plan_bincount);

}  // namespace
}  // namespace infini::cuda
