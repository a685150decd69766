#include "backends/cambricon/operators.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::cambricon {
namespace {

using namespace pieces;
using namespace when;

constexpr auto kMedium = Confidence::kMedium;

// ---- Conditions ---------------------------------------------------------------------------------

const Condition repeats = {[](const Operation &o) {
                               const Tensor from = o.tensor(1);
                               for (int i = 0; i < from.ndim; ++i)
                                   if (from.stride(i) == 0 && from.size(i) > 1) return true;
                               return false;
                           },
                           "a source that repeats itself"};
const Condition no_repeats = {[](const Operation &o) { return !repeats.holds(o); },
                              "a source that does not repeat itself"};
const Condition stable_size = {
    [](const Operation &o) { return o.tensor(0).numel() < (int64_t(1) << 31); },
    "less than 2^31 elements"};

// ---- Tensors that rows add ----------------------------------------------------------------------

// 2, 3: x and y, with the dimension of the softmax in the middle of three.
std::vector<Extra> three_dimensions(const Operation &o) {
    const Tensor y = o.tensor(0);
    const int axis = int(o.integer(0) < 0 ? o.integer(0) + y.ndim : o.integer(0));
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= y.size(i);
    for (int i = axis + 1; i < y.ndim; ++i) inner *= y.size(i);
    const Shape shape = dense_shape(y.dtype, {outer, y.size(axis), inner});
    return {{shape, 1, 0, {}}, {shape, 0, 0, {}}};
}

// 2, 3: x and y as [B, 1, L, T]; 4: what the mask hides.
std::vector<Extra> hidden_ends(const Operation &o) {
    const Tensor y = o.tensor(0);
    const int64_t rows = y.size(-2), columns = y.size(-1);
    int64_t batch = 1;
    for (int i = 0; i < y.ndim - 2; ++i) batch *= y.size(i);
    const Shape shape = dense_shape(y.dtype, {batch, 1, rows, columns});
    Extra mask = causal_mask(rows, columns, columns - rows);
    mask.shape = dense_shape(INFINI_DTYPE_BOOL, {1, 1, rows, columns});
    return {{shape, 1, 0, {}}, {shape, 0, 0, {}}, mask};
}

// 6, 7: means and inverse deviations, for a backward pass.
std::vector<Extra> two_statistics(const Operation &o) {
    Shape shape(o.tensor(0));
    if (--shape.ndim == 0) shape.ndim = 1, shape.size[0] = 1;
    shape = dense_shape(shape);
    return {{shape, -1, 0, {}}, {shape, -1, 0, {}}};
}

}  // namespace

// ---- The rows -----------------------------------------------------------------------------------

#define INFINI_TOPK(k, dim, largest, sorted)                                                       \
    {                                                                                              \
        "cnnlTopKTensor_v3",                                                                       \
            {handle(),    tensor(2),   data(2),           k,         dim,     largest,   sorted,   \
             constant(1), workspace(), workspace_bytes(), tensor(0), data(0), tensor(1), data(1)}, \
            "cnnlGetTopKTensorWorkspaceSize", {                                                    \
            handle(), tensor(2), k, dim, largest, tensor(0), tensor(1), bytes_out()                \
        }                                                                                          \
    }

extern const OperatorRow kRows[] = {
    {"softmax",
     {floats, contiguous, lines},
     {{"cnnlSoftmaxForward_v2",
       {handle(), enumerator("CNNL_SOFTMAX_ACCURATE"),
        enumerator("CNNL_SOFTMAX_MODE_MEDIUM_DIMENSION"),
        enumerator("CNNL_COMPUTATION_HIGH_PRECISION"), null(), tensor(2), data(2), null(),
        tensor(3), data(3)}}},
     three_dimensions},
    {"log_softmax",
     {floats, contiguous, lines},
     {{"cnnlSoftmaxForward_v2",
       {handle(), enumerator("CNNL_SOFTMAX_LOG"), enumerator("CNNL_SOFTMAX_MODE_MEDIUM_DIMENSION"),
        enumerator("CNNL_COMPUTATION_HIGH_PRECISION"), null(), tensor(2), data(2), null(),
        tensor(3), data(3)}}},
     three_dimensions},
    {"causal_softmax",
     {floats, contiguous},
     {{"cnnlMaskedSoftmax",
       {handle(), enumerator("CNNL_MASKED_SOFTMAX_MASKED_FILL_NEG_INF"), constant(-1), one(),
        tensor(2), data(2), tensor(4), data(4), tensor(3), data(3)}}},
     hidden_ends,
     kMedium,
     "that a mask of one batch serves all"},
    {"layer_norm",
     {floats, contiguous, no_statistics},
     {{"cnnlLayerNormForward",
       {handle(), tensor(3), data(3), last_dimension(0), tensor(4), data(4), data(5), narrow(0),
        workspace(), workspace_bytes(), tensor(0), data(0), tensor(6), data(6), data(7)},
       "cnnlGetLayerNormOpWorkspaceSize",
       {handle(), last_dimension(0), tensor(3), bytes_out()}}},
     two_statistics},
    {"embedding",
     {movable, indices, contiguous},
     {{"cnnlEmbeddingForward_v2",
       {handle(), tensor(4), data(4), tensor(1), data(1), constant(-1), null(), null(), tensor(3),
        data(3)}}},
     extras::moved_rows,
     kMedium,
     "that it takes tables of integers, and indices of I64",
     true},
    {"sort",
     {sortable, contiguous, stable_size},
     {INFINI_TOPK(size_along(0), dimension(0), integer(1), constant(1))},
     nullptr,
     kMedium,
     "that places may be I64"},
    {"topk",
     {sortable, indices, contiguous, stable_size},
     {INFINI_TOPK(integer(0), integer(1), integer(2), integer(3))},
     nullptr,
     kMedium,
     "that places may be I64"},
    {"rearrange",
     {movable, forward, no_repeats},
     {{"cnnlCopy", {handle(), tensor(3), data(3), tensor(2), data(2)}}},
     extras::moved_elements,
     Confidence::kHigh,
     nullptr,
     true},
    {"rearrange",
     {movable, forward, repeats},
     {{"cnnlExpand", {handle(), tensor(3), data(3), tensor(2), data(2)}}},
     extras::moved_elements,
     Confidence::kHigh,
     nullptr,
     true},
};
extern const int kRowCount = int(std::size(kRows));

}  // namespace infini::vendor_runtime::cambricon
