// Two dimensions change their places, elements E of 1 to 16 bytes. Tiles go through shared memory
// in words of 4 bytes or more, so both sides are touched in runs of 128 bytes and without conflicts
// of banks: words of several elements are read in squares (of 2 x 2, or 4 x 4) that are turned in
// registers.
#include "strided_params.h"
#include "words.cuh"

namespace infini {

constexpr int kBytes = sizeof(E);
constexpr int kSide = kBytes < 4 ? 4 / kBytes : 1;  // of the squares
constexpr int kWords = 32, kTile = kWords * kSide;  // words, and elements, of a tile's row
constexpr int kLines = 8;                           // that 256 threads do at a time
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

// Column x * kSide + j of a tile is kept in line j * kWords + x: no two threads of a warp then meet
// in a bank.
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
