// index_add, index_reduce and index_copy: every row of the output is written once, from the source
// rows whose index selects it. So the result does not depend on the threads, and 16-bit sums are
// rounded once.
#include <algorithm>
#include <cstring>

#include "convert.h"
#include "index/fold.h"
#include "index/offsets.h"
#include "kernel.h"
#include "sort/radix.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 64 << 10;  // bytes that justify another thread

// Dense tensors: output [outer, rows, inner], source [outer, entries, inner].
struct Slices {
    int64_t outer = 1, rows, entries, inner = 1;
    int64_t index_step;
    int dtype, index_dtype;

    Slices(const Operation &operation)
        : Slices(operation.tensor(0), operation.tensor(2), dimension(operation)) {
        const Tensor output = operation.tensor(0), source = operation.tensor(3);
        const int dim = dimension(operation);
        for (int i = 0; i < output.ndim; ++i)
            if (source.shape[i] != (i == dim ? entries : output.shape[i]))
                throw Refusal{
                    INFINI_STATUS_BAD_TENSOR_SHAPE,
                    "the source differs from the output in more than the dimension that is "
                    "indexed, or has not one slice for each index"};
    }
    Slices(const Tensor &output, const Tensor &index, int dim)
        : rows(output.size(dim)),
          entries(index.size(0)),
          index_step(index.stride(0)),
          dtype(output.dtype),
          index_dtype(index.dtype) {
        for (int i = 0; i < dim; ++i) outer *= output.shape[i];
        for (int i = dim + 1; i < output.ndim; ++i) inner *= output.shape[i];
    }

    static int dimension(const Operation &operation) {
        const int dim = int(operation.integer(0));
        return dim < 0 ? dim + operation.tensor(0).ndim : dim;
    }
    // The row that entry i of the index selects, or -1.
    int64_t row(const Indices &index, int64_t i) const {
        int64_t at = index[i * index_step];
        if (at < 0) at += rows;
        return at >= 0 && at < rows ? at : -1;
    }
    // Whether most rows stay as they are: then the entries are sorted, not the rows counted.
    bool few() const { return entries <= rows / 8 && rows <= std::numeric_limits<int32_t>::max(); }
    size_t grain(int64_t row_bytes) const {
        return size_t(std::max<int64_t>(1, kPiece / std::max<int64_t>(row_bytes, 1)));
    }
};

// order[first[row] .. first[row + 1]] are the entries that select a row, in ascending order.
void group(const Slices &slices, const Indices &index, int64_t *first, int64_t *order) {
    std::fill(first, first + slices.rows + 2, 0);
    for (int64_t i = 0; i < slices.entries; ++i) ++first[slices.row(index, i) + 2];
    for (int64_t row = 0; row <= slices.rows; ++row) first[row + 1] += first[row];
    // Now first[row + 1] is where row starts (entries that select no row precede row 0's).
    for (int64_t i = 0; i < slices.entries; ++i) order[first[slices.row(index, i) + 1]++] = i;
}

// Rows of one element: copies a line of them, then folds only the elements that entries select.
template <class T, class Combine, class Finish>
void fold_elements(const Slices &slices, T *output, const T *input, const T *source,
                   const Sum<T> *start, const int64_t *first, const int64_t *order,
                   const int64_t *selected, const Combine &combine, const Finish &finish) {
    using S = Sum<T>;
    const int64_t rows = slices.rows, entries = slices.entries;
    const int64_t threads = int64_t(thread_count());
    // Few long lines are divided.
    const int64_t shares = slices.outer >= threads ? 1 : std::min(threads, rows);
    const int64_t work = (rows + 4 * entries) / shares * int64_t(sizeof(T));
    parallel_for(size_t(slices.outer * shares), slices.grain(work), [&](size_t begin, size_t end) {
        for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
            const int64_t line = at / shares, share = at % shares;
            const int64_t low = rows * share / shares, high = rows * (share + 1) / shares;
            T *to = output + line * rows;
            const T *from = input + line * rows, *terms = source + line * entries;
            if (to != from) std::memcpy(to + low, from + low, size_t(high - low) * sizeof(T));
            // Entries of a row are adjacent in `order`.
            for (int64_t k = first[low]; k < first[high];) {
                const int64_t row = selected[k], last = first[row + 1];
                const int64_t count = last - k;
                S sum = start ? *start : load_element<S>(from[row]);
                for (; k < last; ++k) {
                    const S term = load_element<S>(terms[order[k]]);
                    combine(&sum, &term, 1);
                }
                finish(&sum, 1, count);
                store_element(to[row], sum);
            }
        }
    });
}

void copy_all(void *to, const void *from, int64_t bytes) {
    if (to == from) return;
    const int64_t pieces = (bytes + kPiece - 1) / kPiece;
    parallel_for(size_t(pieces), 4, [&](size_t begin, size_t end) {
        const int64_t first = int64_t(begin) * kPiece;
        std::memcpy(static_cast<char *>(to) + first, static_cast<const char *>(from) + first,
                    size_t(std::min(bytes, int64_t(end) * kPiece) - first));
    });
}

// Calls fold(outer, row, count, entry) for every row that entries select; entry(k) is the k-th of
// them, in ascending order. `room` holds 3 * entries + 1 numbers.
template <class F>
void each_selected(const Slices &slices, const Indices &index, int64_t row_bytes, int64_t *room,
                   const F &fold) {
    using E = Entry<uint32_t>;
    static_assert(sizeof(E) == sizeof(int64_t));
    E *sorted = reinterpret_cast<E *>(room);
    int64_t *starts = room + 2 * slices.entries, held = 0, runs = 0;
    for (int64_t i = 0; i < slices.entries; ++i)
        if (const int64_t row = slices.row(index, i); row >= 0) sorted[held++] = {uint32_t(row), i};
    sort_entries(sorted, sorted + slices.entries, held);
    for (int64_t k = 0; k < held; ++k)
        if (k == 0 || sorted[k].key() != sorted[k - 1].key()) starts[runs++] = k;
    if (runs == 0) return;
    starts[runs] = held;
    parallel_for(size_t(slices.outer * runs), slices.grain(row_bytes * 2 * held / runs + 64),
                 [&](size_t begin, size_t end) {
                     for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                         const int64_t first = starts[at % runs];
                         fold(at / runs, int64_t(sorted[first].key()),
                              starts[at % runs + 1] - first,
                              [=](int64_t k) { return sorted[first + k].place(); });
                     }
                 });
}

// For every selected row: calls combine(sums, terms, n) for each of its entries, on blocks of the
// row, then finish(sums, n, entries). Sums start with the input's row or an initial value.
template <class T, class Combine, class Finish>
void fold_rows(const Slices &slices, const Arguments &a, const Sum<T> *start,
               const Combine &combine, const Finish &finish) {
    using S = Sum<T>;
    if (slices.outer * slices.rows * slices.inner == 0) return;
    T *output = a.pointer<T>(0);
    const T *input = a.pointer<T>(1), *source = a.pointer<T>(3);
    const Indices index(slices.index_dtype, a.pointer<void>(2));
    int64_t *room = reinterpret_cast<int64_t *>(a.workspace());
    const int64_t inner = slices.inner, rows = slices.rows;
    auto fold = [&](int64_t outer, int64_t row, int64_t count, const auto &entry) {
        T *to = output + (outer * rows + row) * inner;
        const T *from = input + (outer * rows + row) * inner;
        if (inner == 1) {
            S sum = start ? *start : load_element<S>(*from);
            for (int64_t k = 0; k < count; ++k) {
                const S term = load_element<S>(source[outer * slices.entries + entry(k)]);
                combine(&sum, &term, 1);
            }
            finish(&sum, 1, count);
            return store_element(*to, sum);
        }
        constexpr int64_t kBlock = 512;
        S sum[kBlock], term[kBlock];
        for (int64_t i = 0; i < inner; i += kBlock) {
            const int64_t n = std::min(kBlock, inner - i);
            if (start)
                std::fill(sum, sum + n, *start);
            else
                load_block(sum, from + i, size_t(n));
            for (int64_t k = 0; k < count; ++k) {
                load_block(term, source + (outer * slices.entries + entry(k)) * inner + i,
                           size_t(n));
                combine(sum, term, n);
            }
            finish(sum, n, count);
            store_block(to + i, sum, size_t(n));
        }
    };
    if (slices.few()) {
        copy_all(output, input, slices.outer * rows * inner * int64_t(sizeof(T)));
        return each_selected(slices, index, inner * int64_t(sizeof(T)), room, fold);
    }
    int64_t *first = room, *order = first + rows + 2;
    group(slices, index, first, order);
    auto row = [&](int64_t at) {
        const int64_t row = at % rows, begin = first[row], count = first[row + 1] - begin;
        if (count) return fold(at / rows, row, count, [=](int64_t k) { return order[begin + k]; });
        T *to = output + at * inner;
        const T *from = input + at * inner;
        if (to != from) std::memcpy(to, from, size_t(inner) * sizeof(T));
    };
    if (inner == 1) {
        int64_t *selected = order + slices.entries;  // the rows of the entries in `order`
        for (int64_t k = 0; k < slices.entries; ++k) selected[k] = slices.row(index, order[k]);
        return fold_elements(slices, output, input, source, start, first, order, selected, combine,
                             finish);
    }
    // The mean number of rows read per row written.
    const int64_t reads = 2 + slices.entries / std::max<int64_t>(slices.rows, 1);
    parallel_for(size_t(slices.outer * slices.rows),
                 slices.grain(inner * int64_t(sizeof(T)) * reads), [&](size_t begin, size_t end) {
                     for (size_t at = begin; at < end; ++at) row(int64_t(at));
                 });
}

size_t room_of(const Slices &slices) {
    if (slices.few()) return size_t(3 * slices.entries + 1) * sizeof(int64_t);
    return size_t(slices.rows + 2 + 2 * slices.entries) * sizeof(int64_t);
}

std::unique_ptr<Plan> plan_index_add(const Operation &operation) {
    const Slices slices(operation);
    const double alpha = operation.number(1);
    std::unique_ptr<Plan> plan;
    visit_dtype(slices.dtype, [&]<class T>(Type<T>) {
        if constexpr (!std::is_same_v<T, f8>) {
            using S = Sum<T>;
            constexpr bool kBoolean = std::is_same_v<T, boolean>;
            const S factor = kBoolean                ? S(int64_t(alpha) != 0)
                             : std::is_integral_v<T> ? S(int64_t(alpha))
                                                     : S(alpha);
            auto add = [=](S *sum, const S *term, int64_t n) {
                for (int64_t j = 0; j < n; ++j)
                    sum[j] = kBoolean ? std::max(sum[j], S(factor * term[j]))
                                      : S(sum[j] + factor * term[j]);
            };
            plan = make_plan(
                [=](const Arguments &a) {
                    fold_rows<T>(slices, a, nullptr, add, [](S *, int64_t, int64_t) {});
                },
                room_of(slices));
        }
    });
    return plan;
}

std::unique_ptr<Plan> plan_index_reduce(const Operation &operation) {
    const Slices slices(operation);
    const Reduction reduction =
        reduction_of(slices.dtype, operation.integer(1), operation.integer(2) != 0);
    std::unique_ptr<Plan> plan;
    visit_dtype(slices.dtype, [&]<class T>(Type<T>) {
        if constexpr (!std::is_same_v<T, f8>) {
            using S = Sum<T>;
            auto finish = [=](S *sum, int64_t n, int64_t entries) {
                if (!reduction.mean) return;
                const int64_t count = entries + reduction.include_self;
                for (int64_t j = 0; j < n; ++j) sum[j] = average(sum[j], count);
            };
            auto run = [=](const Arguments &a) {
                const S start = neutral<S>(reduction.fold);
                visit_fold(reduction.fold, [&](auto fold) {
                    auto combine = [](S *sum, const S *term, int64_t n) {
                        for (int64_t j = 0; j < n; ++j)
                            sum[j] = folded<decltype(fold)::value>(sum[j], term[j]);
                    };
                    fold_rows<T>(slices, a, reduction.include_self ? nullptr : &start, combine,
                                 finish);
                });
            };
            plan = make_plan(run, room_of(slices));
        }
    });
    return plan;
}

// index_copy of rows of one element: copies a line of them, then writes the selected elements.
// `last` is the entry that selects a row, or -1, with room for as many rows and entries behind.
template <class E>
void copy_elements(const Slices &slices, E *output, const E *input, const E *source,
                   int64_t *last) {
    const int64_t rows = slices.rows;
    int64_t *selected = last + rows, *entries = selected + rows, count = 0;
    for (int64_t row = 0; row < rows; ++row)
        if (last[row] >= 0) selected[count] = row, entries[count++] = last[row];
    const int64_t bytes = (rows + 4 * count) * int64_t(sizeof(E));
    parallel_for(size_t(slices.outer), slices.grain(bytes), [=](size_t begin, size_t end) {
        for (int64_t line = int64_t(begin); line < int64_t(end); ++line) {
            E *to = output + line * rows;
            const E *from = input + line * rows, *terms = source + line * slices.entries;
            if (to != from) std::memcpy(to, from, size_t(rows) * sizeof(E));
            for (int64_t k = 0; k < count; ++k) to[selected[k]] = terms[entries[k]];
        }
    });
}

std::unique_ptr<Plan> plan_index_copy(const Operation &operation) {
    const Slices slices(operation);
    const int64_t bytes = slices.inner * int64_t(infiniSizeOf(infiniDtype_t(slices.dtype)));
    const bool has_lines = slices.outer >= int64_t(thread_count());  // a long one is divided
    auto run = [=](const Arguments &a) {
        if (slices.outer * slices.rows * bytes == 0) return;
        char *output = a.pointer<char>(0);
        const char *input = a.pointer<char>(1), *source = a.pointer<char>(3);
        const Indices index(slices.index_dtype, a.pointer<void>(2));
        int64_t *room = reinterpret_cast<int64_t *>(a.workspace());
        if (slices.few()) {
            copy_all(output, input, slices.outer * slices.rows * bytes);
            return each_selected(
                slices, index, bytes, room,
                [&](int64_t outer, int64_t row, int64_t count, const auto &entry) {
                    copy_short(output + (outer * slices.rows + row) * bytes,
                               source + (outer * slices.entries + entry(count - 1)) * bytes,
                               size_t(bytes));
                });
        }
        int64_t *last = room;  // last entry selecting a row
        std::fill(last, last + slices.rows, -1);
        for (int64_t i = 0; i < slices.entries; ++i)
            if (const int64_t row = slices.row(index, i); row >= 0) last[row] = i;
        auto elements = [&]<class E>(E) {
            copy_elements(slices, reinterpret_cast<E *>(output), reinterpret_cast<const E *>(input),
                          reinterpret_cast<const E *>(source), last);
        };
        if (has_lines && bytes == 1) return elements(uint8_t());
        if (has_lines && bytes == 2) return elements(uint16_t());
        if (has_lines && bytes == 4) return elements(uint32_t());
        if (has_lines && bytes == 8) return elements(uint64_t());
        parallel_for(size_t(slices.outer * slices.rows), slices.grain(2 * bytes),
                     [&](size_t begin, size_t end) {
                         int64_t outer = int64_t(begin) / slices.rows;
                         int64_t row = int64_t(begin) % slices.rows;
                         for (int64_t at = int64_t(begin); at < int64_t(end); ++at, ++row) {
                             if (row == slices.rows) row = 0, ++outer;
                             const int64_t entry = last[row];
                             const char *from =
                                 entry < 0 ? input + at * bytes
                                           : source + (outer * slices.entries + entry) * bytes;
                             if (from != output + at * bytes)
                                 copy_short(output + at * bytes, from, size_t(bytes));
                         }
                     });
    };
    const size_t most = size_t(3 * slices.rows) * sizeof(int64_t);
    return make_plan(run, slices.few() ? room_of(slices) : most);
}

std::unique_ptr<Plan> plan_update(const Operation &operation) {
    if (operation.is("index_add")) return plan_index_add(operation);
    if (operation.is("index_reduce")) return plan_index_reduce(operation);
    return plan_index_copy(operation);
}

INFINI_KERNEL("index_update", plan_update);

}  // namespace
}  // namespace infini::cpu
