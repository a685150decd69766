#include "kernels/window/gather.h"

#include <algorithm>
#include <cstring>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

[[noreturn]] void refuse(const Operation &operation, infiniStatus_t status, const char *why) {
    throw Refusal{status, std::string(operation.name()) + ": " + why};
}

// A tensor with its carried dimensions first.
struct View {
    Shape shape;
    int carried = 0;

    View() = default;
    View(const Operation &operation, const Tensor &tensor, const GatherInfo &info, int carried)
        : shape(tensor), carried(carried) {
        if (tensor.ndim == 0) shape.ndim = 1, shape.size[0] = 1, shape.stride[0] = 1;
        if (info.way == GatherWay::kFlat) {
            shape.ndim = 1, shape.size[0] = tensor.numel(), shape.stride[0] = 1;
        } else if (info.way == GatherWay::kAxis || info.way == GatherWay::kAxisOf) {
            int axis =
                info.way == GatherWay::kAxis ? info.amount : int(operation.integer(info.amount));
            if (axis < 0) axis += tensor.ndim;
            if (axis < 0 || axis >= tensor.ndim)
                refuse(operation, INFINI_STATUS_BAD_PARAM, "there is no such dimension");
            std::rotate(shape.size + axis, shape.size + axis + 1, shape.size + shape.ndim);
            std::rotate(shape.stride + axis, shape.stride + axis + 1, shape.stride + shape.ndim);
        }
        if (shape.ndim < carried)
            refuse(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "a tensor has too few dimensions");
    }
    int named() const { return shape.ndim - carried; }
};

// The form for this rank and for the value of the attribute that makes cases.
const GatherForm *choose(const Operation &operation, const GatherInfo &info, int rank,
                         const GatherForm *forms, size_t count) {
    for (int again = 0; again < 2; ++again) {
        const char *text = nullptr;
        if (info.case_attribute >= 0 && info.attributes[info.case_attribute] == 't')
            text = again ? info.otherwise : operation.text(info.case_attribute);
        for (const GatherForm *form = forms; form != forms + count; ++form) {
            if (form->rank != rank) continue;
            if (form->text && (!text || std::strcmp(text, form->text) != 0)) continue;
            if (form->value != kAnyCase && form->value != operation.integer(info.case_attribute))
                continue;
            return form;
        }
    }
    return nullptr;
}

// What is computed in: F16 and BF16 in F32, F32 in F64 where there are several roundings.
Source source_of(const Operation &operation, const GatherForm &form) {
    const int dtype = operation.tensor(0).dtype;
    Source source("window/gather.cuh");
    if (form.moves) {
        if (dtype_bytes(dtype) > 8)
            refuse(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
        const char *type = bytes_type(dtype_bytes(dtype));
        source.type("T", type).type("V", type);
    } else {
        if (!is_float(dtype) || dtype == INFINI_DTYPE_F8)
            refuse(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
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
    const Tensor output = operation.tensor(0);
    const int carried = info.way == GatherWay::kFlat    ? 0
                        : info.way == GatherWay::kBatch ? info.amount
                        : info.way == GatherWay::kLast  ? output.ndim - info.amount
                                                        : output.ndim - 1;
    if (carried < 0) refuse(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "too few dimensions");
    const View out(operation, output, info, carried);
    const GatherForm *form = choose(operation, info, out.named(), forms, count);
    if (!form)
        refuse(operation,
               info.case_attribute < 0 ? INFINI_STATUS_BAD_TENSOR_SHAPE : INFINI_STATUS_BAD_PARAM,
               "not for this number of dimensions, or this mode");

    Walk walk;
    walk.params.count = 1;
    Gather &g = walk.params.gather;
    View in[Gather::kInputs];
    for (int n = 0; n < info.inputs; ++n) {
        const Tensor tensor = operation.tensor(n + 1);
        in[n] = View(operation, tensor, info, carried);
        g.wide[n] = tensor.dtype == INFINI_DTYPE_I64;
        for (int d = 0; d < carried; ++d)
            if (in[n].shape.size[d] != out.shape.size[d])
                refuse(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "tensors differ in batch sizes");
        for (int d = 0; d < in[n].named(); ++d) {
            g.size[n][d] = in[n].shape.size[carried + d];
            g.stride[n][d] = in[n].shape.stride[carried + d];
        }
    }
    for (int d = 0; d < out.named(); ++d) g.extent[d] = out.shape.size[carried + d];
    for (int i = 0; info.attributes[i]; ++i) {
        g.integer[i] = operation.integer(i), g.number[i] = operation.number(i);
        if (info.attributes[i] != 'l' || !operation.list(i)) continue;
        g.count[i] = std::min<int64_t>(Gather::kItems, int64_t(operation.count(i)));
        std::copy(operation.list(i), operation.list(i) + g.count[i], g.item[i]);
    }

    // Carried dimensions, then coordinates: those of a split dimension share its stride.
    for (int d = 0; d < carried; ++d) {
        GatherDim dim = {out.shape.size[d], out.shape.stride[d], {}, {}};
        for (int n = 0; n < info.inputs; ++n) dim.in[n] = in[n].shape.stride[d];
        if (dim.size != 1) walk.add(dim, -1);
    }
    int64_t sizes[GatherParams::kMost], steps[GatherParams::kMost];
    int dims[GatherParams::kMost];
    if (form->split) {
        form->split(g, sizes, dims);
    } else {
        for (int i = 0; i < form->coordinates; ++i) sizes[i] = g.extent[i], dims[i] = i;
    }
    int64_t inside = 1, covered[Gather::kDims];
    std::fill(covered, covered + Gather::kDims, 1);
    for (int i = form->coordinates - 1; i >= 0; --i) {
        if (i + 1 == form->coordinates || dims[i + 1] != dims[i]) inside = 1;
        steps[i] = out.shape.stride[carried + dims[i]] * inside;
        inside *= sizes[i], covered[dims[i]] *= sizes[i];
    }
    for (int d = 0; d < out.named(); ++d)
        if (covered[d] != g.extent[d])
            refuse(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "the output has another size");
    for (int i = 0; i < form->coordinates; ++i) walk.add({sizes[i], steps[i], {}, {}}, i);
    if (walk.params.count == 0) return make_empty_plan();
    walk.order();

    Source source = source_of(operation, *form);
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
