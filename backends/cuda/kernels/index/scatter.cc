// scatter, scatter_add and scatter_reduce: output = input, then updates are folded into the
// elements selected by the indices along one axis. Sums are deterministic, and 16-bit floats are
// rounded once: a warp folds the updates of a line of the output if it fits into shared memory.
// Otherwise entries are sorted by output element, unless their order does not matter.
#include "device/index/scatter.cuh"

#include "index_case.h"
#include "kernels/copy/strided.h"
#include "kernels/index/fold.h"
#include "kernels/index/grouping.h"
#include "kernels/index/scatter_lines.h"

namespace infini::cuda {
namespace {

constexpr int64_t kOneBlock = 256;  // entries folded by one block

struct Scatter {
    ScatterParams params = {};
    StridedCopy copy;
    int dtype = 0, index_dtype = 0;

    Scatter(const Operation &operation, Device &device);

    // The copy from input to output.
    Error start(const Arguments &a, const Stream &stream) const {
        if (a.pointer<void>(0) == a.pointer<void>(1)) return infinirtSuccess;
        return copy.run(stream, a.pointer<void>(0), a.pointer<void>(1));
    }
    ScatterParams with(const Arguments &a) const {
        ScatterParams here = params;
        here.out = a.pointer<void>(0);
        here.index = a.pointer<void>(2), here.updates = a.pointer<void>(3);
        return here;
    }
    Grid grid() const { return divide_up(params.entries.count, 256); }
};

Scatter::Scatter(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor indices = operation.tensor(2), updates = operation.tensor(3);
    const int axis = scattered_dim(operation);
    dtype = output.dtype, index_dtype = indices.dtype;
    copy = StridedCopy(device, dtype_bytes(dtype), output.ndim, output.shape, output.strides,
                       input.strides);
    params.rows = output.size(axis), params.step = output.stride(axis);
    int64_t first[Shape::kMost] = {}, groups = params.rows;  // of the lines' elements
    for (int d = output.ndim - 1; d >= 0; --d) {
        if (d == axis) continue;
        first[d] = groups;
        groups *= indices.shape[d];
    }
    Dims<3> entries;
    Dims<1> lines;
    for (int d = 0; d < output.ndim; ++d) {
        entries.add(indices.shape[d], indices.strides[d], updates.strides[d], first[d]);
        if (d != axis) lines.add(indices.shape[d], output.strides[d]);
    }
    params.entries = entries.places(), params.lines = lines.places();
    params.groups = groups;
    if (groups > 0 && groups < int64_t(1) << 31)
        params.rows_divider = Divider(uint32_t(params.rows));
    if (groups == 0) params.entries.count = 0;  // no output elements
}

std::unique_ptr<Plan> plan_assign(const Scatter &s, Device &device) {
    const int64_t entries = s.params.entries.count;
    if (entries >= int64_t(1) << 31)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "more than 2^31 indices"};
    Source keys("index/scatter.cuh:keys"), assign("index/scatter.cuh:assign");
    keys.type("I", s.index_dtype).constant("kLast", true);
    assign.type("I", s.index_dtype).type("E", bytes_type(dtype_bytes(s.dtype)));
    const auto find = device.compile(keys), write = device.compile(assign);
    const size_t room = entries ? size_t(s.params.groups) * sizeof(int32_t) : 0;
    auto run = [=](const Arguments &a, const Stream &stream) {
        INFINI_CUDA_TRY(s.start(a, stream));
        if (entries == 0) return infinirtSuccess;
        ScatterParams params = s.with(a);
        params.last = reinterpret_cast<int32_t *>(a.workspace());
        INFINI_CUDA_TRY(fill_bytes(stream, params.last, 0xff, room));  // -1
        INFINI_CUDA_TRY(find->launch(stream, s.grid(), 256, params));
        return write->launch(stream, s.grid(), 256, params);
    };
    return make_plan(run, room);
}

// Whether atomic operations may fold the updates in any order.
bool is_orderless(const Scatter &s, const Reduction &reduction, const Device &device) {
    const size_t bytes = dtype_bytes(s.dtype);
    // Half a word is compared and swapped by NVIDIA devices only.
    if (reduction.mean || !reduction.include_self || bytes < (device.has_mma ? 2 : 4)) return false;
    if (reduction.fold == kAdd) return bytes >= 4 && !is_float(s.dtype);
    return reduction.fold == kMost || reduction.fold == kLeast;
}

// All updates in one launch of this kernel.
std::unique_ptr<Plan> plan_together(const Scatter &s, const Reduction &reduction,
                                    const char *kernel, Device &device) {
    Source source(kernel);
    source.type("I", s.index_dtype);
    describe(source, s.dtype, reduction);
    const auto fold = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        INFINI_CUDA_TRY(s.start(a, stream));
        return fold->launch(stream, s.grid(), 256, s.with(a));
    });
}

std::unique_ptr<Plan> plan_fold(const Operation &operation, const Scatter &s,
                                const Reduction &reduction, Device &device) {
    const int64_t entries = s.params.entries.count;
    const bool orderless = is_orderless(s, reduction, device);
    if (entries > kOneBlock)
        if (auto plan = plan_scatter_lines(operation, reduction, orderless, device)) return plan;
    if (orderless) return plan_together(s, reduction, "index/scatter.cuh:combine", device);
    if (entries <= kOneBlock) return plan_together(s, reduction, "index/scatter.cuh:few", device);
    const Grouping grouping(device, entries, s.params.groups);
    Source keys("index/scatter.cuh:keys"), folding("index/scatter.cuh:fold");
    keys.type("I", s.index_dtype).constant("kLast", false);
    describe(folding, s.dtype, reduction);
    const auto find = device.compile(keys), fold = device.compile(folding);
    auto run = [=](const Arguments &a, const Stream &stream) {
        INFINI_CUDA_TRY(s.start(a, stream));
        ScatterParams params = s.with(a);
        params.keys = grouping.keys(a.workspace());
        INFINI_CUDA_TRY(find->launch(stream, s.grid(), 256, params));
        INFINI_CUDA_TRY(grouping.run(stream, a.workspace()));
        params.sorted = grouping.sorted(a.workspace());
        params.order = grouping.order(a.workspace());
        return fold->launch(stream, s.grid(), 256, params);
    };
    return make_plan(run, grouping.workspace());
}

std::unique_ptr<Plan> plan_scatter(const Operation &operation, Device &device) {
    const Scatter s(operation, device);
    const int64_t reduction = operation.integer(1);  // for scatter: 0 assigns, 1 adds, 2 multiplies
    if (operation.is("scatter_reduce"))
        return plan_fold(operation, s, reduction_of(s.dtype, reduction, operation.integer(2) != 0),
                         device);
    if (reduction == 0) return plan_assign(s, device);
    return plan_fold(operation, s, reduction_of(s.dtype, reduction - 1, true), device);
}

INFINI_CUDA_KERNEL("scatter", plan_scatter);

}  // namespace
}  // namespace infini::cuda
