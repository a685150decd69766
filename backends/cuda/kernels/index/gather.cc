// Gathers elements and rows by an index: gather, index_select, embedding, select_last_token_hidden.
// If a row of the output has one index entry, it is moved in words of several elements.
#include "device/index/gather.cuh"

#include "index_case.h"
#include "kernels/dims.h"

namespace infini::cuda {
namespace {

struct Picking {
    // Strides of output, input and index, in elements; the input's is 0 in the indexed dimension.
    Dims<3> dims;
    int64_t limit = 0, step = 0, shift = 0;  // of the indexed dimension
    int dtype = 0, index_dtype = 0;
    int index_at = 2, from_at = 1;  // positions in the list of pointers
    bool skip = false;              // out-of-range entries leave the output unchanged

    std::unique_ptr<Plan> plan(Device &device) const;
};

std::unique_ptr<Plan> Picking::plan(Device &device) const {
    if (dims.count == 0) return make_empty_plan();
    const int64_t element = int64_t(dtype_bytes(dtype));
    Dims<3> words;
    Dims<3> outer = dims;
    int64_t word = element;
    const bool rows = dims.ndim && dims.inner().stride[2] == 0 && dims.inner().stride[0] == 1 &&
                      dims.inner().stride[1] == 1;
    Dims<3>::Dim run = {1, {}};
    if (rows) {
        run = outer.take_inner();
        int64_t bits = run.size | step;
        for (int d = 0; d < outer.ndim; ++d)
            bits |= outer.dim[d].stride[0] | outer.dim[d].stride[1];
        word = common_word({bits * element});
    }
    for (int d = 0; d < outer.ndim; ++d)
        words.add(outer.dim[d].size, outer.dim[d].stride[0] * element,
                  outer.dim[d].stride[1] * element, outer.dim[d].stride[2]);
    if (rows) words.add(run.size * element / word, word, word, 0);

    GatherParams params = {};
    params.words = words.places();
    params.limit = limit, params.step = step * element, params.shift = shift;
    Source source("index/gather.cuh");
    source.type("E", bytes_type(size_t(element))).type("W", word_type(word));
    source.type("I", index_dtype).constant("kSkip", skip);
    const auto kernel = device.compile(source);
    const int index = index_at, from = from_at;
    return make_plan([=](const Arguments &a, const Stream &stream) {
        GatherParams here = params;
        here.to = a.pointer<void>(0), here.from = a.pointer<void>(from);
        here.index = a.pointer<void>(index);
        here.whole = is_aligned(here.to, size_t(word)) && is_aligned(here.from, size_t(word));
        return kernel->launch(stream, divide_up(here.words.count, 1024), 256, here);
    });
}

std::unique_ptr<Plan> plan_picking(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const int axis = indexed_dim(operation, input);
    Picking picking;
    picking.limit = input.size(axis), picking.step = input.stride(axis);
    picking.dtype = output.dtype, picking.index_dtype = operation.tensor(2).dtype;
    each_gathered_dim(operation, operation.is("index_select"), axis,
                      [&](int64_t size, int64_t to, int64_t from, int64_t at) {
                          picking.dims.add(size, to, from, at);
                      });
    return picking.plan(device);
}

std::unique_ptr<Plan> plan_embedding(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor weight = operation.tensor(2);
    Picking picking;
    picking.limit = weight.size(0), picking.step = weight.stride(0);
    picking.dtype = output.dtype, picking.index_dtype = input.dtype;
    picking.index_at = 1, picking.from_at = 2, picking.skip = true;
    for (int d = 0; d < input.ndim; ++d)
        picking.dims.add(input.shape[d], output.strides[d], 0, input.strides[d]);
    picking.dims.add(weight.size(1), output.stride(-1), weight.stride(1), 0);
    return picking.plan(device);
}

std::unique_ptr<Plan> plan_select_last(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), hidden = operation.tensor(1);
    const Tensor offsets = operation.tensor(2);
    Picking picking;
    picking.limit = hidden.size(0) * hidden.size(1), picking.step = hidden.size(2);
    picking.dtype = output.dtype, picking.index_dtype = offsets.dtype;
    picking.shift = -1, picking.skip = true;
    picking.dims.add(output.size(1), output.stride(1), 0, offsets.stride(0));
    picking.dims.add(output.size(2), output.stride(2), 1, 0);
    // Entry r + 1 is the end of sequence r.
    const int64_t first = offsets.stride(0) * int64_t(dtype_bytes(offsets.dtype));
    std::shared_ptr<const Plan> plan = picking.plan(device);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        void *pointers[] = {a.pointer<void>(0), a.pointer<void>(1), a.pointer<char>(2) + first};
        InfiniArguments moved = a.c;
        moved.pointers = pointers;
        return plan->run(Arguments{moved}, stream);
    });
}

INFINI_CUDA_KERNEL("gather", plan_picking);

std::unique_ptr<Plan> plan_rows(const Operation &operation, Device &device) {
    return operation.is("select_last_token_hidden") ? plan_select_last(operation, device)
                                                    : plan_embedding(operation, device);
}

INFINI_CUDA_KERNEL("embedding", plan_rows);

}  // namespace
}  // namespace infini::cuda
