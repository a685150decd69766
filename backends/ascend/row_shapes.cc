#include "backends/ascend/row_shapes.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::ascend {
namespace {

constexpr int64_t kMaskSide = 2048;  // of the mask that the causal modes want

// 3, 4: result and source as integers; 5: the indices, of which those that name nothing became
// others; 6: which ones that are, 7: the same, as the result wants it.
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

}  // namespace

std::vector<Extra> side_by_side(const Operation &o) {
    Shape both(o.tensor(0));
    const int64_t length = both.size[both.ndim - 1];
    both.size[both.ndim - 1] = 2 * length;
    both = dense_shape(both);
    Shape half = both;
    half.size[half.ndim - 1] = length;
    return {{both, -1, 0, {}}, {half, 3, 0, {}}, {half, 3, length, {}}};
}

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

std::vector<Extra> softmax_mask(const Operation &o) {
    const Tensor y = o.tensor(0);
    std::vector<Extra> made = extras::dense_copy(o);
    made.push_back(causal_mask(y.size(-2), y.size(-1), y.size(-1) - y.size(-2)));
    return made;
}

std::vector<Extra> scale_lines(const Operation &o) {
    return {{dense_shape(INFINI_DTYPE_F32, {o.tensor(3).numel()}), 3, 0, {}},
            {dense_shape(INFINI_DTYPE_F32, {o.tensor(5).numel()}), 5, 0, {}}};
}

std::vector<Extra> wide_numbers(const Operation &o) {
    Shape wide = dense_shape(Shape(o.tensor(0)));
    wide.dtype = INFINI_DTYPE_F32;
    return {{wide, -1, 0, {}}, {dense_shape(INFINI_DTYPE_F32, {}), 2, 0, {}}};
}

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

}  // namespace infini::vendor_runtime::ascend
