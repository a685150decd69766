// Composites that move elements: copies between views of the input and of the output, or by index.
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

// Every element is written once: the matrices, and the rest of each matrix's rows.
void lower_BlockDiag(Lowering &lowering) {
    const View y = lowering.argument(0);
    int64_t row = 0, column = 0;
    for (int i = 1; i < lowering.operation.tensor_count(); ++i) {
        const View x = lowering.argument(i);
        if (x.ndim != 2) fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "block_diag: an input is no matrix");
        const int64_t height = x.size[0], width = x.size[1], behind = column + width;
        if (row + height > y.size[0] || behind > y.size[1]) break;
        const View rows = y.sliced(0, row, height);
        auto clear = [&](int64_t begin, int64_t end) {
            if (height > 0 && begin < end)
                lowering.step(Op::Fill, {rows.sliced(1, begin, end - begin)}, {0.0});
        };
        clear(0, column);
        if (x.numel() > 0) lowering.step(Op::Rearrange, {rows.sliced(1, column, width), x});
        clear(behind, y.size[1]);
        row += height, column = behind;
    }
    if (row != y.size[0] || column != y.size[1])
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE,
             "block_diag: the output's sizes are not the sums of the inputs'");
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

// Every rolled dimension is split in two, so k of them need 2^k copies.
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
    const View y = lowering.argument(0), x = lowering.argument(1);
    const int64_t r = lowering.operation.integer(0), channels = y.size[1];
    const int64_t height = x.size[2], width = x.size[3];
    const View to = y.split(3, {width, r}).split(2, {height, r});
    const View from = x.split(1, {channels, r, r});
    lowering.step(Op::Rearrange, {to, from.transposed(2, 4).transposed(3, 4).transposed(4, 5)});
}

// scatter has a reduction that adds.
void lower_ScatterAdd(Lowering &lowering) {
    Lowering::Tensors tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(lowering.argument(i));
    constexpr int64_t kAdd = 1;
    lowering.step(Op::Scatter, tensors, {lowering.operation.integer(0), kAdd});
}

// Out-of-range indices give 0, as in index_select.
void lower_Take(Lowering &lowering) {
    auto line = [&](int tensor) {
        const View view = lowering.argument(tensor);
        return *view.joined(0, view.ndim);
    };
    lowering.step(Op::IndexSelect, {line(0), line(1), line(2)}, {int64_t(0)});
}

}  // namespace infini::op
