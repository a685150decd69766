// pad; strides are in bytes.
#pragma once

#include "places.h"

namespace infini {

// As PadMode.
enum class Beyond : int32_t { kConstant, kReflect, kReplicate, kCircular };

struct PadDim {
    int64_t size, to;         // of the output, in words: elements of the innermost one with kPack
    int64_t before;           // number of output elements before the input's; negative: cropped
    int64_t from_size, from;  // of the input
    Divider divider;
};

struct PadParams {
    void *to;
    const void *from;
    double value;
    int64_t count;  // words
    PadDim dim[8];  // the innermost one first
    int32_t ndim, large;
    Beyond mode;
    int32_t whole;  // both sides are aligned for words
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// Maps indices of the output to indices of the input for each dimension. A word W holds one or more
// elements E; with kPack each element of an output word is loaded from its own index. T is the
// arithmetic type, used if the padding is constant (kConstants).
namespace infini {

// The index into an input of `size` elements for output index `at`; -1: the constant.
INFINI_DEVICE int64_t place_of(Beyond mode, int64_t at, int64_t size) {
    if (uint64_t(at) < uint64_t(size)) return at;
    switch (mode) {
        case Beyond::kReflect:
            return at < 0 ? -at : 2 * (size - 1) - at;
        case Beyond::kReplicate:
            return at < 0 ? 0 : size - 1;
        case Beyond::kCircular: {
            const int64_t near = at < 0 ? at + size : at - size;
            if (uint64_t(near) < uint64_t(size)) return near;
            const int64_t rest = at - divide_apart(at, size) * size;
            return rest < 0 ? rest + size : rest;
        }
        default:
            return -1;
    }
}

INFINI_DEVICE E constant(const PadParams &p) {
    if constexpr (kConstants && sizeof(T) == sizeof(E))
        return bit_cast<E>(convert<T>(p.value));
    else
        return E{};
}

INFINI_DEVICE W all_constant(const PadParams &p) {
    struct Parts {
        E part[sizeof(W) / sizeof(E)];
    } parts;
#pragma unroll
    for (unsigned i = 0; i < sizeof(W) / sizeof(E); ++i) parts.part[i] = constant(p);
    return bit_cast<W>(parts);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(PadParams, 256, 1) {
    int64_t rest = grid_thread();
    if (rest >= p.count) return;
    const char *from = static_cast<const char *>(p.from);
    char *to = static_cast<char *>(p.to);
    bool inside = true;
    int64_t first = 0;  // index of the first packed element
#pragma unroll 1
    for (int d = 0; d < p.ndim; ++d) {
        const PadDim &dim = p.dim[d];
        int64_t at = rest;
        if (d + 1 < p.ndim) {
            const int64_t next =
                p.large ? divide_apart(rest, dim.size) : dim.divider.divide(uint32_t(rest));
            at -= next * dim.size;
            rest = next;
        }
        if (kPack > 1 && d == 0) {
            first = at * kPack - dim.before;
            to += at * int64_t(sizeof(W));
            continue;
        }
        const int64_t place = place_of(p.mode, at - dim.before, dim.from_size);
        inside = inside && place >= 0;
        to += at * dim.to;
        from += place * dim.from;
    }
    W word;
    if (kPack > 1) {
        Vec<E, sizeof(W) / sizeof(E)> parts;
#pragma unroll
        for (unsigned i = 0; i < sizeof(W) / sizeof(E); ++i) {
            const int64_t place = place_of(p.mode, first + i, p.dim[0].from_size);
            parts[i] = inside && place >= 0
                           ? *reinterpret_cast<const E *>(from + place * p.dim[0].from)
                           : constant(p);
        }
        word = bit_cast<W>(parts);
    } else {
        word = inside ? load_word<W, E>(from, p.whole) : all_constant(p);
    }
    store_word<E>(to, word, p.whole);
}

#endif  // INFINI_DEVICE
