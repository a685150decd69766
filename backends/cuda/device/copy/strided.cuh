// Copies between strided tensors; strides are in bytes.
#pragma once

#include "places.h"

namespace infini {

struct BytesCopyParams {
    void *to;
    const void *from;
    int64_t bytes;
    int32_t aligned;  // bytes: alignment of both sides, at most 16
};

struct StridedCopyParams {
    void *to;
    const void *from;
    Places<2> words;
    int64_t step;   // kPack: distance of elements in the source
    int32_t whole;  // both sides are aligned for words
};

// Transposes tiles of two dimensions: neighbouring rows are adjacent in the destination, and
// neighbouring columns in the source.
struct TransposeParams {
    void *to;
    const void *from;
    int64_t rows, columns;
    int64_t to_step, to_column;   // strides of rows and columns
    int64_t from_row, from_step;  // strides of rows and columns
    int64_t tiles;                // tiles per matrix
    Divider across;               // number of tiles along the columns
    Places<2> matrices;
    int32_t whole_to, whole_from;  // aligned for whole words, which divide rows and columns
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

#ifdef INFINI_KERNEL_STRIDED_BYTES
// A copy of contiguous memory: 16 bytes per thread, by one access if both sides are aligned.
using namespace infini;

INFINI_ENTRY(BytesCopyParams, 256, 1) {
    using Word = Vec<uint32_t, 4>;
    const int64_t vectors = p.bytes / 16, at = grid_thread();
    const char *from = static_cast<const char *>(p.from) + at * 16;
    char *to = static_cast<char *>(p.to) + at * 16;
    if (at < vectors) {
        if (p.aligned < 4)
            store_word<uint8_t>(to, load_word<Word, uint8_t>(from, false), false);
        else
            store_word<uint32_t>(to, load_word<Word, uint32_t>(from, p.aligned == 16),
                                 p.aligned == 16);
    }
    const int64_t rest = vectors * 16 + at;
    if (at < 16 && rest < p.bytes)
        static_cast<char *>(p.to)[rest] = static_cast<const char *>(p.from)[rest];
}
#endif

#ifdef INFINI_KERNEL_STRIDED_STRIDED
// A copy in words W of one or more elements E. With kPack, the elements of a destination word have
// any stride in the source.
namespace infini {

constexpr int kAtOnce = 4;  // words in flight per thread

INFINI_DEVICE W read(const StridedCopyParams &p, int64_t offset) {
    const char *from = static_cast<const char *>(p.from) + offset;
    if constexpr (kPack > 1) {
        Vec<E, kPack> parts;
        if (p.step == 0) {
            const E element = *reinterpret_cast<const E *>(from);
#pragma unroll
            for (int i = 0; i < kPack; ++i) parts[i] = element;
            return bit_cast<W>(parts);
        }
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
#endif

#ifdef INFINI_KERNEL_STRIDED_TRANSPOSE
// Transposes two dimensions of elements E of 1 to 16 bytes. Tiles go through shared memory in words
// of 4 bytes or more, so that accesses on both sides are coalesced and free of bank conflicts:
// words of several elements are read in squares (2 x 2 or 4 x 4) that are transposed in registers.
namespace infini {

constexpr int kBytes = sizeof(E);
constexpr int kSide = kBytes < 4 ? 4 / kBytes : 1;  // elements per side of a square
constexpr int kWords = 32, kTile = kWords * kSide;  // words and elements per row of a tile
constexpr int kLines = 8;                           // processed by 256 threads at a time
using W = Choose<(kBytes < 4), uint32_t, Choose<kBytes == 16, Vec<uint32_t, 4>, E>>;

// Element i of word j becomes element j of word i.
template <class W>
INFINI_DEVICE void turn(W (&w)[kSide]) {
    if constexpr (kSide == 2) {
        const W low = __byte_perm(w[0], w[1], 0x5410), high = __byte_perm(w[0], w[1], 0x7632);
        w[0] = low, w[1] = high;
    } else if constexpr (kSide == 4) {
        const W a = __byte_perm(w[0], w[1], 0x5140), b = __byte_perm(w[2], w[3], 0x5140);
        const W c = __byte_perm(w[0], w[1], 0x7362), d = __byte_perm(w[2], w[3], 0x7362);
        w[0] = __byte_perm(a, b, 0x5410), w[1] = __byte_perm(a, b, 0x7632);
        w[2] = __byte_perm(c, d, 0x5410), w[3] = __byte_perm(c, d, 0x7632);
    }
}

// Column x * kSide + j of a tile is stored in line j * kWords + x, so that no two threads of a warp
// access the same bank.
INFINI_DEVICE int column_of(int line) { return line % kWords * kSide + line / kWords; }

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TransposeParams, 256, 4) {
    INFINI_SHARED W tile[kTile][kWords + 1];
    const int x = int(threadIdx.x) % kWords, y = int(threadIdx.x) / kWords;
    const int64_t matrix = int64_t(blockIdx.x) / p.tiles;
    const Quotient place = p.across.split(uint32_t(int64_t(blockIdx.x) - matrix * p.tiles));
    const int64_t row = int64_t(place.quotient) * kTile, column = int64_t(place.remainder) * kTile;
    int64_t offset[2];
    p.matrices.at(matrix, offset);
    const char *from = static_cast<const char *>(p.from) + offset[1] + row * p.from_row +
                       (column + x * kSide) * p.from_step;
    const int64_t rows = p.rows - row, columns = p.columns - column;
    if (p.whole_from) {
        const bool inside = x * kSide < columns;
        W word[kWords / kLines][kSide];
#pragma unroll
        for (int i = 0; i < kWords / kLines; ++i)
#pragma unroll
            for (int j = 0; j < kSide; ++j) {
                const int at = (i * kLines + y) * kSide + j;
                if (inside && at < rows)
                    word[i][j] = *reinterpret_cast<const W *>(from + at * p.from_row);
            }
#pragma unroll
        for (int i = 0; i < kWords / kLines; ++i) {
            turn(word[i]);
#pragma unroll
            for (int j = 0; j < kSide; ++j) tile[j * kWords + x][i * kLines + y] = word[i][j];
        }
    } else {  // element by element
#pragma unroll 2
        for (int i = y; i < kTile; i += kLines)
#pragma unroll
            for (int j = 0; j < kSide; ++j)
                if (i < rows && x * kSide + j < columns)
                    reinterpret_cast<E *>(&tile[j * kWords + x][i / kSide])[i % kSide] =
                        *reinterpret_cast<const E *>(from + i * p.from_row + j * p.from_step);
    }
    __syncthreads();
    char *to = static_cast<char *>(p.to) + offset[0] + column * p.to_column +
               (row + x * kSide) * p.to_step;
    if (p.whole_to) {
        const bool inside = x * kSide < rows;
#pragma unroll
        for (int i = 0; i < kTile / kLines; ++i) {
            const int line = i * kLines + y;
            if (inside && column_of(line) < columns)
                *reinterpret_cast<W *>(to + column_of(line) * p.to_column) = tile[line][x];
        }
    } else {
#pragma unroll 2
        for (int line = y; line < kTile; line += kLines) {
            char *here = to + column_of(line) * p.to_column;
#pragma unroll
            for (int j = 0; j < kSide; ++j)
                if (column_of(line) < columns && x * kSide + j < rows)
                    *reinterpret_cast<E *>(here + j * p.to_step) =
                        reinterpret_cast<const E *>(&tile[line][x])[j];
        }
    }
}
#endif

#endif  // INFINI_DEVICE
