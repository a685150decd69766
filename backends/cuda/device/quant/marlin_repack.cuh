// AWQ's and GPTQ's packing turned into Marlin's: a word of the output for each thread. Codes have
// kBits bits and are packed in runs of 1024: of 16 rows and 64 columns, or 32 rows and 32 columns
// for 8-bit activations (kA8).
#include "packed_params.h"

namespace infini {

constexpr int kCodes = 32 / kBits, kRunWords = 1024 / kCodes;
constexpr int kRows = kA8 ? 32 : 16, kColumns = kA8 ? 32 : 64;

struct Place {
    int row, column;
};

// The code with number `index` in word `word` of a run.
INFINI_DEVICE Place place_of(int word, int index) {
    int tile, half, lane, row;
    if (kA8) {
        const int upper = kBits == 4 ? index % 2 : word % 2;
        const int low = kBits == 4 ? index / 2 : index;
        if (kBits == 8) word /= 2;
        half = word % 2, tile = word / 2 % 2, lane = word / 4;
        row = upper * 16 + lane % 4 * 4 + low;
    } else {
        const int upper = index % 2;
        const int odd = kBits == 4 ? index / 4 : index / 2;
        half = kBits == 4 ? index / 2 % 2 : word % 2;
        if (kBits == 8) word /= 2;
        tile = word % 4, lane = word / 4;
        row = upper * 8 + lane % 4 * 2 + odd;
    }
    return {row, tile * 16 + half * 8 + lane / 4};
}

INFINI_DEVICE uint32_t code_at(const RepackParams &p, int64_t row, int64_t column) {
    constexpr uint32_t kMask = (1u << kBits) - 1;
    if (kAwq) {
        const int j = int(column % kCodes);
        const int index = kBits == 4 ? j % 2 * 4 + j / 2 : j % 2 * 2 + j / 2;
        return p.in[row * (p.n / kCodes) + column / kCodes] >> (index * kBits) & kMask;
    }
    if (p.from) row = p.from[row];
    if (row < 0 || row >= p.k) return 0;
    return p.in[row / kCodes * p.n + column] >> (int(row % kCodes) * kBits) & kMask;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RepackParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.words) return;
    const int64_t run = i / kRunWords, across = p.n / kColumns;
    const int64_t band = run / across;
    const int64_t row = band * kRows, column = (run - band * across) * kColumns;
    uint32_t word = 0;
#pragma unroll 1
    for (int index = 0; index < kCodes; ++index) {
        const Place at = place_of(int(i % kRunWords), index);
        word |= code_at(p, row + at.row, column + at.column) << (index * kBits);
    }
    p.out[i] = word;
}
