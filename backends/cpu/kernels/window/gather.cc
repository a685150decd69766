#include "window/gather.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int kMost = 24;          // dimensions of the walk
constexpr int64_t kEnough = 2048;  // elements that are worth another thread

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

// A dimension of the walk over rows: a carried dimension, or a coordinate.
struct Dim {
    int64_t size, out, in[Gather::kInputs];  // strides in bytes
    int coordinate;                          // -1: none
};

struct GatherPlan final : Plan {
    Gather gather;
    GatherRow row;
    Dim dims[kMost], inner;
    int ndim = 0, inputs = 0;
    int64_t rows = 1, step = 0;
    const GatherForm *tables = nullptr;  // the form, if it wants tables: they are in the workspace

    void add(const Dim &dim) {
        rows *= dim.size;
        if (dim.size != 1) dims[ndim++] = dim;
    }
    void run(const Arguments &arguments) const override;
    void some(const Gather &g, const Arguments &a, int64_t first, int64_t last, int64_t begin,
              int64_t end) const;
};

void GatherPlan::some(const Gather &g, const Arguments &a, int64_t first, int64_t last,
                      int64_t begin, int64_t end) const {
    int64_t at[kMost] = {}, index[kMost], rest = first;
    char *out = a.pointer<char>(0);
    const void *in[Gather::kInputs] = {};
    for (int i = 0; i < inputs; ++i) in[i] = a.pointer<void>(i + 1);
    auto move = [&](const Dim &dim, int64_t by) {
        out += by * dim.out;
        for (const void *&data : in)
            data = static_cast<const char *>(data) + by * dim.in[&data - in];
        if (dim.coordinate >= 0) at[dim.coordinate] += by;
    };
    for (int d = ndim - 1; d >= 0; --d) {
        index[d] = rest % dims[d].size, rest /= dims[d].size;
        move(dims[d], index[d]);
    }
    for (int64_t i = first; i < last; ++i) {
        row(g, in, out, step, at, begin, end);
        for (int d = ndim - 1; d >= 0; --d) {
            move(dims[d], 1);
            if (++index[d] < dims[d].size) break;
            move(dims[d], -index[d]);
            index[d] = 0;
        }
    }
}

void GatherPlan::run(const Arguments &a) const {
    const int64_t width = inner.size;
    if (rows == 0 || width == 0) return;
    Gather g = gather;
    if (tables) {
        auto *integers = reinterpret_cast<int64_t *>(a.workspace());
        auto *reals = reinterpret_cast<double *>(integers + tables->integers * width);
        for (int i = 0; i < tables->integers; ++i) g.integers[i] = integers + i * width;
        for (int i = 0; i < tables->reals; ++i) g.reals[i] = reals + i * width;
        tables->columns(g, width);
    }
    if (rows >= int64_t(4 * thread_count()) || rows * width <= kEnough) {
        const size_t grain = size_t(std::max<int64_t>(1, kEnough / width));
        parallel_for(size_t(rows), grain, [&](size_t first, size_t last) {
            some(g, a, int64_t(first), int64_t(last), 0, width);
        });
    } else {
        parallel_for(
            size_t(width), size_t(std::max<int64_t>(1, kEnough / rows)),
            [&](size_t begin, size_t end) { some(g, a, 0, rows, int64_t(begin), int64_t(end)); });
    }
}

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

}  // namespace

GatherRow GatherRows::of(int dtype) const {
    if (by_size) switch (infiniSizeOf(infiniDtype_t(dtype))) {
            case 1:
                return rows[0];
            case 2:
                return rows[1];
            case 4:
                return rows[2];
            case 8:
                return rows[3];
            default:
                return nullptr;
        }
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return rows[0];
        case INFINI_DTYPE_BF16:
            return rows[1];
        case INFINI_DTYPE_F32:
            return rows[2];
        case INFINI_DTYPE_F64:
            return rows[3];
        default:
            return nullptr;
    }
}

std::unique_ptr<Plan> plan_gather(const Operation &operation, const GatherInfo &info,
                                  const GatherForm *forms, size_t count) {
    auto plan = std::make_unique<GatherPlan>();
    Gather &g = plan->gather;
    g = {};
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

    View in[Gather::kInputs];
    int64_t bytes[Gather::kInputs] = {};
    plan->inputs = info.inputs;
    for (int n = 0; n < info.inputs; ++n) {
        const Tensor tensor = operation.tensor(n + 1);
        in[n] = View(operation, tensor, info, carried);
        bytes[n] = int64_t(infiniSizeOf(infiniDtype_t(tensor.dtype)));
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
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(output.dtype)));
    Dim all[kMost];
    int ndim = 0;
    for (int d = 0; d < carried; ++d) {
        all[ndim] = {out.shape.size[d], out.shape.stride[d] * element, {}, -1};
        for (int n = 0; n < info.inputs; ++n) all[ndim].in[n] = in[n].shape.stride[d] * bytes[n];
        ++ndim;
    }
    int64_t sizes[kMost];
    int dims[kMost];
    if (form->split) {
        form->split(g, sizes, dims);
    } else {
        for (int i = 0; i < form->coordinates; ++i) sizes[i] = g.extent[i], dims[i] = i;
    }
    int64_t inside = 1, covered[Gather::kDims];
    std::fill(covered, covered + Gather::kDims, 1);
    for (int i = form->coordinates - 1; i >= 0; --i) {
        if (i + 1 == form->coordinates || dims[i + 1] != dims[i]) inside = 1;
        all[ndim + i] = {sizes[i], out.shape.stride[carried + dims[i]] * inside * element, {}, i};
        inside *= sizes[i], covered[dims[i]] *= sizes[i];
    }
    for (int d = 0; d < out.named(); ++d)
        if (covered[d] != g.extent[d])
            refuse(operation, INFINI_STATUS_BAD_TENSOR_SHAPE, "the output has another size");

    // Rows run along a coordinate, or across the coordinates when their elements lie side by side.
    int along = ndim + form->inner;
    plan->row = form->rows.of(output.dtype);
    if (form->across.rows[0] && all[along].out != element)
        for (int d = 0; d < ndim; ++d)
            if (all[d].out == element && all[d].size >= 8) {
                along = d;
                plan->row = form->across.of(output.dtype);
                for (int n = 0; n < info.inputs; ++n) g.across[n] = in[n].shape.stride[d];
            }
    if (!plan->row) refuse(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
    plan->inner = all[along];
    plan->step = all[along].out / element;
    if (form->columns && along == ndim + form->inner) {
        plan->tables = form;
        plan->workspace = size_t((form->integers + form->reals) * plan->inner.size) * 8;
    }
    for (int d = 0; d < ndim + form->coordinates; ++d)
        if (d != along) plan->add(all[d]);
    return plan;
}

}  // namespace infini::cpu
