#include "backends/ascend/operators.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::ascend {
namespace {

constexpr int64_t kMaskSide = 2048;  // size of the mask that the causal modes require

// 3, 4: result and source as integers; 5: the indices, with invalid ones replaced; 6: a mask of
// those, 7: the same in the shape of the result.
std::vector<Extra> picked(Shape out, Shape in, const Shape &index, const Shape &mask) {
    out.dtype = in.dtype = moved_type(out.dtype);
    Shape wrong = dense_shape(index);
    wrong.dtype = INFINI_DTYPE_BOOL;
    return {{out, 0, 0, {}},
            {in, 1, 0, {}},
            {dense_shape(index), -1, 0, {}},
            {wrong, -1, 0, {}},
            {mask, 6, 0, {}}};
}

// 3: gate and up values in rows of twice the length; 4, 5: the halves.
std::vector<Extra> side_by_side(const Operation &o) {
    Shape both(o.tensor(0));
    const int64_t length = both.size[both.ndim - 1];
    both.size[both.ndim - 1] = 2 * length;
    both = dense_shape(both);
    Shape half = both;
    half.size[half.ndim - 1] = length;
    return {{both, -1, 0, {}}, {half, 3, 0, {}}, {half, 3, length, {}}};
}

// 5, 6: cosines and sines of all elements of a head, by token; 7 .. 10: those of the first and the
// second elements of pairs; 11, 12: x and y with four dimensions; 13, 14: 5 and 6 in a matching
// shape; 15: positions.
std::vector<Extra> rope_tables(const Operation &o) {
    const Tensor y = o.tensor(0);
    const int64_t tokens = y.size(-3), width = y.size(-1), half = width / 2;
    const int64_t rows = o.tensor(2).numel(), batch = o.tensor(2).ndim == 1 ? 1 : y.size(0);
    const bool pairs = o.integer(0) == 0;  // GPT-J: elements 2i and 2i + 1
    std::vector<Extra> made;
    for (int i = 0; i < 2; ++i) made.push_back({dense_shape(y.dtype, {rows, width}), -1, 0, {}});
    for (int table : {5, 6})
        for (int which : {0, 1}) {
            Shape part = dense_shape(y.dtype, {rows, half});
            part.stride[0] = width;
            part.stride[1] = pairs ? 2 : 1;
            made.push_back({part, table, which * (pairs ? 1 : half), {}});
        }
    for (int i : {1, 0}) {
        Shape four(o.tensor(i));
        if (four.ndim == 3) {
            for (int d = 3; d > 0; --d)
                four.size[d] = four.size[d - 1], four.stride[d] = four.stride[d - 1];
            four.ndim = 4;
            four.size[0] = 1;
            four.stride[0] = four.size[1] * four.stride[1];
        }
        made.push_back({four, i, 0, {}});
    }
    for (int table : {5, 6})
        made.push_back({dense_shape(y.dtype, {batch, tokens, 1, width}), table, 0, {}});
    made.push_back(rotary_positions(o));
    return made;
}

std::vector<Extra> attention_mask(const Operation &) {
    return {causal_mask(kMaskSide, kMaskSide, 0)};
}

// 6, 7: where keys and values go; 8 .. 10: queries, and all keys and values so far, as a batch of
// one; 11: the result in the library's layout; 12: the mask.
std::vector<Extra> cache_views(const Operation &o) {
    const int64_t pos = o.integer(0), count = o.tensor(1).size(1), end = pos + count;
    std::vector<Extra> made;
    for (int cache : {4, 5}) {
        Shape rows(o.tensor(cache));
        rows.size[1] = count;
        made.push_back({rows, cache, pos * rows.stride[1], {}});
    }
    auto batch = [](const Tensor &t, int64_t length) {
        Shape four;
        four.dtype = t.dtype;
        four.ndim = 4;
        four.size[0] = 1, four.stride[0] = t.size(0) * t.stride(0);
        for (int i = 0; i < 3; ++i) four.size[i + 1] = t.size(i), four.stride[i + 1] = t.stride(i);
        four.size[2] = length;
        return four;
    };
    made.push_back({batch(o.tensor(1), count), 1, 0, {}});
    made.push_back({batch(o.tensor(4), end), 4, 0, {}});
    made.push_back({batch(o.tensor(5), end), 5, 0, {}});
    Shape out = batch(o.tensor(0), o.tensor(0).size(1));  // [1, S, H, D], seen as [1, H, S, D]
    std::swap(out.size[1], out.size[2]);
    std::swap(out.stride[1], out.stride[2]);
    out.size[1] = o.tensor(0).size(1), out.size[2] = o.tensor(0).size(0);
    made.push_back({out, 0, 0, {}});
    made.push_back(causal_mask(kMaskSide, kMaskSide, 0));
    return made;
}

// The softmax of rows whose ends are masked.
std::vector<Extra> softmax_mask(const Operation &o) {
    const Tensor y = o.tensor(0);
    std::vector<Extra> made = extras::dense_copy(o);
    made.push_back(causal_mask(y.size(-2), y.size(-1), y.size(-1) - y.size(-2)));
    return made;
}

// 6, 7: scales of rows and of columns, as lines.
std::vector<Extra> scale_lines(const Operation &o) {
    return {{dense_shape(INFINI_DTYPE_F32, {o.tensor(3).numel()}), 3, 0, {}},
            {dense_shape(INFINI_DTYPE_F32, {o.tensor(5).numel()}), 5, 0, {}}};
}

// 4: numbers before they are rounded; 5: the scale without dimensions.
std::vector<Extra> wide_numbers(const Operation &o) {
    Shape wide = dense_shape(Shape(o.tensor(0)));
    wide.dtype = INFINI_DTYPE_F32;
    return {{wide, -1, 0, {}}, {dense_shape(INFINI_DTYPE_F32, {}), 2, 0, {}}};
}

// 2, 3: result and source as lines.
std::vector<Extra> as_lines(const Operation &o) {
    return {{dense_shape(INFINI_DTYPE_I64, {1}), 0, 0, {}},
            {dense_shape(o.tensor(1).dtype, {o.tensor(1).numel()}), 1, 0, {}}};
}

std::vector<Extra> picked_slices(const Operation &o) {
    const Shape out(o.tensor(0));
    const int dim = int(o.integer(0) < 0 ? o.integer(0) + out.ndim : o.integer(0));
    Shape mask = out;
    mask.dtype = INFINI_DTYPE_BOOL;
    for (int i = 0; i < mask.ndim; ++i)
        if (i != dim) mask.size[i] = 1;
    return picked(out, o.tensor(1), o.tensor(2), dense_shape(mask));
}

std::vector<Extra> picked_elements(const Operation &o) {
    Shape mask = dense_shape(Shape(o.tensor(2)));
    mask.dtype = INFINI_DTYPE_BOOL;
    return picked(o.tensor(0), o.tensor(1), o.tensor(2), mask);
}

using namespace pieces;
using namespace when;

constexpr auto kMedium = Confidence::kMedium;
constexpr int64_t kUnlimited = 2147483647;
constexpr int64_t kRightDownCausal = 3, kNoSparsity = 0, kHighPrecision = 0;

// ---- Conditions ---------------------------------------------------------------------------------

const Condition attention_shape = {[](const Operation &o) {
                                       const Tensor q = o.tensor(1);
                                       return q.size(-1) % 16 == 0 && q.size(-1) <= 512;
                                   },
                                   "heads whose size is a multiple of 16, 512 at most"};
const Condition causal = {[](const Operation &o) { return o.integer(1) != 0; }, "a causal mask"};
const Condition not_causal = {[](const Operation &o) { return o.integer(1) == 0; }, "no mask"};
const Condition halves_of_queries = {[](const Operation &o) {
                                         const int dtype = o.tensor(0).dtype;
                                         return dtype == INFINI_DTYPE_F16 ||
                                                dtype == INFINI_DTYPE_BF16;
                                     },
                                     "F16 or BF16"};
const Condition neox = {[](const Operation &o) { return o.integer(0) == 1; }, "pairs of halves"};
const Condition gptj = {[](const Operation &o) { return o.integer(0) == 0; },
                        "neighbours as pairs"};

const Condition one_dimension = {[](const Operation &o) {
                                     return is_float(o.tensor(1).dtype) && o.tensor(1).ndim > 0 &&
                                            o.count(0) <= 1;
                                 },
                                 "F16, BF16 or F32, along one dimension"};
const Condition all_dimensions = {
    [](const Operation &o) {
        const Tensor x = o.tensor(1);
        return is_float(x.dtype) && x.contiguous() && int(o.count(0)) == x.ndim;
    },
    "F16, BF16 or F32, along one dimension or of all elements of a contiguous tensor"};
// Elements are only copied, so their type does not matter.
const Condition some_source = {
    [](const Operation &o) { return o.tensor(1).numel() > 0 || o.tensor(0).numel() == 0; },
    "a source that has elements"};
const Condition pick_indices = {[](const Operation &o) { return is_index(o.tensor(2).dtype); },
                                "indices of I32 or I64"};
const Condition one_element = {[](const Operation &o) { return o.tensor(0).ndim == 0; },
                               "no dimensions"};
const Condition sums = {[](const Operation &o) {
                            const int in = o.tensor(1).dtype, out = o.tensor(0).dtype;
                            return in == out && (is_float(in) || in == INFINI_DTYPE_I64);
                        },
                        "F16, BF16, F32 or I64"};

const Condition int8_shape = {[](const Operation &o) {
                                  const int64_t k = o.tensor(2).size(1), n = o.tensor(0).size(1);
                                  return k <= 65535 && n <= 65535 && (k > 0 || n == 0);
                              },
                              "rows and columns of 1 to 65535 elements"};
const Condition no_zero_point = {[](const Operation &o) { return !o.tensor(3); }, "no zero point"};

}  // namespace

// ---- The rows -----------------------------------------------------------------------------------

#define INFINI_FLASH(q, k, v, mask, heads_of, kv_of, scale, mode, out)                             \
    {                                                                                              \
        "aclnnPromptFlashAttentionV3", {                                                           \
            tensor(q), tensor(k), tensor(v), null(), mask, null(), null(), null(), null(), null(), \
                null(), null(), heads(heads_of), scale, constant(kUnlimited),                      \
                constant(kUnlimited), text("BNSD"), heads(kv_of), constant(mode),                  \
                constant(kHighPrecision), tensor(out)                                              \
        }                                                                                          \
    }

#define INFINI_ROPE(pairing, mode)                                         \
    {"rope",                                                               \
     {rotary, forward, pairing},                                           \
     {{"aclnnEmbedding", {tensor(4), tensor(15), tensor(7)}},              \
      {"aclnnEmbedding", {tensor(4), tensor(15), tensor(8)}},              \
      {"aclnnEmbedding", {tensor(3), tensor(15), tensor(9)}},              \
      {"aclnnEmbedding", {tensor(3), tensor(15), tensor(10)}},             \
      {"aclnnRotaryPositionEmbedding",                                     \
       {tensor(11), tensor(13), tensor(14), constant(mode), tensor(12)}}}, \
     rope_tables,                                                          \
     kMedium,                                                              \
     "its modes: 0 for halves, 1 for pairs"}

// Elements at the indices, and zeros for invalid ones: the library would read out of bounds there,
// so it gets replaced indices.
#define INFINI_PICK(function)                                               \
    {"aclnnClamp", {tensor(2), whole(0), last_index(4, 0), tensor(5)}},     \
        {"aclnnNeTensor", {tensor(2), tensor(5), tensor(6)}},               \
        {function, {tensor(4), dimension(0), tensor(5), tensor(3)}}, {      \
        "aclnnInplaceMaskedFillScalar", { tensor(3), tensor(7), scalar(0) } \
    }

extern const OperatorRow kRows[] = {
    {"rms_norm",
     {floats, forward},
     {{"aclnnRmsNorm", {tensor(1), tensor(2), real(0), tensor(0), tensor(3)}}},
     extras::row_statistics},
    {"add_rms_norm",
     {floats, forward},
     {{"aclnnAddRmsNorm",
       {tensor(2), tensor(3), tensor(4), real(0), tensor(0), tensor(5), tensor(1)}}},
     extras::row_statistics,
     kMedium,
     "that outputs may be the inputs"},
    {"layer_norm",
     {floats, forward, no_statistics},
     {{"aclnnLayerNorm",
       {tensor(3), last_sizes(3), tensor(4), tensor(5), real(0), tensor(0), null(), null()}}}},
    {"softmax", {floats, forward, lines}, {{"aclnnSoftmax", {tensor(1), dimension(0), tensor(0)}}}},
    {"log_softmax",
     {floats, forward, lines},
     {{"aclnnLogSoftmax", {tensor(1), dimension(0), tensor(0)}}}},
    {"causal_softmax",
     {floats, forward},
     {{"aclnnInplaceCopy", {tensor(2), tensor(1)}},
      {"aclnnInplaceMaskedFillScalar", {tensor(2), tensor(3), scalar(-1.0 / 0.0)}},
      {"aclnnSoftmax", {tensor(2), constant(-1), tensor(0)}}},
     softmax_mask},
    {"silu", {floats, forward}, {{"aclnnSilu", {tensor(1), tensor(0)}}}},
    {"relu", {floats, forward}, {{"aclnnRelu", {tensor(1), tensor(0)}}}},
    {"sigmoid", {floats, forward}, {{"aclnnSigmoid", {tensor(1), tensor(0)}}}},
    {"tanh", {floats, forward}, {{"aclnnTanh", {tensor(1), tensor(0)}}}},
    {"gelu", {floats, forward}, {{"aclnnGeluV2", {tensor(1), constant(0), tensor(0)}}}},
    {"gelutanh", {floats, forward}, {{"aclnnGeluV2", {tensor(1), constant(1), tensor(0)}}}},
    {"silu_and_mul", {floats, forward}, {{"aclnnSwiGlu", {tensor(1), constant(-1), tensor(0)}}}},
    {"swiglu",
     {floats, forward, lines},
     {{"aclnnInplaceCopy", {tensor(4), tensor(2)}},
      {"aclnnInplaceCopy", {tensor(5), tensor(1)}},
      {"aclnnSwiGlu", {tensor(3), constant(-1), tensor(0)}}},
     side_by_side},
    INFINI_ROPE(neox, 0),
    INFINI_ROPE(gptj, 1),
    {"embedding",
     {movable, indices, forward, some_rows},
     {{"aclnnEmbedding", {tensor(4), tensor(1), tensor(3)}}},
     extras::moved_rows,
     Confidence::kHigh,
     nullptr,
     true},
    {"flash_attention",
     {halves_of_queries, forward, attention_shape, causal},
     {INFINI_FLASH(1, 2, 3, tensor(5), 1, 2, real(0), kRightDownCausal, 0)},
     attention_mask},
    {"flash_attention",
     {halves_of_queries, forward, attention_shape, not_causal},
     {INFINI_FLASH(1, 2, 3, null(), 1, 2, real(0), kNoSparsity, 0)}},
    {"attention",
     {halves, forward, attention_shape},
     {{"aclnnInplaceCopy", {tensor(6), tensor(2)}},
      {"aclnnInplaceCopy", {tensor(7), tensor(3)}},
      INFINI_FLASH(8, 9, 10, tensor(12), 8, 9, inverse_root(1), kRightDownCausal, 11)},
     cache_views},
    {"sort",
     {sortable, wide_places, forward},
     {{"aclnnSort", {tensor(2), constant(1), dimension(0), integer(1), tensor(0), tensor(1)}}}},
    {"topk",
     {sortable, wide_places, forward},
     {{"aclnnTopk",
       {tensor(2), integer(0), integer(1), integer(2), integer(3), tensor(0), tensor(1)}}}},
    {"topk",
     {sortable, narrow_places, forward},
     {{"aclnnTopk",
       {tensor(2), integer(0), integer(1), integer(2), integer(3), tensor(0), tensor(3)}},
      {"aclnnCast", {tensor(3), type(1), tensor(1)}}},
     extras::other_places},
    {"int8_gemm",
     {forward, int8_shape},
     {{"aclnnQuantMatmulV4",
       {tensor(2), tensor(4), tensor(7), null(), tensor(6), tensor(1), constant(0), constant(0),
        tensor(0)}}},
     scale_lines},
    {"per_tensor_dequant_int8",
     {no_zero_point, forward},
     {{"aclnnCast", {tensor(1), type(4), tensor(4)}},
      {"aclnnMul", {tensor(4), tensor(5), tensor(4)}},
      {"aclnnCast", {tensor(4), type(0), tensor(0)}}},
     wide_numbers},
    {"argmax",
     {one_dimension, forward},
     {{"aclnnArgMax", {tensor(1), listed(0), integer(2), tensor(0)}}},
     nullptr,
     kMedium,
     "that the first of equal elements counts"},
    {"argmax",
     {all_dimensions},
     {{"aclnnArgMax", {tensor(3), constant(0), constant(1), tensor(2)}}},
     as_lines,
     kMedium,
     "that the first of equal elements counts"},
    {"argmin",
     {one_dimension, forward},
     {{"aclnnArgMin", {tensor(1), listed(0), integer(2), tensor(0)}}},
     nullptr,
     kMedium,
     "that the first of equal elements counts"},
    {"argmin",
     {all_dimensions},
     {{"aclnnArgMin", {tensor(3), constant(0), constant(1), tensor(2)}}},
     as_lines,
     kMedium,
     "that the first of equal elements counts"},
    {"index_select",
     {movable, pick_indices, forward, lines, some_source},
     {INFINI_PICK("aclnnIndexSelect")},
     picked_slices},
    {"gather",
     {movable, pick_indices, forward, lines, some_source},
     {INFINI_PICK("aclnnGather")},
     picked_elements},
    {"cumsum", {sums, one_element}, {{"aclnnInplaceCopy", {tensor(0), tensor(1)}}}},
    {"cumsum",
     {sums, forward, lines},
     {{"aclnnCumsum", {tensor(1), dimension(0), type(0), tensor(0)}}}},
    {"cast", {to_float, forward}, {{"aclnnCast", {tensor(1), type(0), tensor(0)}}}},
    {"rearrange",
     {movable, forward},
     {{"aclnnInplaceCopy", {tensor(2), tensor(3)}}},
     extras::moved_elements,
     Confidence::kHigh,
     nullptr,
     true},
};
extern const int kRowCount = int(std::size(kRows));

}  // namespace infini::vendor_runtime::ascend
