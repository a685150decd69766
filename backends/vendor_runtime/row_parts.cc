#include "row_parts.h"

namespace infini::vendor_runtime {
namespace {

bool is_half(int dtype) { return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16; }

bool is_small_integer(int dtype) {
    return dtype == INFINI_DTYPE_I8 || dtype == INFINI_DTYPE_U8 || dtype == INFINI_DTYPE_I16;
}

// The operator's tensors that are present.
template <class Test>
bool all_tensors(const Operation &operation, const Test &test) {
    for (int i = 0; i < operation.tensor_count(); ++i)
        if (const Tensor tensor = operation.tensor(i); tensor && !test(tensor)) return false;
    return true;
}

bool have_type(const Operation &operation, bool (*test)(int)) {
    const int dtype = operation.tensor(0).dtype;
    return test(dtype) && all_tensors(operation, [&](const Tensor &t) { return t.dtype == dtype; });
}

bool goes_forward(const Operation &operation) {
    const Tensor out = operation.tensor(0);
    for (int i = 0; i < out.ndim; ++i)
        if (out.size(i) > 1 && out.stride(i) == 0) return false;
    return all_tensors(operation, [](const Tensor &t) {
        for (int i = 0; i < t.ndim; ++i)
            if (t.stride(i) < 0) return false;
        return true;
    });
}

bool is_sortable(const Operation &operation) {
    const int dtype = operation.tensor(0).dtype;
    return (is_float(dtype) || is_index(dtype) || is_small_integer(dtype)) &&
           operation.tensor(0).ndim > 0;
}

// Other conversions are undefined in the definition: NaN to an integer, and out-of-range values.
bool becomes_float(const Operation &operation) {
    const int from = operation.tensor(1).dtype;
    return is_float(operation.tensor(0).dtype) &&
           (is_float(from) || is_index(from) || is_small_integer(from));
}

bool is_position(int dtype) {
    return is_index(dtype) || dtype == INFINI_DTYPE_U32 || dtype == INFINI_DTYPE_U64;
}

bool is_rotary(const Operation &operation) {
    const Tensor y = operation.tensor(0);
    return is_float(y.dtype) && is_position(operation.tensor(2).dtype) &&
           (y.ndim == 3 || y.ndim == 4) && y.size(-1) % 2 == 0;
}

}  // namespace

bool is_float(int dtype) { return is_half(dtype) || dtype == INFINI_DTYPE_F32; }
bool is_index(int dtype) { return dtype == INFINI_DTYPE_I32 || dtype == INFINI_DTYPE_I64; }

int moved_type(int dtype) {
    switch (infiniSizeOf(infiniDtype_t(dtype))) {
        case 1:
            return INFINI_DTYPE_I8;
        case 2:
            return INFINI_DTYPE_I16;
        case 4:
            return INFINI_DTYPE_I32;
        case 8:
            return INFINI_DTYPE_I64;
        default:
            return 0;
    }
}

namespace when {
using O = Operation;
const Condition floats = {[](const O &o) { return have_type(o, is_float); },
                          "F16, BF16 or F32, the same in all tensors"};
const Condition halves = {[](const O &o) { return have_type(o, is_half); },
                          "F16 or BF16, the same in all tensors"};
const Condition contiguous = {
    [](const O &o) {
        return all_tensors(o, [](const Tensor &t) { return t.numel() == 0 || t.contiguous(); });
    },
    "contiguous tensors"};
const Condition forward = {goes_forward, "tensors without negative strides"};
const Condition lines = {[](const O &o) { return o.tensor(0).ndim > 0; }, "one dimension or more"};
const Condition movable = {[](const O &o) { return moved_type(o.tensor(0).dtype) != 0; },
                           "elements of 1, 2, 4 or 8 bytes"};
const Condition indices = {[](const O &o) { return is_index(o.tensor(1).dtype); },
                           "indices of I32 or I64"};
const Condition some_rows = {
    [](const O &o) { return o.tensor(2).numel() > 0 || o.tensor(0).numel() == 0; },
    "a table that has rows"};
const Condition sortable = {is_sortable,
                            "F16, BF16, F32, U8 and signed integers, of one dimension or more"};
const Condition wide_places = {[](const O &o) { return o.tensor(1).dtype == INFINI_DTYPE_I64; },
                               "places of I64"};
const Condition narrow_places = {[](const O &o) { return o.tensor(1).dtype == INFINI_DTYPE_I32; },
                                 "places of I32"};
const Condition no_statistics = {[](const O &o) { return !o.tensor(1) && !o.tensor(2); },
                                 "no outputs besides the first"};
const Condition to_float = {becomes_float, "casts to F16, BF16 and F32"};
const Condition rotary = {is_rotary, "F16, BF16 or F32, and positions of 32 or 64 bits"};
}  // namespace when

// ---- Tensors ------------------------------------------------------------------------------------

Shape dense_shape(Shape shape) {
    int64_t stride = 1;
    for (int i = shape.ndim - 1; i >= 0; --i) shape.stride[i] = stride, stride *= shape.size[i];
    return shape;
}

Shape dense_shape(int dtype, std::initializer_list<int64_t> sizes) {
    Shape shape;
    shape.dtype = dtype;
    shape.ndim = int(sizes.size());
    for (int i = 0; i < shape.ndim; ++i) shape.size[i] = sizes.begin()[i];
    return dense_shape(shape);
}

Extra rotary_positions(const Operation &operation) {
    const Tensor given = operation.tensor(2);
    return {dense_shape(moved_type(given.dtype), {given.numel()}), 2, 0, {}};
}

Extra causal_mask(int64_t rows, int64_t columns, int64_t shift) {
    Extra mask{dense_shape(INFINI_DTYPE_BOOL, {rows, columns}), -1, 0, {}};
    mask.content.resize(size_t(rows * columns));
    for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = y + shift + 1; x < columns; ++x)
            if (x >= 0) mask.content[size_t(y * columns + x)] = 1;
    return mask;
}

namespace extras {

std::vector<Extra> row_statistics(const Operation &operation) {
    Shape shape(operation.tensor(0));
    shape.dtype = INFINI_DTYPE_F32;
    shape.size[shape.ndim - 1] = 1;
    return {{dense_shape(shape), -1, 0, {}}};
}

std::vector<Extra> dense_copy(const Operation &operation) {
    return {{dense_shape(Shape(operation.tensor(0))), -1, 0, {}}};
}

std::vector<Extra> moved_elements(const Operation &operation) {
    Shape to(operation.tensor(0)), from(operation.tensor(1));
    to.dtype = from.dtype = moved_type(to.dtype);
    // Libraries broadcast dimensions of size 1 themselves.
    for (int i = 0; i < from.ndim; ++i)
        if (from.stride[i] == 0) from.size[i] = 1, from.stride[i] = 1;
    return {{to, 0, 0, {}}, {from, 1, 0, {}}};
}

std::vector<Extra> moved_rows(const Operation &operation) {
    Shape to(operation.tensor(0)), table(operation.tensor(2));
    to.dtype = table.dtype = moved_type(to.dtype);
    return {{to, 0, 0, {}}, {table, 2, 0, {}}};
}

std::vector<Extra> other_places(const Operation &operation) {
    Shape shape(operation.tensor(1));
    shape.dtype = shape.dtype == INFINI_DTYPE_I64 ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64;
    return {{dense_shape(shape), -1, 0, {}}};
}

}  // namespace extras
}  // namespace infini::vendor_runtime
