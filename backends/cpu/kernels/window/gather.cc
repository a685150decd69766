#include "window/gather.h"

#include <algorithm>
#include <vector>

#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int kMost = 24;          // dimensions of the walk
constexpr int64_t kEnough = 2048;  // elements that are worth another thread

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
    const GatherCase<Gather, GatherForm> found(operation, info, forms, count);
    const GatherForm *form = found.form;
    auto plan = std::make_unique<GatherPlan>();
    Gather &g = plan->gather;
    g = found.gather;
    plan->inputs = info.inputs;

    // Carried dimensions, then coordinates.
    const int dtype = operation.tensor(0).dtype, ndim = found.carried;
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(dtype)));
    Dim all[kMost];
    for (int d = 0; d < ndim; ++d) {
        all[d] = {found.out.size[d], found.out.stride[d] * element, {}, -1};
        for (int n = 0; n < info.inputs; ++n)
            all[d].in[n] = found.in[n].stride[d] *
                           int64_t(infiniSizeOf(infiniDtype_t(operation.tensor(n + 1).dtype)));
    }
    for (int i = 0; i < form->coordinates; ++i)
        all[ndim + i] = {found.sizes[i], found.steps[i] * element, {}, i};

    // Rows run along a coordinate, or across the coordinates when their elements lie side by side.
    int along = ndim + form->inner;
    plan->row = form->rows.of(dtype);
    if (form->across.rows[0] && all[along].out != element)
        for (int d = 0; d < ndim; ++d)
            if (all[d].out == element && all[d].size >= 8) {
                along = d;
                plan->row = form->across.of(dtype);
                for (int n = 0; n < info.inputs; ++n) g.across[n] = found.in[n].stride[d];
            }
    if (!plan->row) refuse_gather(operation, INFINI_STATUS_BAD_TENSOR_DTYPE, "not for this dtype");
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
