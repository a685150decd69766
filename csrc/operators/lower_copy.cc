// Composites that only move elements: copies between views of the input and of the output.
#include "lowering.h"
#include "size_arithmetic.h"

namespace infini::op {
namespace {

// The dimension that entry `i` of the attribute `dim` names.
int dimension(const Operation &operation, int attribute, size_t i, int rank) {
    const int64_t given = operation.list(attribute)[i], dim = given < 0 ? given + rank : given;
    if (dim < 0 || dim >= rank)
        fail(INFINI_STATUS_BAD_PARAM, "%s: dim[%zu] is %lld of %d dimensions", operation.name(), i,
             static_cast<long long>(given), rank);
    return int(dim);
}

}  // namespace

void lower_BroadcastTo(Lowering &lowering) {
    const View y = lowering.argument(0), x = lowering.argument(1);
    View from = y;
    from.pointer = x.pointer;
    for (int i = 0; i < y.ndim; ++i) {
        const int at = i - (y.ndim - x.ndim);
        from.stride[i] = at < 0 || x.size[at] != y.size[i] ? 0 : x.stride[at];
    }
    lowering.step(Op::Rearrange, {y, from});
}

void lower_Flipud(Lowering &lowering) {
    lowering.step(Op::Rearrange, {lowering.argument(0), lowering.argument(1).flipped(0)});
}

void lower_Flip(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    View x = lowering.argument(1);
    if (!operation.list(0) && operation.integer(1) != 0)
        fail(INFINI_STATUS_NULL_POINTER, "flip: dim has to be given");
    bool seen[Shape::kMost] = {};
    for (size_t i = 0; i < operation.count(0); ++i) {
        const int dim = dimension(operation, 0, i, x.ndim);
        if (seen[dim]) fail(INFINI_STATUS_BAD_PARAM, "flip: a dimension is listed twice");
        seen[dim] = true;
        x = x.flipped(dim);
    }
    lowering.step(Op::Rearrange, {lowering.argument(0), x});
}

// Every dimension that moves has two parts, so there are 2^k copies for k of them.
void lower_Roll(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    const View y = lowering.argument(0), x = lowering.argument(1);
    if ((!operation.list(0) || !operation.list(1)) && operation.integer(2) != 0)
        fail(INFINI_STATUS_NULL_POINTER, "roll: shifts and dim have to be given");
    int64_t by[Shape::kMost] = {};
    for (size_t i = 0; i < operation.count(1); ++i) {
        const int dim = dimension(operation, 1, i, x.ndim);
        const int64_t size = x.size[dim];
        if (size > 0) by[dim] = ((by[dim] + operation.list(0)[i] % size) % size + size) % size;
    }
    struct Part {
        View to, from;
    };
    std::vector<Part> parts{{y, x}};
    for (int d = 0; d < x.ndim; ++d) {
        if (by[d] == 0) continue;
        const int64_t kept = x.size[d] - by[d];
        for (size_t i = 0, count = parts.size(); i < count; ++i) {
            const Part part = parts[i];
            parts[i] = {part.to.sliced(d, by[d], kept), part.from.sliced(d, 0, kept)};
            parts.push_back({part.to.sliced(d, 0, by[d]), part.from.sliced(d, kept, by[d])});
        }
    }
    for (const Part &part : parts) lowering.step(Op::Rearrange, {part.to, part.from});
}

// y [N, C, H, i, W, j] = x [N, C, i, j, H, W]
void lower_PixelShuffle(Lowering &lowering) {
    View y = lowering.argument(0), x = lowering.argument(1);
    const int64_t r = lowering.operation.integer(0);
    const int64_t sizes[] = {y.size[0], y.size[1], x.size[2], r, x.size[3], r};
    const int64_t rows = times(x.stride[1], r);
    const int64_t to[] = {y.stride[0], y.stride[1],           times(y.stride[2], r),
                          y.stride[2], times(y.stride[3], r), y.stride[3]};
    const int64_t from[] = {x.stride[0], times(rows, r), x.stride[2],
                            rows,        x.stride[3],    x.stride[1]};
    y.ndim = x.ndim = 6;
    for (int i = 0; i < 6; ++i) {
        y.size[i] = x.size[i] = sizes[i];
        y.stride[i] = to[i], x.stride[i] = from[i];
    }
    lowering.step(Op::Rearrange, {y, x});
}

}  // namespace infini::op
