#include "backends/cambricon/row_shapes.h"

#include "backends/vendor_runtime/row_parts.h"

namespace infini::vendor_runtime::cambricon {
namespace {

// Half of [B, T, H, D], where B may be missing: every `step`-th element, or contiguous ones.
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

// The starts of sequences of equal length, as I32.
Extra equal_bounds(int64_t batch, int64_t length) {
    std::vector<int32_t> bounds;
    for (int64_t i = 0; i <= batch; ++i) bounds.push_back(int32_t(i * length));
    Extra made{dense_shape(INFINI_DTYPE_I32, {batch + 1}), -1, 0, {}};
    const auto *bytes = reinterpret_cast<const char *>(bounds.data());
    made.content.assign(bytes, bytes + bounds.size() * sizeof(int32_t));
    return made;
}

}  // namespace

std::vector<Extra> three_dimensions(const Operation &o) {
    const Tensor y = o.tensor(0);
    const int axis = int(o.integer(0) < 0 ? o.integer(0) + y.ndim : o.integer(0));
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= y.size(i);
    for (int i = axis + 1; i < y.ndim; ++i) inner *= y.size(i);
    const Shape shape = dense_shape(y.dtype, {outer, y.size(axis), inner});
    return {{shape, 1, 0, {}}, {shape, 0, 0, {}}};
}

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

std::vector<Extra> two_statistics(const Operation &o) {
    Shape shape(o.tensor(0));
    if (--shape.ndim == 0) shape.ndim = 1, shape.size[0] = 1;
    shape = dense_shape(shape);
    return {{shape, -1, 0, {}}, {shape, -1, 0, {}}};
}

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

std::vector<Extra> wide_rope_halves(const Operation &o) {
    std::vector<Extra> made = rope_halves(o);
    for (int i : {7, 8, 9, 10, 13, 14}) {
        Shape shape = made[size_t(i - 5)].shape;
        shape.dtype = INFINI_DTYPE_F32;
        made.push_back({shape, -1, 0, {}});
    }
    return made;
}

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

std::vector<Extra> one_statistic(const Operation &o) { return {two_statistics(o)[0]}; }

}  // namespace infini::vendor_runtime::cambricon
