// index_add and index_copy: every row of the output is written once, from the rows of the source
// that name it. So the result does not depend on the threads, and 16-bit sums are rounded once.
#include <algorithm>
#include <cstring>

#include "convert.h"
#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 64 << 10;  // bytes that are worth another thread

// Dense tensors around the dimension that is indexed: output [outer, rows, inner], source [outer,
// entries, inner].
struct Layout {
    int64_t outer = 1, rows, entries, inner = 1;
    int64_t index_step;
    int dtype, index_dtype;

    Layout(const Operation &operation)
        : Layout(operation.tensor(0), operation.tensor(2), operation.integer(0)) {
        const Tensor output = operation.tensor(0), source = operation.tensor(3);
        const int dim = int(operation.integer(0));
        for (int i = 0; i < output.ndim; ++i)
            if (source.shape[i] != (i == dim ? entries : output.shape[i]))
                throw Refusal{
                    INFINI_STATUS_BAD_TENSOR_SHAPE,
                    "the source differs from the output in more than the dimension that is "
                    "indexed, or has not one slice for each index"};
    }
    Layout(const Tensor &output, const Tensor &index, int64_t dim)
        : rows(output.size(int(dim))),
          entries(index.size(0)),
          index_step(index.stride(0)),
          dtype(output.dtype),
          index_dtype(index.dtype) {
        for (int i = 0; i < int(dim); ++i) outer *= output.shape[i];
        for (int i = int(dim) + 1; i < output.ndim; ++i) inner *= output.shape[i];
    }

    // The row that entry i of the index names, or -1.
    int64_t row(const Indices &index, int64_t i) const {
        int64_t at = index[i * index_step];
        if (at < 0) at += rows;
        return at >= 0 && at < rows ? at : -1;
    }
    size_t grain(int64_t row_bytes) const {
        return size_t(std::max<int64_t>(1, kPiece / std::max<int64_t>(row_bytes, 1)));
    }
};

template <class T>
using Sum = std::conditional_t<kIsSmallFloat<T>, float, T>;

// `first[row] .. first[row + 1]` are the places in `order` of the entries that name a row, in
// order.
void group(const Layout &layout, const Indices &index, int64_t *first, int64_t *order) {
    std::fill(first, first + layout.rows + 2, 0);
    for (int64_t i = 0; i < layout.entries; ++i) ++first[layout.row(index, i) + 2];
    for (int64_t row = 0; row <= layout.rows; ++row) first[row + 1] += first[row];
    // Now first[row + 1] is where row begins (entries of no row stand before row 0's).
    for (int64_t i = 0; i < layout.entries; ++i) order[first[layout.row(index, i) + 1]++] = i;
}

template <class T>
void index_add(const Layout &layout, double alpha, const Arguments &a) {
    using S = Sum<T>;
    T *output = a.pointer<T>(0);
    const T *input = a.pointer<T>(1), *source = a.pointer<T>(3);
    const Indices index(layout.index_dtype, a.pointer<void>(2));
    int64_t *first = reinterpret_cast<int64_t *>(a.workspace());
    int64_t *order = first + layout.rows + 2;
    group(layout, index, first, order);

    const S factor = std::is_integral_v<T> ? S(int64_t(alpha)) : S(alpha);
    const int64_t inner = layout.inner;
    auto row = [&](int64_t at) {
        const int64_t outer = at / layout.rows, row = at % layout.rows;
        const int64_t begin = first[row], end = first[row + 1];
        T *to = output + at * inner;
        const T *from = input + at * inner;
        if (begin == end) {
            if (to != from) std::memcpy(to, from, size_t(inner) * sizeof(T));
            return;
        }
        constexpr int64_t kBlock = 512;
        S sum[kBlock], term[kBlock];
        for (int64_t i = 0; i < inner; i += kBlock) {
            const int64_t n = std::min(kBlock, inner - i);
            load_block(sum, from + i, size_t(n));
            for (int64_t k = begin; k < end; ++k) {
                load_block(term, source + (outer * layout.entries + order[k]) * inner + i,
                           size_t(n));
                if constexpr (std::is_integral_v<T>) {
                    using U = std::make_unsigned_t<T>;  // wraps around
                    for (int64_t j = 0; j < n; ++j) sum[j] = T(U(sum[j]) + U(factor) * U(term[j]));
                } else {
                    for (int64_t j = 0; j < n; ++j) sum[j] += factor * term[j];
                }
            }
            store_block(to + i, sum, size_t(n));
        }
    };
    // The mean number of rows read for one that is written.
    const int64_t reads = 2 + layout.entries / std::max<int64_t>(layout.rows, 1);
    parallel_for(size_t(layout.outer * layout.rows),
                 layout.grain(inner * int64_t(sizeof(T)) * reads), [&](size_t begin, size_t end) {
                     for (size_t at = begin; at < end; ++at) row(int64_t(at));
                 });
}

std::unique_ptr<Plan> plan_index_add(const Operation &operation) {
    const Layout layout(operation);
    const double alpha = operation.number(1);
    const size_t workspace = size_t(layout.rows + 2 + layout.entries) * sizeof(int64_t);
    std::unique_ptr<Plan> plan;
    visit_dtype(layout.dtype, [&]<class T>(Type<T>) {
        if constexpr ((kIsFloat<T> && sizeof(T) > 1) || std::is_same_v<T, int32_t> ||
                      std::is_same_v<T, int64_t>)
            plan = make_plan(
                [=](const Arguments &a) {
                    if (layout.outer * layout.rows * layout.inner > 0)
                        index_add<T>(layout, alpha, a);
                },
                workspace);
    });
    return plan;
}

std::unique_ptr<Plan> plan_index_copy(const Operation &operation) {
    const Layout layout(operation);
    const int64_t bytes = layout.inner * int64_t(infiniSizeOf(infiniDtype_t(layout.dtype)));
    auto run = [=](const Arguments &a) {
        if (layout.outer * layout.rows * bytes == 0) return;
        char *output = a.pointer<char>(0);
        const char *input = a.pointer<char>(1), *source = a.pointer<char>(3);
        const Indices index(layout.index_dtype, a.pointer<void>(2));
        int64_t *last = reinterpret_cast<int64_t *>(a.workspace());  // entry that names a row
        std::fill(last, last + layout.rows, -1);
        for (int64_t i = 0; i < layout.entries; ++i)
            if (const int64_t row = layout.row(index, i); row >= 0) last[row] = i;
        parallel_for(size_t(layout.outer * layout.rows), layout.grain(2 * bytes),
                     [&](size_t begin, size_t end) {
                         for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                             const int64_t entry = last[at % layout.rows];
                             const int64_t outer = at / layout.rows;
                             const char *from =
                                 entry < 0 ? input + at * bytes
                                           : source + (outer * layout.entries + entry) * bytes;
                             if (from != output + at * bytes)
                                 std::memcpy(output + at * bytes, from, size_t(bytes));
                         }
                     });
    };
    return make_plan(run, size_t(layout.rows) * sizeof(int64_t));
}

INFINI_KERNEL("index_add", plan_index_add);
INFINI_KERNEL("index_copy", plan_index_copy);

}  // namespace
}  // namespace infini::cpu
