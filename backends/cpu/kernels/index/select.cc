// argwhere and masked_select: results whose size only the data tell. They come in memory that is
// allocated here: two passes, one that counts in pieces, one that writes the pieces side by side.
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

// Calls body(begin, end, piece) for every piece.
template <class Body>
void each_piece(int64_t count, const Body &body) {
    parallel_for(size_t(pieces(count)), 1, [&](size_t first, size_t last) {
        for (size_t piece = first; piece < last; ++piece)
            body(int64_t(piece) * kPiece, std::min(count, int64_t(piece + 1) * kPiece),
                 int64_t(piece));
    });
}

// How many of the elements are not 0. Counts come to `before`, as the number of those before a
// piece.
template <class T>
int64_t count_pieces(const T *data, const Offsets &at, int64_t *before) {
    each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
        int64_t found = 0;
        if (at.even() && at.step() == 1)
            for (int64_t i = begin; i < end; ++i) found += data[i] != T(0);
        else
            for (int64_t i = begin; i < end; ++i) found += data[at(i)] != T(0);
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

std::unique_ptr<Plan> plan_argwhere(const Operation &operation) {
    const Tensor input = operation.tensor(0);
    const Shape shape(input);
    const Offsets at(input, 0, input.ndim);
    auto run = [=](const Arguments &a) {
        const float *data = a.pointer<float>(2);
        int64_t *before = reinterpret_cast<int64_t *>(a.workspace());
        const int64_t total = count_pieces(data, at, before);
        int64_t *result = new (std::nothrow) int64_t[size_t(total * shape.ndim)];
        *a.pointer<int64_t *>(0) = result;
        *a.pointer<size_t>(1) = result ? size_t(total) : SIZE_MAX;
        if (!result) return;
        each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
            int64_t *to = result + before[piece] * shape.ndim;
            for (int64_t i = begin; i < end; ++i) {
                if (data[at(i)] == 0) continue;
                int64_t rest = i;
                for (int d = shape.ndim - 1; d >= 0; --d)
                    to[d] = rest % shape.size[d], rest /= shape.size[d];
                to += shape.ndim;
            }
        });
    };
    return make_plan(run, size_t(pieces(at.count())) * sizeof(int64_t));
}

std::unique_ptr<Plan> plan_masked_select(const Operation &operation) {
    const Offsets at(operation.tensor(0), 0, operation.tensor(0).ndim);
    const Offsets mask_at(operation.tensor(1), 0, operation.tensor(1).ndim);
    auto run = [=](const Arguments &a) {
        const uint32_t *data = a.pointer<uint32_t>(0);
        const uint8_t *mask = a.pointer<uint8_t>(1);
        int64_t *before = reinterpret_cast<int64_t *>(a.workspace());
        const int64_t total = count_pieces(mask, mask_at, before);
        void *memory = std::malloc(total ? size_t(total) * sizeof(uint32_t) : 1);
        *a.pointer<void *>(2) = memory;
        *a.pointer<size_t>(3) = memory ? size_t(total) : SIZE_MAX;
        if (!memory) return;
        each_piece(at.count(), [&](int64_t begin, int64_t end, int64_t piece) {
            uint32_t *to = static_cast<uint32_t *>(memory) + before[piece];
            for (int64_t i = begin; i < end; ++i)
                if (mask[mask_at(i)]) *to++ = data[at(i)];
        });
    };
    return make_plan(run, size_t(pieces(at.count())) * sizeof(int64_t));
}

INFINI_KERNEL("argwhere", plan_argwhere);
INFINI_KERNEL("masked_select", plan_masked_select);

}  // namespace
}  // namespace infini::cpu
