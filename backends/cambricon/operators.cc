#include "backends/cambricon/operators.h"

#include "backends/cambricon/row_shapes.h"
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
// No public source documents to which corner the mask is aligned if these differ.
const Condition square_mask = {[](const Operation &o) {
                                   return o.integer(1) != 0 &&
                                          o.tensor(1).size(2) == o.tensor(2).size(2);
                               },
                               "a causal mask for as many queries as keys"};

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

// c = sign * a * b + keep * c, where b is broadcast.
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
    // cnnlRotaryEmbedding_v2 has undocumented flags, so pairs are multiplied here.
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
     {movable, indices, contiguous, some_rows},
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

    // Operators that are insufficiently documented, or missing in the library.
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
};
extern const int kRowCount = int(std::size(kRows));

}  // namespace infini::vendor_runtime::cambricon
