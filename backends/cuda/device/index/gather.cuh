// Operators that select elements or rows by an index. Strides of the index are in entries, others
// in bytes.
#pragma once

#include "places.h"

namespace infini {

struct GatherParams {
    void *to;
    const void *from, *index;
    Places<3> words;      // in the output, the input (at index 0) and the index
    int64_t limit, step;  // size and stride of the indexed dimension
    int64_t shift;        // added to each entry of the index
    int32_t whole;        // words are aligned
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// Gathers words W of one or more elements E, selected by an index of type I. An out-of-range entry
// gives zeros, or with kSkip leaves the output unchanged.
namespace infini {

constexpr int kAtOnce = 4;  // words in flight per thread

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GatherParams, 256, 1) {
    const int64_t first = int64_t(blockIdx.x) * (256 * kAtOnce) + threadIdx.x;
    int64_t place[kAtOnce], to[kAtOnce], from[kAtOnce];
    W word[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
        const int64_t at = first + i * 256;
        place[i] = -1;
        if (at >= p.words.count) break;
        int64_t offset[3];
        p.words.at(at, offset);
        to[i] = offset[0], from[i] = offset[1];
        place[i] = int64_t(static_cast<const I *>(p.index)[offset[2]]) + p.shift;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
        word[i] = W{};
        if (first + i * 256 < p.words.count && uint64_t(place[i]) < uint64_t(p.limit))
            word[i] = load_word<W, E>(
                static_cast<const char *>(p.from) + from[i] + place[i] * p.step, p.whole);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * 256 >= p.words.count) break;
        if (!kSkip || uint64_t(place[i]) < uint64_t(p.limit))
            store_word<E>(static_cast<char *>(p.to) + to[i], word[i], p.whole);
    }
}

#endif  // INFINI_DEVICE
