#include "backends/cambricon/operators.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::cambricon {
namespace {

using namespace pieces;
using namespace when;

constexpr auto kMedium = Confidence::kMedium;
constexpr int kFloatType = 2;  // of intermediate results

constexpr const char *kNoPages =
    "the parameters of cnnlSingleQueryCachedKVAttn and cnnlScaledDotProductAttn, which take tables "
    "of blocks, are in public callers of single versions alone";
constexpr const char *kNoIndex =
    "no public source says what cnnlIndexSelect and cnnlGather do with indices that are out of "
    "range, which give zeros here";
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

const Condition in_f32 = {[](const Operation &o) { return o.tensor(0).dtype == INFINI_DTYPE_F32; },
                          "F32"};
const Condition in_f16 = {[](const Operation &o) { return o.tensor(0).dtype == INFINI_DTYPE_F16; },
                          "F16"};
const Condition in_bf16 = {
    [](const Operation &o) { return o.tensor(0).dtype == INFINI_DTYPE_BF16; }, "BF16"};
const Condition plain_attention = {
    [](const Operation &o) {
        const int dtype = o.tensor(0).dtype;
        return (dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16) && !o.tensor(4) &&
               (o.tensor(2).size(2) > 0 || o.tensor(0).numel() == 0);
    },
    "F16 or BF16, some keys, and all of them: lengths of a padded batch are not among its "
    "parameters"};
const Condition unmasked = {
    [](const Operation &o) { return o.integer(1) == 0 || o.tensor(1).size(2) == 1; }, "no mask"};
// No public source says to which corner the mask belongs where these differ.
const Condition square_mask = {[](const Operation &o) {
                                   return o.integer(1) != 0 &&
                                          o.tensor(1).size(2) == o.tensor(2).size(2);
                               },
                               "a causal mask for as many queries as keys"};

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

// [B, T, H, D], of which B may be missing; the half that begins at `first`, in steps.
Shape half_of(const Tensor &tensor, int64_t step) {
    Shape four(tensor);
    if (four.ndim == 3) {
        for (int d = 3; d > 0; --d)
            four.size[d] = four.size[d - 1], four.stride[d] = four.stride[d - 1];
        four.ndim = 4;
        four.size[0] = 1;
        four.stride[0] = 0;
    }
    four.size[3] /= 2;
    four.stride[3] *= step;
    return four;
}

// 5, 6: cosines and sines by token; 7, 8: the same as [B or 1, T, 1, D / 2]; 9, 10: the first and
// the second elements of pairs, without gaps; 11, 12: where they are in x; 13, 14: results without
// gaps; 15, 16: where they go in y; 17: positions.
std::vector<Extra> rope_halves(const Operation &o) {
    const Tensor y = o.tensor(0), x = o.tensor(1);
    const int64_t tokens = y.size(-3), half = y.size(-1) / 2;
    const bool pairs = o.integer(0) == 0;  // GPT-J: elements 2i and 2i + 1
    const int64_t step = pairs ? 2 : 1, second = pairs ? 1 : half;
    const int64_t batch = o.tensor(2).ndim == 1 ? 1 : y.size(0);
    const Shape rows = dense_shape(y.dtype, {o.tensor(2).numel(), half});
    const Shape wide = dense_shape(y.dtype, {batch, tokens, 1, half});
    const Shape from = half_of(x, step), to = half_of(y, step), dense = dense_shape(to);
    return {{rows, -1, 0, {}},  {rows, -1, 0, {}},
            {wide, 5, 0, {}},   {wide, 6, 0, {}},
            {dense, -1, 0, {}}, {dense, -1, 0, {}},
            {from, 1, 0, {}},   {from, 1, second * x.stride(-1), {}},
            {dense, -1, 0, {}}, {dense, -1, 0, {}},
            {to, 0, 0, {}},     {to, 0, second * y.stride(-1), {}},
            rotary_positions(o)};
}

// The same, and 18 .. 23: 7 .. 10, 13 and 14 in F32.
std::vector<Extra> wide_rope_halves(const Operation &o) {
    std::vector<Extra> made = rope_halves(o);
    for (int i : {7, 8, 9, 10, 13, 14}) {
        Shape shape = made[size_t(i - 5)].shape;
        shape.dtype = INFINI_DTYPE_F32;
        made.push_back({shape, -1, 0, {}});
    }
    return made;
}

// Where sequences of one length begin, as I32.
Extra equal_bounds(int64_t batch, int64_t length) {
    std::vector<int32_t> bounds;
    for (int64_t i = 0; i <= batch; ++i) bounds.push_back(int32_t(i * length));
    Extra made{dense_shape(INFINI_DTYPE_I32, {batch + 1}), -1, 0, {}};
    const auto *bytes = reinterpret_cast<const char *>(bounds.data());
    made.content.assign(bytes, bytes + bounds.size() * sizeof(int32_t));
    return made;
}

// 5 .. 8: queries, keys, values and the result by token, [B * L, H, D]; 9, 10: where sequences
// begin; 11: what a backward pass would need; 12 .. 15: q, k, v and out as [B, L, H, D]; 16 .. 19:
// 5 .. 8 in the same way.
std::vector<Extra> packed_attention(const Operation &o) {
    const int tensors[] = {1, 2, 3, 0};
    std::vector<Extra> made;
    auto size = [&](int i, int d) { return o.tensor(tensors[i]).size(d); };
    for (int i = 0; i < 4; ++i)
        made.push_back(
            {dense_shape(o.tensor(0).dtype, {size(i, 0) * size(i, 2), size(i, 1), size(i, 3)}),
             -1,
             0,
             {}});
    made.push_back(equal_bounds(size(0, 0), size(0, 2)));
    made.push_back(equal_bounds(size(1, 0), size(1, 2)));
    made.push_back(
        {dense_shape(INFINI_DTYPE_F32, {size(0, 1), size(0, 0) * size(0, 2)}), -1, 0, {}});
    std::vector<Extra> views;
    for (int i = 0; i < 4; ++i) {
        Shape by_token(o.tensor(tensors[i]));
        std::swap(by_token.size[1], by_token.size[2]);
        std::swap(by_token.stride[1], by_token.stride[2]);
        made.push_back({by_token, tensors[i], 0, {}});
        views.push_back({dense_shape(by_token), 5 + i, 0, {}});
    }
    made.insert(made.end(), views.begin(), views.end());
    return made;
}

// 3: inverse deviations, for a backward pass.
std::vector<Extra> one_statistic(const Operation &o) { return {two_statistics(o)[0]}; }

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

#define INFINI_COPY(from, to)                                                    \
    {                                                                            \
        "cnnlCopy", { handle(), tensor(from), data(from), tensor(to), data(to) } \
    }

#define INFINI_LOOK_UP(table, indices, out)                                                     \
    {                                                                                           \
        "cnnlEmbeddingForward_v2", {                                                            \
            handle(), tensor(table), data(table), tensor(indices), data(indices), constant(-1), \
                null(), null(), tensor(out), data(out)                                          \
        }                                                                                       \
    }

// c = sign * a * b + keep * c, where b repeats itself.
#define INFINI_MULTIPLY(sign, a, b, keep, c)                                                \
    {                                                                                       \
        "cnnlOpTensor",                                                                     \
            {handle(),         object(0), host_float(sign), tensor(a),   data(a),           \
             host_float(1),    tensor(b), data(b),          workspace(), workspace_bytes(), \
             host_float(keep), tensor(c), data(c)},                                         \
            "cnnlGetOpTensorWorkspaceSize", {                                               \
            handle(), tensor(a), tensor(b), tensor(c), bytes_out()                          \
        }                                                                                   \
    }

#define INFINI_PRODUCT                                                   \
    {                                                                    \
        "cnnlCreateOpTensorDescriptor", "cnnlDestroyOpTensorDescriptor", \
            "cnnlSetOpTensorDescriptor", {                               \
            enumerator("CNNL_OP_TENSOR_MUL"), constant(kFloatType),      \
                enumerator("CNNL_PROPAGATE_NAN")                         \
        }                                                                \
    }

#define INFINI_CAST(from, how, to)                                                    \
    {                                                                                 \
        "cnnlCastDataType", {                                                         \
            handle(), tensor(from), data(from), enumerator(how), tensor(to), data(to) \
        }                                                                             \
    }

// Products and sums of 16-bit numbers are rounded once, so they are computed in F32.
#define INFINI_NARROW_ROPE(condition, widen, narrow)                                               \
    {                                                                                              \
        "rope", {rotary, forward, condition},                                                      \
            {INFINI_LOOK_UP(4, 17, 5),                                                             \
             INFINI_LOOK_UP(3, 17, 6),                                                             \
             INFINI_COPY(11, 9),                                                                   \
             INFINI_COPY(12, 10),                                                                  \
             INFINI_CAST(7, widen, 18),                                                            \
             INFINI_CAST(8, widen, 19),                                                            \
             INFINI_CAST(9, widen, 20),                                                            \
             INFINI_CAST(10, widen, 21),                                                           \
             INFINI_MULTIPLY(1, 20, 18, 0, 22),                                                    \
             INFINI_MULTIPLY(-1, 21, 19, 1, 22),                                                   \
             INFINI_MULTIPLY(1, 20, 19, 0, 23),                                                    \
             INFINI_MULTIPLY(1, 21, 18, 1, 23),                                                    \
             INFINI_CAST(22, narrow, 13),                                                          \
             INFINI_CAST(23, narrow, 14),                                                          \
             INFINI_COPY(13, 15),                                                                  \
             INFINI_COPY(14, 16)},                                                                 \
            wide_rope_halves, kMedium, "that cnnlEmbeddingForward_v2 takes indices of I64", false, \
        {                                                                                          \
            INFINI_PRODUCT                                                                         \
        }                                                                                          \
    }

#define INFINI_ACTIVATION(operation, mode)                                                     \
    {                                                                                          \
        operation, {floats, forward},                                                          \
            {{"cnnlActivationForward",                                                         \
              {handle(), object(0), null(), tensor(1), data(1), null(), tensor(0), data(0)}}}, \
            nullptr, Confidence::kHigh, nullptr, false, {                                      \
            {                                                                                  \
                "cnnlCreateActivationDescriptor", "cnnlDestroyActivationDescriptor",           \
                    "cnnlSetActivationDescriptor_v5", {                                        \
                    enumerator(mode), enumerator("CNNL_ACTIVATION_HIGH_PRECISION"),            \
                        enumerator("CNNL_PROPAGATE_NAN"), number(0), constant(0), number(0),   \
                        number(0), constant(0)                                                 \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
    }

// Tensors by token, then back.
#define INFINI_ATTENTION(condition, mask)                                                       \
    {                                                                                           \
        "flash_attention", {plain_attention, forward, condition},                               \
            {INFINI_COPY(12, 16),                                                               \
             INFINI_COPY(13, 17),                                                               \
             INFINI_COPY(14, 18),                                                               \
             {"cnnlFlashAttentionForward",                                                      \
              {handle(),   object(0), tensor(5),  data(5),     tensor(6),                       \
               data(6),    tensor(7), data(7),    tensor(9),   data(9),                         \
               tensor(10), data(10),  null(),     workspace(), workspace_bytes(),               \
               null(),     null(),    tensor(11), data(11),    tensor(8),                       \
               data(8)},                                                                        \
              "cnnlGetFlashAttentionForwardWorkspaceSize",                                      \
              {handle(), object(0), tensor(5), tensor(6), tensor(7), bytes_out()}},             \
             INFINI_COPY(19, 15)},                                                              \
            packed_attention, kMedium, "which sizes of heads it takes", false, {                \
            {                                                                                   \
                "cnnlCreateFlashAttentionDescriptor", "cnnlDestroyFlashAttentionDescriptor",    \
                    "cnnlSetFlashAttentionDescriptor", {                                        \
                    constant(kFloatType), enumerator("CNNL_ACTIVATION_HIGH_PRECISION"),         \
                        enumerator(mask), constant(1), constant(0), constant(0), size_of(1, 2), \
                        size_of(2, 2), number(0), narrow(0)                                     \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    }

extern const OperatorRow kRows[] = {
    {"rms_norm",
     {floats, contiguous},
     {{"cnnlRmsNormForward",
       {handle(), last_dimension(0), tensor(1), data(1), tensor(2), data(2), null(), narrow(0),
        workspace(), workspace_bytes(), tensor(0), data(0), tensor(3), data(3)},
       "cnnlGetRmsNormOpWorkspaceSize",
       {handle(), last_dimension(0), tensor(1), bytes_out()}}},
     one_statistic,
     kMedium,
     "its parameters: one public caller"},
    INFINI_ACTIVATION("silu", "CNNL_ACTIVATION_SILU"),
    INFINI_ACTIVATION("relu", "CNNL_ACTIVATION_RELU"),
    INFINI_ACTIVATION("sigmoid", "CNNL_ACTIVATION_SIGMOID"),
    INFINI_ACTIVATION("tanh", "CNNL_ACTIVATION_TANH"),
    // cnnlRotaryEmbedding_v2 has flags that no public source explains: pairs are multiplied here.
    {"rope",
     {rotary, forward, in_f32},
     {INFINI_LOOK_UP(4, 17, 5), INFINI_LOOK_UP(3, 17, 6), INFINI_COPY(11, 9), INFINI_COPY(12, 10),
      INFINI_MULTIPLY(1, 9, 7, 0, 13), INFINI_MULTIPLY(-1, 10, 8, 1, 13),
      INFINI_MULTIPLY(1, 9, 8, 0, 14), INFINI_MULTIPLY(1, 10, 7, 1, 14), INFINI_COPY(13, 15),
      INFINI_COPY(14, 16)},
     rope_halves,
     kMedium,
     "that cnnlEmbeddingForward_v2 takes indices of I64",
     false,
     {INFINI_PRODUCT}},
    INFINI_NARROW_ROPE(in_f16, "CNNL_CAST_HALF_TO_FLOAT", "CNNL_CAST_FLOAT_TO_HALF"),
    INFINI_NARROW_ROPE(in_bf16, "CNNL_CAST_BFLOAT16_TO_FLOAT", "CNNL_CAST_FLOAT_TO_BFLOAT16"),
    INFINI_ATTENTION(unmasked, "CNNL_ATTN_MASK_NONE"),
    INFINI_ATTENTION(square_mask, "CNNL_ATTN_MASK_CAUSAL"),
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
       {handle(), enumerator("CNNL_MASKED_SOFTMAX_MASKED_FILL_NEG_INF"), constant(-1), number(1),
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

    // What no public source tells well enough, or what the library does not have.
    {"int8_gemm",
     {},
     {},
     nullptr,
     Confidence::kHigh,
     "as far as public sources tell, cnnlQuantizeBatchMatMul has one scale for a matrix, not one "
     "for each row and column; they do not have the parameters of cnnlMatMulInference_v2"},
    {"per_tensor_dequant_int8",
     {},
     {},
     nullptr,
     Confidence::kHigh,
     "no public source has the parameters of a function of CNNL for it"},
    {"paged_attention", {}, {}, nullptr, Confidence::kHigh, kNoPages},
    {"paged_attention_prefill", {}, {}, nullptr, Confidence::kHigh, kNoPages},
    {"paged_attention_varlen", {}, {}, nullptr, Confidence::kHigh, kNoPages},
    {"attention",
     {},
     {},
     nullptr,
     Confidence::kHigh,
     "no public source says to which corner the causal mask of cnnlFlashAttentionForward belongs "
     "where there are more keys than queries"},
    {"cumsum",
     {},
     {},
     nullptr,
     Confidence::kHigh,
     "the parameters of cnnlCumsum differ between versions of the library: some have a workspace"},
    {"index_select", {}, {}, nullptr, Confidence::kHigh, kNoIndex},
    {"gather", {}, {}, nullptr, Confidence::kHigh, kNoIndex},
    {"take", {}, {}, nullptr, Confidence::kHigh, kNoIndex},
};
extern const int kRowCount = int(std::size(kRows));

}  // namespace infini::vendor_runtime::cambricon
