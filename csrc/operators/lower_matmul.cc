// Composites of matrix products.
#include <algorithm>

#include "lowering.h"
#include "size_arithmetic.h"

namespace infini::op {
namespace {

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

// One product of the concatenated batches: summed in F32 (F64) and rounded once.
void lower_Addbmm(Lowering &lowering) {
    const View out = lowering.argument(0), input = lowering.argument(1);
    const View batch1 = lowering.argument(2), batch2 = lowering.argument(3);
    const double alpha = lowering.operation.number(0), beta = lowering.operation.number(1);
    if (out.numel() == 0) return;
    const View left = lowering.joined(batch1.transposed(0, 1), 1, 2);
    const View right = lowering.joined(batch2, 0, 2);
    if (beta != 0) lowering.step(Op::Rearrange, {out, input});
    lowering.step(Op::Gemm, {out, left, right}, {}, {alpha, beta});
}

// By squaring, in F32 (F64), rounded once at the end.
void lower_MatrixPower(Lowering &lowering) {
    const View y = lowering.argument(0);
    const int64_t n = y.size[0], power = lowering.operation.integer(0);
    if (n == 0) return;
    if (power == 0) {
        View diagonal = y;
        diagonal.ndim = 1, diagonal.stride[0] = plus(y.stride[0], y.stride[1]);
        lowering.step(Op::Fill, {y}, {0.0});
        return lowering.step(Op::Fill, {diagonal}, {1.0});
    }
    const int sum = sum_dtype(y.dtype);
    View square = lowering.argument(1), result;
    auto temporary = [&] { return lowering.temporary(sum, {n, n}); };
    square = lowering.converted(square, sum);
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

// y [a0, b0, a1, b1, ...] = x1 [a0, 1, a1, 1, ...] * x2 [1, b0, 1, b1, ...]. Tensors have at most
// Shape::kMost dimensions: the entries of the smallest ones beyond that are steps of their own.
void lower_Kron(Lowering &lowering) {
    const View y = lowering.argument(0), x1 = lowering.argument(1), x2 = lowering.argument(2);
    struct Dim {
        int64_t size, to, first, second;  // strides
    };
    std::vector<Dim> dims;
    for (int d = 0; d < y.ndim; ++d) {
        const int64_t outer = x1.size[d], inner = x2.size[d];
        if (y.size[d] != times(outer, inner))
            fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "kron: the output has another size");
        if (outer != 1) dims.push_back({outer, times(y.stride[d], inner), x1.stride[d], 0});
        if (inner != 1) dims.push_back({inner, y.stride[d], 0, x2.stride[d]});
    }
    if (y.numel() == 0) return;
    std::vector<Dim> apart;
    while (dims.size() > Shape::kMost) {
        const auto smallest = std::min_element(
            dims.begin(), dims.end(), [](const Dim &a, const Dim &b) { return a.size < b.size; });
        apart.push_back(*smallest);
        dims.erase(smallest);
    }
    int64_t count = 1;
    for (const Dim &dim : apart) count *= dim.size;
    for (int64_t entry = 0; entry < count; ++entry) {
        Lowering::Tensors views{y, x1, x2};
        for (View &view : views) {
            const int which = view.pointer;
            auto stride = [&](const Dim &dim) {
                return which == y.pointer ? dim.to : which == x1.pointer ? dim.first : dim.second;
            };
            int64_t rest = entry, at = 0;
            for (const Dim &dim : apart) at += rest % dim.size * stride(dim), rest /= dim.size;
            view.offset = at * int64_t(infiniSizeOf(infiniDtype_t(view.dtype)));
            view.ndim = int(dims.size());
            for (size_t i = 0; i < dims.size(); ++i)
                view.size[i] = dims[i].size, view.stride[i] = stride(dims[i]);
        }
        lowering.step(Op::Mul, views);
    }
}

}  // namespace infini::op
