// gather and index_select: elements at places that an index names along a dimension. Both are one
// loop over the rows of the output; what index_select picks has an index of stride 0 along all
// dimensions but one. Where rows are short, the loop goes across several of them instead.
#include <algorithm>
#include <cstring>

#include "index/offsets.h"
#include "index_case.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 4096;  // elements that are worth another thread
constexpr int64_t kShort = 16;    // elements of a row that are not worth a loop

struct Wide {
    uint64_t words[2];
};

struct Dim {
    int64_t size, out, in, index;  // strides in elements
};

struct Picking {
    Dim dims[Shape::kMost];
    Dim row = {1, 1, 1, 0};     // the dimension of the innermost loop
    Dim column = {1, 0, 0, 0};  // short: repeats that loop
    int ndim = 0;
    int64_t rows = 1, pieces = 1;  // of each row
    int64_t piece = kPiece;        // elements of a row
    int64_t limit, step;           // size and stride of the input where it is indexed

    // Dimensions are joined where all three layouts allow it. The input's stride along the
    // dimension that is indexed counts as 0 here.
    void add(const Dim &dim) {
        if (dim.size == 1) return;
        if (ndim) {
            Dim &last = dims[ndim - 1];
            if (last.out == dim.out * dim.size && last.in == dim.in * dim.size &&
                last.index == dim.index * dim.size) {
                last = {last.size * dim.size, dim.out, dim.in, dim.index};
                return;
            }
        }
        dims[ndim++] = dim;
    }
    void finish() {
        if (ndim) row = dims[--ndim];
        if (ndim && row.size <= kShort && row.size < dims[ndim - 1].size)
            column = row, row = dims[--ndim];
        for (int i = 0; i < ndim; ++i) rows *= dims[i].size;
        piece = kPiece / std::max<int64_t>(column.size, 1);
        pieces = std::max<int64_t>(1, (row.size + piece - 1) / piece);
    }

    template <class E, class I>
    void some(E *out, const E *in, const I *index, int64_t count) const {
        if (row.index == 0 && row.out == 1 && row.in == 1) {
            const int64_t place = *index;
            if (uint64_t(place) < uint64_t(limit))
                std::memcpy(out, in + place * step, size_t(count) * sizeof(E));
            else
                std::memset(static_cast<void *>(out), 0, size_t(count) * sizeof(E));
            return;
        }
        if (row.index == 1 && row.out == 1 && row.in == 0 && step == 1) {
            for (int64_t i = 0; i < count; ++i) {
                const int64_t place = index[i];
                out[i] = uint64_t(place) < uint64_t(limit) ? in[place] : E{};
            }
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t place = index[i * row.index];
            out[i * row.out] =
                uint64_t(place) < uint64_t(limit) ? in[i * row.in + place * step] : E{};
        }
    }

    template <class E, class I>
    void run(E *out, const E *in, const I *index) const {
        if (rows == 0 || row.size == 0 || column.size == 0) return;
        const size_t grain = size_t(std::max<int64_t>(1, piece / row.size));
        parallel_for(size_t(rows * pieces), grain, [=, this](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = at % pieces * piece;
                int64_t rest = at / pieces;
                int64_t to = first * row.out, from = first * row.in, named = first * row.index;
                for (int d = ndim - 1; d >= 0; --d) {
                    const int64_t i = rest % dims[d].size;
                    rest /= dims[d].size;
                    to += i * dims[d].out, from += i * dims[d].in, named += i * dims[d].index;
                }
                for (int64_t j = 0; j < column.size; ++j)
                    some(out + to + j * column.out, in + from + j * column.in,
                         index + named + j * column.index, std::min(piece, row.size - first));
            }
        });
    }
};

template <class E>
std::unique_ptr<Plan> plan_elements(const Picking &picking, int index_dtype) {
    return make_plan([=](const Arguments &a) {
        if (index_dtype == INFINI_DTYPE_I64)
            picking.run(a.pointer<E>(0), a.pointer<const E>(1), a.pointer<const int64_t>(2));
        else
            picking.run(a.pointer<E>(0), a.pointer<const E>(1), a.pointer<const int32_t>(2));
    });
}

std::unique_ptr<Plan> plan_picking(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor index = operation.tensor(2);
    const int axis = indexed_dim(operation, input);
    Picking picking;
    picking.limit = input.size(axis), picking.step = input.stride(axis);
    each_gathered_dim(operation, operation.is("index_select"), axis,
                      [&](int64_t size, int64_t to, int64_t from, int64_t at) {
                          picking.add({size, to, from, at});
                      });
    picking.finish();
    switch (infiniSizeOf(infiniDtype_t(output.dtype))) {
        case 1:
            return plan_elements<uint8_t>(picking, index.dtype);
        case 2:
            return plan_elements<uint16_t>(picking, index.dtype);
        case 4:
            return plan_elements<uint32_t>(picking, index.dtype);
        case 8:
            return plan_elements<uint64_t>(picking, index.dtype);
        default:
            return plan_elements<Wide>(picking, index.dtype);
    }
}

INFINI_KERNEL("gather", plan_picking);

}  // namespace
}  // namespace infini::cpu
