// scatter and related operators. An entry of the index selects `row` in a line of the output, where
// its update is stored; output elements are numbered line by line. Strides are in elements.
#pragma once

#include "places.h"

namespace infini {

struct ScatterParams {
    void *out;
    const void *index, *updates;
    uint32_t *keys;                  // output element of each entry; `groups`: none
    int32_t *last;                   // the last entry of each output element
    const uint32_t *sorted, *order;  // entries sorted by output element
    Places<3> entries;               // in the index, the updates, and the first element of the line
    Places<1> lines;                 // in the output
    Divider rows_divider;
    int64_t rows, step;  // number and stride of the rows of an output line
    int64_t groups;      // number of output elements
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Offsets of scatter's elements in the output.
namespace infini {

// The offset of an element in the output.
INFINI_DEVICE int64_t offset_of(const ScatterParams &p, int64_t place) {
    int64_t line[1];
    const int64_t number = p.groups < (int64_t(1) << 31) ? p.rows_divider.divide(uint32_t(place))
                                                         : divide_apart(place, p.rows);
    p.lines.at(number, line);
    return line[0] + (place - number * p.rows) * p.step;
}

}  // namespace infini

#ifndef INFINI_KERNEL_SCATTER_FOLD
// The destination of an entry.
namespace infini {

struct Entry {
    int64_t update;  // offset
    int64_t place;   // -1: the index is out of range
};

INFINI_DEVICE Entry entry_at(const ScatterParams &p, int64_t i) {
    int64_t offset[3];
    p.entries.at(i, offset);
    const int64_t row = static_cast<const I *>(p.index)[offset[0]];
    return {offset[1], uint64_t(row) < uint64_t(p.rows) ? offset[2] + row : -1};
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_SCATTER_KEYS
// Stores the output element of each entry, for a sort; or (kLast) the last entry of each element,
// by integer maximum, which does not depend on the order of the threads.
using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries.count) return;
    const int64_t place = entry_at(p, i).place;
    if (!kLast)
        p.keys[i] = uint32_t(place < 0 ? p.groups : place);
    else if (place >= 0)
        atomicMax(&p.last[place], int32_t(i));
}
#endif

#ifdef INFINI_KERNEL_SCATTER_ASSIGN
// Writes the last update of each output element. Elements E are only moved.
using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries.count) return;
    const Entry entry = entry_at(p, i);
    if (entry.place < 0 || p.last[entry.place] != i) return;
    static_cast<E *>(p.out)[offset_of(p, entry.place)] =
        static_cast<const E *>(p.updates)[entry.update];
}
#endif

#ifdef INFINI_KERNEL_SCATTER_COMBINE
#include "fold.cuh"

// Folds each update into its output element, for folds whose result does not depend on the order:
// sums of integers, minima and maxima.
namespace infini {

template <class V>
INFINI_DEVICE void combine(V *to, V value) {
    using Word = Choose<sizeof(V) == 8, unsigned long long,
                        Choose<sizeof(V) == 4, unsigned int, unsigned short>>;
    Word *const at = reinterpret_cast<Word *>(to);
    if constexpr (kFold == kAdd) {
        atomicAdd(at, bit_cast<Word>(value));
    } else {
        using C = Sum<V>;
        Word seen = *static_cast<volatile Word *>(at);
        for (;;) {
            const C old = convert<C>(bit_cast<V>(seen));
            const Word made = bit_cast<Word>(convert<V>(Folding()(old, convert<C>(value))));
            if (made == seen) return;
            const Word found = atomicCAS(at, seen, made);
            if (found == seen) return;
            seen = found;
        }
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.entries.count) return;
    const Entry entry = entry_at(p, i);
    if (entry.place < 0) return;
    combine(static_cast<T *>(p.out) + offset_of(p, entry.place),
            static_cast<const T *>(p.updates)[entry.update]);
}
#endif

#ifdef INFINI_KERNEL_SCATTER_FEW
#include "fold.cuh"

// Folds up to 256 updates in one block: the thread of an element's first entry folds all of them.
namespace infini {

using C = Sum<T>;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    INFINI_SHARED int64_t places[256];
    INFINI_SHARED C values[256];
    const int count = int(p.entries.count), i = int(threadIdx.x);
    if (i < count) {
        const Entry entry = entry_at(p, i);
        places[i] = entry.place;
        values[i] = convert<C>(static_cast<const T *>(p.updates)[entry.update]);
    }
    __syncthreads();
    if (i >= count || places[i] < 0) return;
    const int64_t place = places[i];
    for (int k = 0; k < i; ++k)
        if (places[k] == place) return;
    T *const out = static_cast<T *>(p.out) + offset_of(p, place);
    const Folding fold;
    C sum = fold(kIncludeSelf ? convert<C>(*out) : neutral<C>(), values[i]);
    int64_t folded = 1 + kIncludeSelf;
    for (int k = i + 1; k < count; ++k) {
        if (places[k] != place) continue;
        sum = fold(sum, values[k]);
        ++folded;
    }
    if (kMean) sum = average(sum, folded);
    *out = convert<T>(sum);
}
#endif

#ifdef INFINI_KERNEL_SCATTER_FOLD
#include "fold.cuh"

// Folds the updates of each output element, sorted by element. The thread of an element's first
// entry folds up to kAlone of them; the rest of a long run is folded by the whole warp.
namespace infini {

using C = Sum<T>;
constexpr int kAlone = 64;

INFINI_DEVICE C update_at(const ScatterParams &p, int64_t i) {
    int64_t offset[3];
    p.entries.at(p.order[i], offset);
    return convert<C>(static_cast<const T *>(p.updates)[offset[1]]);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScatterParams, 256, 1) {
    const int64_t i = grid_thread(), count = p.entries.count;
    const uint32_t key = i < count ? p.sorted[i] : uint32_t(p.groups);
    const bool first = key < p.groups && (i == 0 || p.sorted[i - 1] != key);
    const Folding fold;
    int64_t next = i;
    C sum = neutral<C>();
    T *out = nullptr;
    if (first) {
        out = static_cast<T *>(p.out) + offset_of(p, key);
        if (kIncludeSelf) sum = convert<C>(*out);
        for (; next < count && next < i + kAlone && p.sorted[next] == key; ++next)
            sum = fold(sum, update_at(p, next));
    }
    Lanes more = vote(first && next < count && p.sorted[next] == key);
    while (more) {
        const int source = first_lane(more);
        more &= more - 1;
        const uint32_t run = shuffle(key, source);
        const int64_t begin = shuffle(next, source);
        C part = neutral<C>();
        int64_t at = begin + lane();
        for (; at < count && p.sorted[at] == run; at += kWarp) part = fold(part, update_at(p, at));
        part = fold_warp(part, fold);
        const int64_t folded = fold_warp((at - begin - lane()) / kWarp, fold::Sum());
        if (lane() == source) {
            sum = fold(sum, part);
            next += folded;
        }
    }
    if (!first) return;
    if (kMean) sum = average(sum, next - i + kIncludeSelf);
    *out = convert<T>(sum);
}
#endif

#endif  // INFINI_DEVICE
