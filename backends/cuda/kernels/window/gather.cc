#include "kernels/window/gather.h"

#include <algorithm>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

// What is computed in: F16 and BF16 in F32, F32 in F64 where there are several roundings.
Source source_of(const Operation &operation, const GatherForm &form) {
    const int dtype = operation.tensor(0).dtype;
    Source source("window/gather.cuh");
    if (form.moves) {
        if (dtype_bytes(dtype) > 8)
            refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
        const char *type = bytes_type(dtype_bytes(dtype));
        source.type("T", type).type("V", type);
    } else {
        if (!is_float(dtype) || dtype == INFINI_DTYPE_F8)
            refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
        const bool wide = dtype == INFINI_DTYPE_F64 || (dtype == INFINI_DTYPE_F32 && !form.exact);
        source.type("T", dtype).type("V", wide ? "double" : "float");
    }
    return source.include("window/gather_loads.cuh").line(form.element);
}

struct Walk {
    GatherParams params = {};
    int coordinate[GatherParams::kMost];
    int ndim = 0;

    void add(const GatherDim &dim, int number) {
        params.count *= dim.size;
        params.dims[ndim] = dim;
        if (dim.size > 0 && dim.size < int64_t(1) << 31)
            params.dims[ndim].by = Divider(uint32_t(dim.size));
        coordinate[ndim++] = number;
    }
    // Neighbouring threads take neighbouring outputs.
    void order() {
        int places[GatherParams::kMost], numbers[GatherParams::kMost];
        GatherDim dims[GatherParams::kMost];
        for (int i = 0; i < ndim; ++i) places[i] = ndim - 1 - i;  // the last one first
        auto step = [&](int i) { return std::abs(params.dims[i].out); };
        std::stable_sort(places, places + ndim, [&](int a, int b) { return step(a) < step(b); });
        for (int i = 0; i < ndim; ++i) dims[i] = params.dims[places[i]];
        for (int i = 0; i < ndim; ++i) numbers[i] = coordinate[places[i]];
        std::copy(dims, dims + ndim, params.dims);
        std::copy(numbers, numbers + ndim, coordinate);
    }
};

}  // namespace

std::unique_ptr<Plan> plan_gather(const Operation &operation, Device &device,
                                  const GatherInfo &info, const GatherForm *forms, size_t count) {
    const GatherCase<Gather, GatherForm> found(operation, info, forms, count);
    Walk walk;
    walk.params.count = 1;
    walk.params.gather = found.gather;
    for (int d = 0; d < found.carried; ++d) {
        GatherDim dim = {found.out.size[d], found.out.stride[d], {}, {}};
        for (int n = 0; n < info.inputs; ++n) dim.in[n] = found.in[n].stride[d];
        if (dim.size != 1) walk.add(dim, -1);
    }
    for (int i = 0; i < found.form->coordinates; ++i)
        walk.add({found.sizes[i], found.steps[i], {}, {}}, i);
    if (walk.params.count == 0) return make_empty_plan();
    walk.order();

    Source source = source_of(operation, *found.form);
    source.type("I", walk.params.count < int64_t(1) << 31 ? "uint32_t" : "int64_t");
    source.constant("kDims", walk.ndim);
    std::string list;
    for (int i = 0; i < walk.ndim; ++i) list += std::to_string(walk.coordinate[i]) + ", ";
    source.line("constexpr int kCoordinate[] = {" + list + "};");
    auto kernel = device.compile(source);
    const int64_t blocks = device.blocks_for(walk.params.count, 256, 64);
    const int inputs = info.inputs;
    return make_plan([=, params = walk.params](const Arguments &a, const Stream &stream) {
        GatherParams p = params;
        p.y = a.pointer<void>(0);
        for (int i = 0; i < inputs; ++i) p.x[i] = a.pointer<void>(i + 1);
        return kernel->launch(stream, blocks, 256, p);
    });
}

}  // namespace infini::cuda
