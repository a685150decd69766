// Composites of matrix products.
#include "lowering.h"
#include "size_arithmetic.h"

namespace infini::op {
namespace {

// What sums are kept in: F64 for F64, else F32.
int sum_dtype(int dtype) { return dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32; }

void product(Lowering &lowering, const View &c, const View &a, const View &b) {
    lowering.step(Op::Gemm, {c, a, b}, {}, {1, 0});
}

}  // namespace

void lower_Inner(Lowering &lowering) {
    const View out = lowering.argument(0), x = lowering.argument(1), y = lowering.argument(2);
    const int rows = x.ndim - 1, columns = y.ndim - 1;
    for (int i = 0; i < out.ndim; ++i)
        if (out.size[i] != (i < rows ? x.size[i] : y.size[i - rows]))
            fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
                 "inner: the sizes of the output are those of both inputs without the last");
    if (out.numel() == 0) return;
    auto as_matrix = [&](const View &view) {
        auto joined = view.joined(0, rows);
        return joined ? joined->joined(1, columns) : joined;
    };
    const View left = lowering.joined(x, 0, rows);
    const View right = lowering.joined(y, 0, columns).transposed(0, 1);
    if (auto matrix = as_matrix(out)) return product(lowering, *matrix, left, right);
    const View dense = lowering.temporary(out.dtype, {out.size, out.size + out.ndim});
    product(lowering, *as_matrix(dense), left, right);
    lowering.step(Op::Rearrange, {out, dense});
}

// By squaring, in F32 (F64), rounded once at the end.
void lower_MatrixPower(Lowering &lowering) {
    const View y = lowering.argument(0);
    const int64_t n = y.size[0], power = lowering.operation.integer(0);
    if (n == 0) return;
    if (power == 0) {
        View diagonal = y;
        diagonal.ndim = 1, diagonal.stride[0] = plus(y.stride[0], y.stride[1]);
        lowering.step(Op::Fill, {y}, {0});
        return lowering.step(Op::Fill, {diagonal}, {1});
    }
    const int sum = sum_dtype(y.dtype);
    View square = lowering.argument(1), result;
    auto temporary = [&] { return lowering.temporary(sum, {n, n}); };
    if (square.dtype != sum) {
        const View wide = temporary();
        lowering.step(Op::Cast, {wide, square});
        square = wide;
    }
    std::vector<View> spare;  // not in use
    auto multiply = [&](const View &by, bool last) {
        View made = y;
        if (!last || y.dtype != sum) {
            if (spare.empty()) spare.push_back(temporary());
            made = spare.back(), spare.pop_back();
        }
        product(lowering, made, by, square);
        return made;
    };
    auto release = [&](const View &view) {
        if (view.pointer == View::kWorkspace) spare.push_back(view);
    };
    for (int64_t left = power;; left >>= 1) {
        if (left & 1) {
            const View before = result;
            result = before ? multiply(before, left == 1) : square;
            release(before);
        }
        if (left == 1) break;
        const View before = square;
        square = multiply(square, left == 2 && !result);
        if (result.pointer != before.pointer || result.offset != before.offset) release(before);
    }
    if (result.pointer != y.pointer) lowering.step(Op::Cast, {y, result});
}

}  // namespace infini::op
