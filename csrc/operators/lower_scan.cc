// Composites along one dimension.
#include <algorithm>

#include "lowering.h"

namespace infini::op {

// Repeated differences, in F32 (F64) until the last one.
void lower_Diff(Lowering &lowering) {
    const View y = lowering.argument(0);
    View x = lowering.argument(1);
    const int64_t given = lowering.operation.integer(0), n = lowering.operation.integer(1);
    const int dim = int(given < 0 ? given + x.ndim : given);
    for (int d = 0; d < y.ndim; ++d)
        if (y.size[d] != (d == dim ? std::max<int64_t>(x.size[d] - n, 0) : x.size[d]))
            fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "diff: the output has another size");
    if (y.numel() == 0) return;
    if (n == 0) return lowering.step(Op::Rearrange, {y, x});
    View spare[2] = {x, x};
    if (n > 1) {
        x = lowering.converted(x, sum_dtype(x.dtype));
        std::vector<int64_t> sizes(x.size, x.size + x.ndim);
        --sizes[size_t(dim)];
        for (View &view : spare) view = lowering.temporary(x.dtype, sizes);
    }
    for (int64_t i = 1; i <= n; ++i) {
        const int64_t count = x.size[dim] - 1;
        const bool last = i == n && x.dtype == y.dtype;
        const View to = last ? y : spare[i % 2].sliced(dim, 0, count);
        lowering.step(Op::Sub, {to, x.sliced(dim, 1, count), x.sliced(dim, 0, count)});
        x = to;
    }
    if (x.pointer != y.pointer) lowering.step(Op::Cast, {y, x});
}

// Running products of the input, repeated.
void lower_Vander(Lowering &lowering) {
    View y = lowering.argument(0), x = lowering.argument(1);
    if (y.numel() == 0) return;
    const int64_t columns = y.size[1];
    if (lowering.operation.integer(1) <= 0) y = y.flipped(1);
    lowering.step(Op::Fill, {y.sliced(1, 0, 1)}, {1.0});
    if (columns == 1) return;
    x = x.expanded(1);
    x.size[1] = columns - 1, x.stride[1] = 0;
    lowering.step(Op::CumProd, {y.sliced(1, 1, columns - 1), x}, {int64_t(1)});
}

}  // namespace infini::op
