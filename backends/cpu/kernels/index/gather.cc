// gather and index_select: elements at the indices along a dimension. Both are one loop over the
// rows of the output; for index_select the index has stride 0 along all dimensions but one. Short
// rows are processed in a loop over many of them.
#include <algorithm>
#include <cstring>

#include "index/offsets.h"
#include "index_case.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 4096;  // elements that justify another thread
constexpr int64_t kShort = 16;    // elements of a row that do not justify a loop

struct Wide {
    uint64_t words[2];
};

struct Dim {
    int64_t size, out, in, index;  // strides in elements
};

struct Picking {
    Dim dims[Shape::kMost];
    Dim row = {1, 1, 1, 0};     // the dimension of the innermost loop
    Dim column = {1, 0, 0, 0};  // short: the elements of each step of that loop
    int ndim = 0;
    int64_t rows = 1, pieces = 1;  // chunks per row
    int64_t piece = kPiece;        // elements in a chunk of a row
    int64_t limit, step;           // size and stride of the input's indexed dimension

    // Merges dimensions where all three layouts allow it. The input's stride along the indexed
    // dimension counts as 0 here.
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
        // Local copies, because byte stores may alias members.
        const Dim row = this->row;
        const int64_t limit = this->limit, step = this->step;
        if (row.index == 0 && row.out == 1 && row.in == 1) {
            const int64_t place = *index;
            if (uint64_t(place) < uint64_t(limit))
                copy_short(reinterpret_cast<char *>(out),
                           reinterpret_cast<const char *>(in + place * step),
                           size_t(count) * sizeof(E));
            else
                std::memset(static_cast<void *>(out), 0, size_t(count) * sizeof(E));
            return;
        }
        if (row.index == 1 && row.out == 1 && row.in == 0 && step == 1) {
            uint64_t signs = 0;  // the sign bit is set if an index is out of range
            for (int64_t i = 0; i < count; ++i)
                signs |= uint64_t(int64_t(index[i])) | uint64_t(limit - 1 - int64_t(index[i]));
            if (int64_t(signs) >= 0) {
                for (int64_t i = 0; i < count; ++i) out[i] = in[index[i]];
                return;
            }
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

    // Processes rows of a few elements.
    template <class E, class I>
    void short_rows(E *out, const E *in, const I *index, int64_t count) const {
        const Dim row = this->row, column = this->column;
        const int64_t limit = this->limit, step = this->step;
        const bool dense = column.out == 1 && column.in == 1;
        if (dense && column.index == 0) {
            const size_t bytes = size_t(column.size) * sizeof(E);
            constexpr int64_t kAhead = 12;  // prefetch distance: accesses are random
            for (int64_t i = 0; i < count; ++i, out += row.out, in += row.in, index += row.index) {
                if (i + kAhead < count) __builtin_prefetch(in + index[kAhead * row.index] * step);
                const int64_t place = *index;
                if (uint64_t(place) < uint64_t(limit))
                    copy_short(reinterpret_cast<char *>(out),
                               reinterpret_cast<const char *>(in + place * step), bytes);
                else
                    std::memset(static_cast<void *>(out), 0, bytes);
            }
            return;
        }
        for (int64_t i = 0; i < count; ++i, out += row.out, in += row.in, index += row.index)
            for (int64_t j = 0; j < column.size; ++j) {
                const int64_t place = index[j * column.index];
                const E *from = in + j * column.in;
                out[j * column.out] = uint64_t(place) < uint64_t(limit) ? from[place * step] : E{};
            }
    }

    // Whether all rows share the index, and a table of it pays off.
    bool shares_index() const {
        bool shared = row.index == 1 && row.out == 1 && row.in == 0 && step == 1 && pieces == 1;
        for (int d = 0; d < ndim; ++d) shared = shared && dims[d].index == 0;
        return shared && column.size == 1 && rows > 2 && limit <= INT32_MAX;
    }
    // Fills the table; false if an index is out of range.
    template <class I>
    bool tabulate(const I *index, int32_t *places) const {
        uint64_t most = 0;
        for (int64_t i = 0; i < row.size; ++i) {
            most = std::max(most, uint64_t(int64_t(index[i])));
            places[i] = int32_t(index[i]);
        }
        return most < uint64_t(limit);
    }

    template <class E, class I>
    void run(E *out, const E *in, const I *index) const {
        if (rows == 0 || row.size == 0 || column.size == 0) return;
        const size_t grain = size_t(std::max<int64_t>(1, piece / row.size));
        const bool shares = shares_index();
        parallel_for(size_t(rows * pieces), grain, [=, this](size_t begin, size_t end) {
            int32_t places[kPiece];
            const bool known = shares && end - begin > 2 && tabulate(index, places);
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = pieces == 1 ? 0 : at % pieces * piece;
                int64_t rest = pieces == 1 ? at : at / pieces;
                int64_t to = first * row.out, from = first * row.in, named = first * row.index;
                for (int d = ndim - 1; d >= 0; --d) {
                    const int64_t i = d ? rest % dims[d].size : rest;
                    if (d) rest /= dims[d].size;
                    to += i * dims[d].out, from += i * dims[d].in, named += i * dims[d].index;
                }
                const int64_t count = std::min(piece, row.size - first);
                if (known)
                    for (int64_t i = 0; i < count; ++i) out[to + i] = in[from + places[i]];
                else if (column.size > 1)
                    short_rows(out + to, in + from, index + named, count);
                else
                    some(out + to, in + from, index + named, count);
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
