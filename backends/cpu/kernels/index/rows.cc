// Operators that copy whole rows: embedding, select_last_token_hidden.
#include <algorithm>
#include <cstring>

#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 64 << 10;  // bytes that justify another thread
constexpr int64_t kShortRow = 256;    // below this, copying a row is faster than locating it

size_t rows_for(int64_t row_bytes) {
    return size_t(std::max<int64_t>(1, kPiece / std::max<int64_t>(row_bytes, 1)));
}

// Copies a row whose elements are `step` bytes apart in the destination.
void copy_row(char *to, const char *from, int64_t count, int64_t element, int64_t step) {
    if (step == element || count == 1)
        copy_short(to, from, size_t(count * element));
    else
        for (int64_t i = 0; i < count; ++i)
            std::memcpy(to + i * step, from + i * element, size_t(element));
}

// Copies rows of a table one after the other, with prefetching, because indexed rows are scattered
// in memory.
template <class I>
void copy_rows(char *to, const char *table, const I *index, int64_t count, int64_t height,
               int64_t pitch, size_t bytes) {
    constexpr int64_t kAhead = 12;
    for (int64_t i = 0; i < count; ++i, to += bytes) {
        if (i + kAhead < count) __builtin_prefetch(table + int64_t(index[i + kAhead]) * pitch);
        const int64_t row = int64_t(index[i]);
        if (uint64_t(row) < uint64_t(height)) copy_short(to, table + row * pitch, bytes);
    }
}

std::unique_ptr<Plan> plan_embedding(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor weight = operation.tensor(2);
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(weight.dtype)));
    const int64_t width = weight.size(1), height = weight.size(0);
    const int64_t step = output.stride(-1) * element, pitch = weight.stride(0) * element;
    const Offsets rows(output, 0, output.ndim - 1, element), entries(input, 0, input.ndim);
    const int dtype = input.dtype;
    if (output.contiguous() && input.contiguous() && width * element <= kShortRow) {
        const int64_t count = entries.count();
        return make_plan([=](const Arguments &a) {
            const size_t bytes = size_t(width * element);
            parallel_for(size_t(count), 4096, [&](size_t begin, size_t end) {
                auto copy = [&](const auto *index) {
                    copy_rows(a.pointer<char>(0) + begin * bytes, a.pointer<char>(2), index + begin,
                              int64_t(end - begin), height, pitch, bytes);
                };
                if (dtype == INFINI_DTYPE_I64)
                    copy(a.pointer<const int64_t>(1));
                else
                    copy(a.pointer<const int32_t>(1));
            });
        });
    }
    return make_plan([=](const Arguments &a) {
        char *to = a.pointer<char>(0);
        const Indices index(dtype, a.pointer<void>(1));
        const char *table = a.pointer<char>(2);
        parallel_for(size_t(entries.count()), rows_for(width * element),
                     [&](size_t begin, size_t end) {
                         for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                             const int64_t row = index[entries(i)];
                             if (row >= 0 && row < height)
                                 copy_row(to + rows(i), table + row * pitch, width, element, step);
                         }
                     });
    });
}

std::unique_ptr<Plan> plan_select_last(const Operation &operation) {
    const Tensor output = operation.tensor(0), hidden = operation.tensor(1);
    const Tensor offsets = operation.tensor(2);
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(hidden.dtype)));
    const int64_t width = hidden.size(2), height = hidden.size(0) * hidden.size(1);
    const int64_t step = output.stride(-1) * element, between = offsets.stride(0);
    const Offsets rows(output, 0, 2, element);
    return make_plan([=](const Arguments &a) {
        char *to = a.pointer<char>(0);
        const char *from = a.pointer<char>(1);
        const int32_t *ends = a.pointer<int32_t>(2);
        parallel_for(
            size_t(rows.count()), rows_for(width * element), [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const int64_t row = int64_t(ends[(i + 1) * between]) - 1;
                    if (row >= 0 && row < height)
                        copy_row(to + rows(i), from + row * width * element, width, element, step);
                }
            });
    });
}

std::unique_ptr<Plan> plan_rows(const Operation &operation) {
    return operation.is("select_last_token_hidden") ? plan_select_last(operation)
                                                    : plan_embedding(operation);
}

INFINI_KERNEL("embedding", plan_rows);

}  // namespace
}  // namespace infini::cpu
