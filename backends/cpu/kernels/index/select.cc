// argwhere and masked_select: results whose size depends on the data, in memory allocated here. One
// pass counts in chunks, a second writes the results of the chunks one after the other.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 16384;  // elements

int64_t pieces(int64_t count) { return (count + kPiece - 1) / kPiece; }

// Calls body(begin, end, piece) for every chunk.
template <class Body>
void each_piece(int64_t count, const Body &body) {
    parallel_for(size_t(pieces(count)), 1, [&](size_t first, size_t last) {
        for (size_t piece = first; piece < last; ++piece)
            body(int64_t(piece) * kPiece, std::min(count, int64_t(piece + 1) * kPiece),
                 int64_t(piece));
    });
}

// Words of an element, with a mask of the bits that make it nonzero (all but the sign).
template <class W>
struct Bits {
    W mask;

    bool operator()(const W &element) const { return (element & mask) != 0; }
};
struct Pair {
    uint64_t words[2];
};
template <>
struct Bits<Pair> {
    Pair mask;

    bool operator()(const Pair &element) const {
        return ((element.words[0] & mask.words[0]) | (element.words[1] & mask.words[1])) != 0;
    }
};

constexpr int64_t kBlock = 1024;  // elements tested together

// Calls body(first, n, elements) for blocks of [begin, end); strided elements are copied.
template <class T, class Body>
void each_block(const T *data, const Offsets &at, int64_t begin, int64_t end, const Body &body) {
    for (int64_t first = begin; first < end; first += kBlock) {
        const int64_t n = std::min(kBlock, end - first);
        if (at.even() && at.step() == 1) {
            body(first, n, data + first);
            continue;
        }
        T elements[kBlock], *to = elements;
        at.each_run(first, n, [&](int64_t offset, int64_t run, int64_t step) {
            const T *from = data + offset;
            if (step == 1)
                std::copy_n(from, run, to);
            else if (step == 2)
                for (int64_t k = 0; k < run; ++k) to[k] = from[2 * k];
            else
                for (int64_t k = 0; k < run; ++k) to[k] = from[k * step];
            to += run;
        });
        body(first, n, static_cast<const T *>(elements));
    }
}

template <class T, class Test>
int64_t count_of(const T *elements, int64_t n, const Test &counts) {
    int32_t found = 0;
    for (int64_t i = 0; i < n; ++i) found += counts(elements[i]);
    return found;
}

// Counts the selected elements. `before` receives the number before each chunk.
template <class T, class Test>
int64_t count_pieces(const T *data, const Test &counts, const Offsets &at, int64_t *before) {
    each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
        int64_t found = 0;
        each_block(data, at, begin, end, [&](int64_t, int64_t n, const T *elements) {
            found += count_of(elements, n, counts);
        });
        before[piece] = found;
    });
    int64_t total = 0;
    for (int64_t piece = 0; piece < pieces(at.count()); ++piece) {
        const int64_t found = before[piece];
        before[piece] = total;
        total += found;
    }
    return total;
}

// Calls body(first, hits, found) with the selected indices of each block, relative to its first.
// Counting is faster than finding the indices, and blocks often have none, or only hits.
// Branchless: half of the branches would be mispredicted.
template <class T, class Test, class Body>
void each_hit(const T *data, const Test &counts, const Offsets &at, int64_t begin, int64_t end,
              const Body &body) {
    each_block(data, at, begin, end, [&](int64_t first, int64_t n, const T *elements) {
        const int64_t all = count_of(elements, n, counts);
        if (all == 0) return;
        uint16_t hits[kBlock];
        if (all == n) {
            for (int64_t i = 0; i < n; ++i) hits[i] = uint16_t(i);
        } else {
            int64_t found = 0;
            for (int64_t i = 0; i < n; ++i) {
                hits[found] = uint16_t(i);
                found += counts(elements[i]);
            }
        }
        body(first, hits, all);
    });
}

// Coordinates that advance through a shape in order.
struct Coordinates {
    const Shape &shape;
    int64_t at[Shape::kMost];
    int64_t index = 0;

    explicit Coordinates(const Shape &shape) : shape(shape) {
        for (int d = 0; d < shape.ndim; ++d) at[d] = 0;
    }
    void move_to(int64_t next) {
        if (shape.ndim == 0) return;
        at[shape.ndim - 1] += next - index;
        index = next;
        for (int d = shape.ndim - 1; d > 0 && at[d] >= shape.size[d]; --d) {
            // Usually the next line; a division takes longer.
            const int64_t lines = at[d] < 2 * shape.size[d] ? 1 : at[d] / shape.size[d];
            at[d] -= lines * shape.size[d], at[d - 1] += lines;
        }
    }
};

size_t room_of(const Offsets &at) { return size_t(pieces(at.count())) * sizeof(int64_t); }

template <class T>
std::unique_ptr<Plan> plan_coordinates(const Tensor &input, const Bits<T> &counts) {
    const Shape shape(input);
    const Offsets at(input, 0, input.ndim);
    auto run = [=](const Arguments &a) {
        const T *data = a.pointer<T>(2);
        int64_t *before = reinterpret_cast<int64_t *>(a.workspace());
        const int64_t total = count_pieces(data, counts, at, before);
        int64_t *result = new (std::nothrow) int64_t[size_t(total * shape.ndim)];
        *a.pointer<int64_t *>(0) = result;
        *a.pointer<size_t>(1) = result ? size_t(total) : SIZE_MAX;
        if (!result) return;
        each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
            int64_t *to = result + before[piece] * shape.ndim;
            Coordinates where(shape);
            each_hit(data, counts, at, begin, end,
                     [&](int64_t first, const uint16_t *hits, int64_t found) {
                         if (shape.ndim == 1) {
                             for (int64_t k = 0; k < found; ++k) to[k] = first + hits[k];
                             to += found;
                             return;
                         }
                         for (int64_t k = 0; k < found; ++k, to += shape.ndim) {
                             where.move_to(first + hits[k]);
                             for (int d = 0; d < shape.ndim; ++d) to[d] = where.at[d];
                         }
                     });
        });
    };
    return make_plan(run, room_of(at));
}

std::unique_ptr<Plan> plan_argwhere(const Operation &operation) {
    const Tensor input = operation.tensor(0);
    constexpr uint64_t kNoSign = ~uint64_t(0) >> 1;
    switch (input.dtype) {
        case INFINI_DTYPE_F8:
            return plan_coordinates<uint8_t>(input, {0x7f});
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
            return plan_coordinates<uint16_t>(input, {0x7fff});
        case INFINI_DTYPE_C16:
            return plan_coordinates<uint16_t>(input, {0x7f7f});
        case INFINI_DTYPE_F32:
            return plan_coordinates<uint32_t>(input, {0x7fffffff});
        case INFINI_DTYPE_C32:
            return plan_coordinates<uint32_t>(input, {0x7fff7fff});
        case INFINI_DTYPE_F64:
            return plan_coordinates<uint64_t>(input, {kNoSign});
        case INFINI_DTYPE_C64:
            return plan_coordinates<uint64_t>(input, {0x7fffffff7fffffff});
        case INFINI_DTYPE_C128:
            return plan_coordinates<Pair>(input, {{{kNoSign, kNoSign}}});
    }
    switch (infiniSizeOf(infiniDtype_t(input.dtype))) {
        case 1:
            return plan_coordinates<uint8_t>(input, {0xff});
        case 2:
            return plan_coordinates<uint16_t>(input, {0xffff});
        case 4:
            return plan_coordinates<uint32_t>(input, {0xffffffff});
        default:
            return plan_coordinates<uint64_t>(input, {~uint64_t(0)});
    }
}

template <class E>
std::unique_ptr<Plan> plan_selection(const Operation &operation) {
    const Offsets at(operation.tensor(0), 0, operation.tensor(0).ndim);
    const Offsets mask_at(operation.tensor(1), 0, operation.tensor(1).ndim);
    auto run = [=](const Arguments &a) {
        const E *data = a.pointer<E>(0);
        const uint8_t *mask = a.pointer<uint8_t>(1);
        int64_t *before = reinterpret_cast<int64_t *>(a.workspace());
        const int64_t total = count_pieces(mask, Bits<uint8_t>{0xff}, mask_at, before);
        void *memory = std::malloc(total ? size_t(total) * sizeof(E) : 1);
        *a.pointer<void *>(2) = memory;
        *a.pointer<size_t>(3) = memory ? size_t(total) : SIZE_MAX;
        if (!memory) return;
        each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
            E *to = static_cast<E *>(memory) + before[piece];
            each_hit(mask, Bits<uint8_t>{0xff}, mask_at, begin, end,
                     [&](int64_t first, const uint16_t *hits, int64_t found) {
                         if (at.even() && at.step() == 1) {
                             for (int64_t k = 0; k < found; ++k) *to++ = data[first + hits[k]];
                             return;
                         }
                         int64_t offsets[kBlock];
                         at.fill(first, hits[found - 1] + 1, offsets);
                         for (int64_t k = 0; k < found; ++k) *to++ = data[offsets[hits[k]]];
                     });
        });
    };
    return make_plan(run, room_of(at));
}

std::unique_ptr<Plan> plan_masked_select(const Operation &operation) {
    switch (infiniSizeOf(infiniDtype_t(operation.tensor(0).dtype))) {
        case 1:
            return plan_selection<uint8_t>(operation);
        case 2:
            return plan_selection<uint16_t>(operation);
        case 4:
            return plan_selection<uint32_t>(operation);
        case 8:
            return plan_selection<uint64_t>(operation);
        default:
            return plan_selection<Pair>(operation);
    }
}

std::unique_ptr<Plan> plan_select(const Operation &operation) {
    return operation.is("argwhere") ? plan_argwhere(operation) : plan_masked_select(operation);
}

INFINI_KERNEL("masked_select", plan_select);

}  // namespace
}  // namespace infini::cpu
