// mask_counts and the operators that use its counts: every chunk of the mask is processed
// independently.
#include <algorithm>

#include "index/offsets.h"
#include "kernel.h"
#include "mask_case.h"
#include "threads.h"

namespace infini::cpu {
namespace {

// Invalid counts must not lead to accesses outside the tensors.
int64_t clamped(int64_t count, int64_t limit) { return std::clamp<int64_t>(count, 0, limit); }

// Calls body(begin, end, chunk) for every chunk of the mask.
template <class Body>
void each_chunk(int64_t count, const Body &body) {
    parallel_for(size_t((count + kMaskChunk - 1) / kMaskChunk), 4, [&](size_t first, size_t last) {
        for (auto chunk = int64_t(first); chunk < int64_t(last); ++chunk)
            body(chunk * kMaskChunk, std::min(count, (chunk + 1) * kMaskChunk), chunk);
    });
}

std::unique_ptr<Plan> plan_counts(const Operation &operation) {
    const Tensor mask = operation.tensor(1);
    check_mask_counts(mask, operation.tensor(0));
    const int64_t count = Offsets(mask, 0, mask.ndim).count(), chunks = mask_chunks(mask);
    return make_plan([=](const Arguments &a) {
        int64_t *before = a.pointer<int64_t>(0);
        const uint8_t *flags = a.pointer<uint8_t>(1);
        each_chunk(count, [&](int64_t begin, int64_t end, int64_t chunk) {
            before[chunk] = (end - begin) - std::count(flags + begin, flags + end, 0);
        });
        int64_t total = 0;
        for (int64_t chunk = 0; chunk <= chunks; ++chunk) {
            const int64_t found = chunk < chunks ? before[chunk] : 0;
            before[chunk] = total;
            total += found;
        }
    });
}

std::unique_ptr<Plan> plan_rows(const Operation &operation) {
    const Tensor rows = operation.tensor(0), mask = operation.tensor(1);
    check_mask_counts(mask, operation.tensor(2));
    const Shape shape(mask);
    const int64_t count = Offsets(mask, 0, mask.ndim).count(), chunks = mask_chunks(mask);
    const int64_t wanted = rows.size(0), fill = operation.integer(0);
    const int64_t row = rows.stride(0), column = rows.stride(1);
    return make_plan([=](const Arguments &a) {
        int64_t *out = a.pointer<int64_t>(0);
        const uint8_t *flags = a.pointer<uint8_t>(1);
        const int64_t *before = a.pointer<int64_t>(2);
        each_chunk(count, [&](int64_t begin, int64_t end, int64_t chunk) {
            int64_t to = clamped(before[chunk], wanted);
            for (int64_t i = begin; i < end && to < wanted; ++i) {
                if (!flags[i]) continue;
                int64_t rest = i;
                for (int d = shape.ndim - 1; d >= 0; --d) {
                    out[to * row + d * column] = rest % shape.size[d];
                    rest /= shape.size[d];
                }
                ++to;
            }
        });
        for (int64_t to = clamped(before[chunks], wanted); to < wanted; ++to)
            for (int d = 0; d < shape.ndim; ++d) out[to * row + d * column] = fill;
    });
}

template <class E>
std::unique_ptr<Plan> plan_take(const Operation &operation) {
    const Tensor x = operation.tensor(1);
    const Offsets at(x, 0, x.ndim);
    const int64_t chunks = mask_chunks(operation.tensor(2));
    const int64_t wanted = operation.tensor(0).size(0);
    return make_plan([=](const Arguments &a) {
        E *out = a.pointer<E>(0);
        const E *data = a.pointer<E>(1);
        const uint8_t *flags = a.pointer<uint8_t>(2);
        const int64_t *before = a.pointer<int64_t>(3);
        each_chunk(at.count(), [&](int64_t begin, int64_t end, int64_t chunk) {
            int64_t to = clamped(before[chunk], wanted);
            for (int64_t i = begin; i < end && to < wanted; ++i)
                if (flags[i]) out[to++] = data[at(i)];
        });
        for (int64_t to = clamped(before[chunks], wanted); to < wanted; ++to) out[to] = E{};
    });
}

template <class E>
std::unique_ptr<Plan> plan_put(const Operation &operation) {
    const Tensor x = operation.tensor(1);
    const Offsets at(x, 0, x.ndim);
    const int64_t available = operation.tensor(3).size(0);
    return make_plan([=](const Arguments &a) {
        E *out = a.pointer<E>(0);
        const E *data = a.pointer<E>(1), *source = a.pointer<E>(3);
        const uint8_t *flags = a.pointer<uint8_t>(2);
        const int64_t *before = a.pointer<int64_t>(4);
        each_chunk(at.count(), [&](int64_t begin, int64_t end, int64_t chunk) {
            int64_t from = clamped(before[chunk], available);
            for (int64_t i = begin; i < end; ++i)
                out[i] = flags[i] && from < available ? source[from++] : data[at(i)];
        });
    });
}

struct Pair {
    uint64_t words[2];
};

template <class E>
std::unique_ptr<Plan> plan_elements(const Operation &operation) {
    if (operation.is("mask_take")) {
        check_mask_counts(operation.tensor(2), operation.tensor(3));
        return plan_take<E>(operation);
    }
    check_mask_counts(operation.tensor(2), operation.tensor(4));
    return plan_put<E>(operation);
}

std::unique_ptr<Plan> plan_masks(const Operation &operation) {
    if (operation.is("mask_counts")) return plan_counts(operation);
    if (operation.is("mask_rows")) return plan_rows(operation);
    switch (infiniSizeOf(infiniDtype_t(operation.tensor(0).dtype))) {
        case 1:
            return plan_elements<uint8_t>(operation);
        case 2:
            return plan_elements<uint16_t>(operation);
        case 4:
            return plan_elements<uint32_t>(operation);
        case 8:
            return plan_elements<uint64_t>(operation);
        default:
            return plan_elements<Pair>(operation);
    }
}

INFINI_KERNEL("masks", plan_masks);

}  // namespace
}  // namespace infini::cpu
