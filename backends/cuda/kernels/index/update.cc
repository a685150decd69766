// index_add, index_reduce and index_copy: every row of the output is written once, from the rows of
// the source that select it, in index order. So 16-bit sums are rounded once, and results are
// deterministic.
#include "device/index/update.cuh"

#include "kernels/dims.h"
#include "kernels/index/fold.h"
#include "kernels/index/grouping.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

// Output, input, index, source; all dimensions except the indexed one are dense.
struct Update {
    UpdateParams params = {};
    UpdateKeysParams keys = {};
    int dtype = 0, index_dtype = 0;

    explicit Update(const Operation &operation) {
        const Tensor output = operation.tensor(0), index = operation.tensor(2);
        const Tensor source = operation.tensor(3);
        int dim = int(operation.integer(0));
        if (dim < 0) dim += output.ndim;
        params.outer = params.inner = 1;
        params.rows = output.size(dim), params.entries = index.size(0);
        for (int i = 0; i < output.ndim; ++i) {
            if (source.shape[i] != (i == dim ? params.entries : output.shape[i]))
                refuse_shape(
                    "the source differs from the output in more than the dimension that is "
                    "indexed, or has not one slice for each index");
            if (i < dim) params.outer *= output.shape[i];
            if (i > dim) params.inner *= output.shape[i];
        }
        keys.entries = params.entries, keys.rows = params.rows, keys.step = index.stride(0);
        dtype = output.dtype, index_dtype = index.dtype;
        if (params.entries >= int64_t(1) << 31)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "more than 2^31 indices"};
    }
    bool empty() const { return params.outer * params.rows * params.inner == 0; }
    // Uses vectors of that many elements.
    void pack(int64_t elements) {
        params.inner /= elements;
        while (params.across_bits < 8 && (1 << params.across_bits) < params.inner)
            ++params.across_bits;
    }
    Grid grid() const {
        const int64_t rows = divide_up(params.outer * params.rows, 256 >> params.across_bits);
        return {divide_up(params.inner, 1 << params.across_bits), std::min<int64_t>(rows, 65535)};
    }
    Error find(const Kernel &kernel, const Stream &stream, const UpdateKeysParams &given) const {
        return kernel.launch(stream, divide_up(given.entries, 256), 256, given);
    }
    std::shared_ptr<const Kernel> finder(Device &device, bool last) const {
        Source source("index/update.cuh:keys");
        return device.compile(source.type("I", index_dtype).constant("kLast", last));
    }
    UpdateParams with(const Arguments &a, size_t word) const {
        UpdateParams here = params;
        here.out = a.pointer<void>(0), here.in = a.pointer<void>(1),
        here.source = a.pointer<void>(3);
        here.whole = is_aligned(here.out, word) && is_aligned(here.in, word) &&
                     is_aligned(here.source, word);
        return here;
    }
};

std::unique_ptr<Plan> plan_fold(Update update, const Reduction &reduction, double factor,
                                Device &device) {
    if (update.empty()) return make_empty_plan();
    const int64_t element = int64_t(dtype_bytes(update.dtype));
    const int64_t word = common_word({update.params.inner * element}), vector = word / element;
    update.pack(vector);
    update.params.factor = factor;
    const UpdateParams &sizes = update.params;
    // Inspecting all entries for each row takes less time than grouping them.
    const bool few = sizes.entries <= 256 &&
                     sizes.entries * sizes.outer * sizes.rows * sizes.inner <= int64_t(1) << 24;
    Source source("index/update.cuh:fold");
    describe(source, update.dtype, reduction);
    source.constant("kVector", vector).constant("kScaled", factor != 1);
    source.type("I", update.index_dtype).constant("kFew", few);
    const auto fold = device.compile(source);
    if (few)
        return make_plan([=](const Arguments &a, const Stream &stream) {
            UpdateParams params = update.with(a, size_t(word));
            params.index = a.pointer<void>(2), params.step = update.keys.step;
            return fold->launch(stream, update.grid(), 256, params);
        });
    const Grouping grouping(device, update.params.entries, update.params.rows);
    const GroupFirst group_first(device);
    const auto find = update.finder(device, false);
    const size_t first_bytes = size_t(round_up((update.params.rows + 1) * 4, 256));
    auto run = [=](const Arguments &a, const Stream &stream) {
        UpdateParams params = update.with(a, size_t(word));
        auto *first = reinterpret_cast<uint32_t *>(a.workspace());
        char *room = a.workspace() + first_bytes;
        UpdateKeysParams keys = update.keys;
        keys.index = a.pointer<void>(2), keys.keys = grouping.keys(room);
        INFINI_CUDA_TRY(update.find(*find, stream, keys));
        INFINI_CUDA_TRY(grouping.run(stream, room));
        INFINI_CUDA_TRY(
            group_first.run(stream, grouping.sorted(room), keys.entries, keys.rows, first));
        params.first = first, params.order = grouping.order(room);
        return fold->launch(stream, update.grid(), 256, params);
    };
    return make_plan(run, first_bytes + grouping.workspace());
}

std::unique_ptr<Plan> plan_index_add(const Operation &operation, Device &device) {
    const Update update(operation);
    return plan_fold(update, reduction_of(update.dtype, 0, true), operation.number(1), device);
}

std::unique_ptr<Plan> plan_index_reduce(const Operation &operation, Device &device) {
    const Update update(operation);
    const bool include_self = operation.integer(2) != 0;
    return plan_fold(update, reduction_of(update.dtype, operation.integer(1), include_self), 1,
                     device);
}

std::unique_ptr<Plan> plan_index_copy(const Operation &operation, Device &device) {
    Update update(operation);
    if (update.empty()) return make_empty_plan();
    const int64_t element = int64_t(dtype_bytes(update.dtype));
    const int64_t word = common_word({update.params.inner * element});
    update.pack(word / element);
    Source source("index/update.cuh:copy");
    source.type("E", bytes_type(size_t(element))).type("W", word_type(word));
    const auto find = update.finder(device, true), copy = device.compile(source);
    const size_t room = size_t(update.params.rows) * sizeof(int32_t);
    auto run = [=](const Arguments &a, const Stream &stream) {
        UpdateParams params = update.with(a, size_t(word));
        UpdateKeysParams keys = update.keys;
        keys.index = a.pointer<void>(2), keys.last = reinterpret_cast<int32_t *>(a.workspace());
        INFINI_CUDA_TRY(fill_bytes(stream, keys.last, 0xff, room));  // -1
        INFINI_CUDA_TRY(update.find(*find, stream, keys));
        params.last = keys.last;
        return copy->launch(stream, update.grid(), 256, params);
    };
    return make_plan(run, room);
}

std::unique_ptr<Plan> plan_update(const Operation &operation, Device &device) {
    if (operation.is("index_add")) return plan_index_add(operation, device);
    if (operation.is("index_reduce")) return plan_index_reduce(operation, device);
    return plan_index_copy(operation, device);
}

INFINI_CUDA_KERNEL("index_update", plan_update);

}  // namespace
}  // namespace infini::cuda
