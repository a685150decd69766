// flip and roll: the same elements in another order, as copies between strided layouts.
#include <string>
#include <vector>

#include "copy/strided.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

// The dimension that entry `i` of a list names.
int dimension(const Operation &operation, const int64_t *dims, size_t i, int rank) {
    const int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
    if (dim < 0 || dim >= rank)
        throw Refusal{INFINI_STATUS_BAD_PARAM,
                      std::string(operation.name()) + ": dim[" + std::to_string(i) + "] is " +
                          std::to_string(dims[i]) + " of " + std::to_string(rank) + " dimensions"};
    return int(dim);
}

// A copy of some of the elements: offsets in bytes.
struct Piece {
    StridedCopy copy;
    int64_t to, from;
};

std::unique_ptr<Plan> plan_pieces(std::vector<Piece> pieces) {
    return make_plan([pieces = std::move(pieces)](const Arguments &a) {
        for (const Piece &piece : pieces)
            piece.copy.run(a.pointer<char>(0) + piece.to, a.pointer<char>(1) + piece.from);
    });
}

std::unique_ptr<Plan> plan_flip(const Operation &operation) {
    const Tensor y = operation.tensor(0);
    Shape x(operation.tensor(1));
    const int64_t bytes = int64_t(infiniSizeOf(infiniDtype_t(x.dtype)));
    const int64_t *dims = operation.list(0);
    if (!dims && operation.integer(1) != 0)
        throw Refusal{INFINI_STATUS_NULL_POINTER, "flip: dim has to be given"};
    int64_t from = 0;
    bool seen[Shape::kMost] = {};
    for (size_t i = 0; dims && i < operation.count(0); ++i) {
        const int dim = dimension(operation, dims, i, x.ndim);
        if (seen[dim]) throw Refusal{INFINI_STATUS_BAD_PARAM, "flip: a dimension is listed twice"};
        seen[dim] = true;
        if (x.size[dim] > 0) from += (x.size[dim] - 1) * x.stride[dim] * bytes;
        x.stride[dim] = -x.stride[dim];
    }
    if (y.numel() == 0) return plan_pieces({});
    return plan_pieces(
        {{StridedCopy(size_t(bytes), y.ndim, y.shape, y.strides, x.stride), 0, from}});
}

// Every dimension that moves has two parts, so there are 2^k copies for k of them.
std::unique_ptr<Plan> plan_roll(const Operation &operation) {
    const Shape y(operation.tensor(0)), x(operation.tensor(1));
    const int64_t bytes = int64_t(infiniSizeOf(infiniDtype_t(x.dtype)));
    const int64_t *shifts = operation.list(0), *dims = operation.list(1);
    if ((!shifts || !dims) && operation.integer(2) != 0)
        throw Refusal{INFINI_STATUS_NULL_POINTER, "roll: shifts and dim have to be given"};
    int64_t by[Shape::kMost] = {};
    for (size_t i = 0; dims && i < operation.count(1); ++i) {
        const int dim = dimension(operation, dims, i, x.ndim);
        const int64_t size = x.size[dim];
        if (size > 0) by[dim] = ((by[dim] + shifts[i] % size) % size + size) % size;
    }
    if (operation.tensor(0).numel() == 0) return plan_pieces({});

    struct Box {
        int64_t size[Shape::kMost], to = 0, from = 0;
    };
    std::vector<Box> boxes(1);
    std::copy(x.size, x.size + x.ndim, boxes[0].size);
    for (int d = 0; d < x.ndim; ++d) {
        if (by[d] == 0) continue;
        const int64_t kept = x.size[d] - by[d];
        for (size_t i = 0, count = boxes.size(); i < count; ++i) {
            Box head = boxes[i], tail = boxes[i];  // of the input
            head.size[d] = kept, head.to += by[d] * y.stride[d] * bytes;
            tail.size[d] = by[d], tail.from += kept * x.stride[d] * bytes;
            boxes[i] = head;
            boxes.push_back(tail);
        }
    }
    std::vector<Piece> pieces;
    for (const Box &box : boxes)
        pieces.push_back(
            {StridedCopy(size_t(bytes), x.ndim, box.size, y.stride, x.stride), box.to, box.from});
    return plan_pieces(std::move(pieces));
}

INFINI_KERNEL("flip", plan_flip);
INFINI_KERNEL("roll", plan_roll);

}  // namespace
}  // namespace infini::cpu
