// A copy word by word: of W, that has one or more elements E. With kPack, a word of the destination
// takes that many elements that lie anyhow in the source.
#include "strided_params.h"
#include "words.cuh"

namespace infini {

constexpr int kAtOnce = 4;  // words of a thread that are on their way together

INFINI_DEVICE W read(const StridedCopyParams &p, int64_t offset) {
    const char *from = static_cast<const char *>(p.from) + offset;
    if constexpr (kPack > 1) {
        Vec<E, kPack> parts;
#pragma unroll
        for (int i = 0; i < kPack; ++i) parts[i] = *reinterpret_cast<const E *>(from + i * p.step);
        return bit_cast<W>(parts);
    } else {
        return load_word<W, E>(from, p.whole);
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(StridedCopyParams, 256, 1) {
    const int64_t first = int64_t(blockIdx.x) * (256 * kAtOnce) + threadIdx.x;
    W word[kAtOnce];
    int64_t offset[kAtOnce][2];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
        const int64_t at = first + i * 256;
        if (at >= p.words.count) break;
        p.words.at(at, offset[i]);
        word[i] = read(p, offset[i][1]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * 256 >= p.words.count) break;
        store_word<E>(static_cast<char *>(p.to) + offset[i][0], word[i], p.whole);
    }
}
