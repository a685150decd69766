// Products with at most 16 rows of a, which are bound by reading b: every lane loads b directly
// into fragments of the tensor cores, and the warps of a block divide k. The host defines T, O,
// kTiles (of 8 columns, per block), kAlongB (k is contiguous in b), kWarps, kVector (all operands
// are in aligned vectors). For aligned vectors along k see skinny_pipelined.cuh.
//
// The order of k is arbitrary as long as a and b agree. Of 32 consecutive k, lane t of a group has
// the eight from 8 t on: the first instruction uses 8 t + 0, 1 and 2, 3, the second 4, 5 and 6, 7.
// The order of columns is also arbitrary: if n is contiguous, tile j has columns kTiles g + j.
#include "finish.cuh"
#include "mma.cuh"

namespace infini {

constexpr int kThreads = 32 * kWarps, kColumns = 8 * kTiles, kStep = 32, kUnroll = kAlongB ? 4 : 2;

// Eight elements along k as four pairs; zeros from index `left` on.
INFINI_DEVICE void load_pairs(const T *from, int64_t step, int left, uint32_t (&pairs)[4]) {
    if constexpr (kVector) {
        Vec<uint32_t, 4> words{};
        if (left > 0) words = load<4>(reinterpret_cast<const uint32_t *>(from));
#pragma unroll
        for (int i = 0; i < 4; ++i) pairs[i] = words[i];
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint32_t low = 2 * i < left ? from[2 * i * step].bits : 0;
            const uint32_t high = 2 * i + 1 < left ? from[(2 * i + 1) * step].bits : 0;
            pairs[i] = low | high << 16;
        }
    }
}

// The elements of b that a lane reads in one step.
struct Block {
    uint32_t pairs[kTiles][4];
};

INFINI_DEVICE Block load_block(const MatmulParams &p, const T *b, int column, int k) {
    const int g = lane() / 4;
    Block block;
    if constexpr (kAlongB) {
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
            const int line = column + 8 * j + g;
            load_pairs(b + line * p.b.line + k * p.b.along, p.b.along, line < p.n ? p.k - k : 0,
                       block.pairs[j]);
        }
    } else {
        // Rows of kTiles neighbours; two rows are interleaved into pairs.
        const int line = column + kTiles * g;
        const T *from = b + line * p.b.line + k * p.b.along;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            T rows[2][kTiles];
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const T *row = from + (2 * i + r) * p.b.along;
                const bool inside = k + 2 * i + r < p.k;
                if constexpr (kVector) {
                    Vec<T, kTiles> run{};
                    if (inside && line < p.n) {
                        if constexpr (kTiles == 8)
                            run = bit_cast<Vec<T, kTiles>>(load_past_l1(row));
                        else
                            run = load<kTiles>(row);
                    }
#pragma unroll
                    for (int j = 0; j < kTiles; ++j) rows[r][j] = run[j];
                } else {
#pragma unroll
                    for (int j = 0; j < kTiles; ++j)
                        rows[r][j] = inside && line + j < p.n ? row[j * p.b.line] : T{};
                }
            }
#pragma unroll
            for (int j = 0; j < kTiles; ++j)
                block.pairs[j][i] = uint32_t(rows[0][j].bits) | uint32_t(rows[1][j].bits) << 16;
        }
    }
    return block;
}

template <class Epilogue>
INFINI_DEVICE void multiply(const MatmulParams &p, int column, int64_t batch,
                            const Epilogue &finish) {
    INFINI_SHARED float parts[kWarps][16][kColumns];
    const T *a = static_cast<const T *>(p.a.data) + batch * p.a.batch;
    const T *b = static_cast<const T *>(p.b.data) + batch * p.b.batch;
    const int g = lane() / 4, t = lane() % 4;
    float sums[kTiles][4] = {};
    // Warps take steps in turn, so that they read neighbouring memory.
#pragma unroll 1
    for (int first = warp() * kStep; first < p.k; first += kUnroll * kWarps * kStep) {
        Block blocks[kUnroll];
        uint32_t x[kUnroll][2][4];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
            const int k = first + u * kWarps * kStep + 8 * t;
            blocks[u] = load_block(p, b, column, k);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = g + 8 * half;
                load_pairs(a + row * p.a.line + k * p.a.along, p.a.along, row < p.m ? p.k - k : 0,
                           x[u][half]);
            }
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const uint32_t rows[4] = {x[u][0][2 * i], x[u][1][2 * i], x[u][0][2 * i + 1],
                                          x[u][1][2 * i + 1]};
#pragma unroll
                for (int j = 0; j < kTiles; ++j) {
                    const uint32_t pair[2] = {blocks[u].pairs[j][2 * i],
                                              blocks[u].pairs[j][2 * i + 1]};
                    mma<T>(sums[j], rows, pair);
                }
            }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int n = 2 * t + i % 2;
            parts[warp()][g + i / 2 * 8][kAlongB ? 8 * j + n : kTiles * n + j] = sums[j][i];
        }
    __syncthreads();
    constexpr int kRuns = kColumns / 4;
    for (int run = int(threadIdx.x); run < 16 * kRuns; run += kThreads) {
        const int row = run / kRuns, j = run % kRuns * 4, count = p.n - column - j;
        if (row >= p.m || count <= 0) continue;
        float values[4] = {};
#pragma unroll
        for (int w = 0; w < kWarps; ++w)
#pragma unroll
            for (int i = 0; i < 4; ++i) values[i] += parts[w][row][j + i];
        finish(row, column + j, values, count < 4 ? count : 4);
    }
}

}  // namespace infini

INFINI_ENTRY(infini::ProductParams, infini::kThreads, 1) {
    using namespace infini;
    const uint32_t tiles = uint32_t(p.product.tiles_n);
    const int64_t batch = blockIdx.x / tiles;
    multiply(p.product, int(blockIdx.x % tiles) * kColumns, batch, Epilogue<O, float>(p, batch));
}
