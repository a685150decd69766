#include "backends/ascend/operators.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::ascend {

namespace {

using namespace pieces;
using namespace when;

constexpr auto kMedium = Confidence::kMedium;
constexpr int64_t kUnlimited = 2147483647;
constexpr int64_t kRightDownCausal = 3, kNoSparsity = 0, kHighPrecision = 0;
constexpr int64_t kMaskSide = 2048;  // of the mask that the causal modes want

// ---- Conditions ---------------------------------------------------------------------------------

const Condition rope_types = {
    [](const Operation &o) {
        const Tensor y = o.tensor(0);
        return is_float(y.dtype) && is_index(o.tensor(2).dtype) && (y.ndim == 3 || y.ndim == 4) &&
               o.tensor(2).ndim == 1 && y.size(-1) % 2 == 0;
    },
    "F16, BF16 or F32, positions of I32 or I64, the same for the whole batch"};
const Condition no_lengths = {
    [](const Operation &o) { return !o.tensor(4); },
    "all keys: lengths in memory of the device are not known when it is called"};
const Condition attention_shape = {[](const Operation &o) {
                                       const Tensor q = o.tensor(1);
                                       return q.size(-1) % 16 == 0 && q.size(-1) <= 512;
                                   },
                                   "heads whose size is a multiple of 16, 512 at most"};
const Condition more_keys = {
    [](const Operation &o) { return o.tensor(2).size(2) >= o.tensor(1).size(2); },
    "as many keys as queries, or more"};
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

// ---- Tensors that rows add ----------------------------------------------------------------------

// 3: the gate, then what it lets through, in rows of twice the length; 4, 5: its halves.
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
// second elements of pairs; 11, 12: x and y with four dimensions; 13, 14: 5 and 6 that fit to them.
std::vector<Extra> rope_tables(const Operation &o) {
    const Tensor y = o.tensor(0);
    const int64_t tokens = y.size(-3), width = y.size(-1), half = width / 2;
    const bool pairs = o.integer(0) == 0;  // GPT-J: elements 2i and 2i + 1
    std::vector<Extra> made;
    for (int i = 0; i < 2; ++i) made.push_back({dense_shape(y.dtype, {tokens, width}), -1, 0, {}});
    for (int table : {5, 6})
        for (int which : {0, 1}) {
            Shape part = dense_shape(y.dtype, {tokens, half});
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
        made.push_back({dense_shape(y.dtype, {1, tokens, 1, width}), table, 0, {}});
    return made;
}

std::vector<Extra> attention_mask(const Operation &) {
    return {causal_mask(kMaskSide, kMaskSide, 0)};
}

// 6, 7: where keys and values go; 8 .. 10: queries, and all keys and values so far, as a batch of
// one; 11: the result as the library orders it; 12: the mask.
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

// The softmax of rows of which the mask hides the end.
std::vector<Extra> softmax_mask(const Operation &o) {
    const Tensor y = o.tensor(0);
    std::vector<Extra> made = extras::dense_copy(o);
    made.push_back(causal_mask(y.size(-2), y.size(-1), y.size(-1) - y.size(-2)));
    return made;
}

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
    {"rope",
     {rope_types, forward, neox},
     {{"aclnnEmbedding", {tensor(4), tensor(2), tensor(7)}},
      {"aclnnEmbedding", {tensor(4), tensor(2), tensor(8)}},
      {"aclnnEmbedding", {tensor(3), tensor(2), tensor(9)}},
      {"aclnnEmbedding", {tensor(3), tensor(2), tensor(10)}},
      {"aclnnRotaryPositionEmbedding",
       {tensor(11), tensor(13), tensor(14), constant(0), tensor(12)}}},
     rope_tables,
     kMedium,
     "its modes: 0 for halves, 1 for pairs"},
    {"rope",
     {rope_types, forward, gptj},
     {{"aclnnEmbedding", {tensor(4), tensor(2), tensor(7)}},
      {"aclnnEmbedding", {tensor(4), tensor(2), tensor(8)}},
      {"aclnnEmbedding", {tensor(3), tensor(2), tensor(9)}},
      {"aclnnEmbedding", {tensor(3), tensor(2), tensor(10)}},
      {"aclnnRotaryPositionEmbedding",
       {tensor(11), tensor(13), tensor(14), constant(1), tensor(12)}}},
     rope_tables,
     kMedium,
     "its modes: 0 for halves, 1 for pairs"},
    {"embedding",
     {movable, indices, forward},
     {{"aclnnEmbedding", {tensor(4), tensor(1), tensor(3)}}},
     extras::moved_rows,
     Confidence::kHigh,
     nullptr,
     true},
    {"flash_attention",
     {halves_of_queries, forward, no_lengths, attention_shape, more_keys, causal},
     {INFINI_FLASH(1, 2, 3, tensor(5), 1, 2, real(0), kRightDownCausal, 0)},
     attention_mask},
    {"flash_attention",
     {halves_of_queries, forward, no_lengths, attention_shape, not_causal},
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
