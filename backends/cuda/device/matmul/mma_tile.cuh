// A tile of a product on the tensor cores: operands go through shared memory in several stages,
// which are filled while earlier stages are multiplied.
#pragma once

#include "mma.cuh"
#include "sources.cuh"

namespace infini {

// A tile of an operand in shared memory, `outer` lines and `depth` elements along k, in chunks of
// 16 bytes. Its rows are along k or across the lines. Chunks of a row are permuted so that the
// eight rows which load_matrices reads at a time are in different banks.
template <class T, int outer, int depth, bool along_k>
struct StagedTile {
    static constexpr bool kAlongK = along_k;
    static constexpr int kChunk = 16 / int(sizeof(T));
    static constexpr int kRows = along_k ? outer : depth;
    static constexpr int kRowChunks = (along_k ? depth : outer) / kChunk;
    static constexpr int kBytes = outer * depth * int(sizeof(T));

    INFINI_DEVICE static int place(int row, int chunk) {
        int turned = chunk;
        if constexpr (kRowChunks >= 8)
            turned = chunk ^ (row & 7);
        else if constexpr (kRowChunks == 4)
            turned = chunk ^ (row >> 1 & 3);
        else if constexpr (kRowChunks == 2)
            turned = chunk ^ (row >> 2 & 1);
        return (row * kRowChunks + turned) * 16;
    }
};

// Fills stages from a source: asynchronously if the source has its elements in vectors, otherwise
// through registers, which are stored after the product of another stage.
template <class Source, class Tile, int threads>
struct StageLoader {
    using T = typename Source::T;
    static constexpr int kChunks = Tile::kRows * Tile::kRowChunks;
    static constexpr int kCount = (kChunks + threads - 1) / threads;
    static constexpr bool kExact = kChunks % threads == 0;
    static constexpr int kChunk = Tile::kChunk;
    using Raw = typename Source::template Raw<kChunk>;

    const Source &source;
    typename Source::Line lines[kCount];
    Raw raw[Source::kVector ? 1 : kCount];

    INFINI_DEVICE explicit StageLoader(const Source &source) : source(source) {
#pragma unroll
        for (int i = 0; i < kCount; ++i)
            lines[i] = source.line(Tile::kAlongK ? row(i) : chunk(i) * kChunk);
    }

    INFINI_DEVICE static int row(int i) {
        return (int(threadIdx.x) + i * threads) / Tile::kRowChunks;
    }
    INFINI_DEVICE static int chunk(int i) {
        return (int(threadIdx.x) + i * threads) % Tile::kRowChunks;
    }
    INFINI_DEVICE static bool mine(int i) {
        return kExact || int(threadIdx.x) + i * threads < kChunks;
    }

    // Elements from k0 on, of all lines.
    INFINI_DEVICE void begin(unsigned char *stage, int k0) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            if (!mine(i)) continue;
            const int k = k0 + (Tile::kAlongK ? chunk(i) * kChunk : row(i));
            if constexpr (Source::kVector) {
                int left = source.left(lines[i], k);
                left = left < 0 ? 0 : left < kChunk ? left : kChunk;
                copy_async(stage + Tile::place(row(i), chunk(i)),
                           source.address(lines[i], left > 0 ? k : 0), left * int(sizeof(T)));
            } else {
                raw[i] = source.template fetch<kChunk>(lines[i], k);
            }
        }
    }
    INFINI_DEVICE void finish(unsigned char *stage) {
        if constexpr (!Source::kVector) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
                if (!mine(i)) continue;
                T values[kChunk];
                source.finish(raw[i], values);
                Vec<T, kChunk> chunk_values;
#pragma unroll
                for (int j = 0; j < kChunk; ++j) chunk_values[j] = values[j];
                store(reinterpret_cast<T *>(stage + Tile::place(row(i), chunk(i))), chunk_values);
            }
        }
    }
};

// T: f16, bf16, or int8_t (whose tiles are along k).
template <class T, int rows, int columns, int warps_m, int warps_n, bool a_along_k, bool b_along_k>
struct MmaTile {
    static constexpr int kThreads = 32 * warps_m * warps_n, kStages = 4;
    static constexpr int kDepth = 64 / int(sizeof(T));  // per stage: 64 bytes
    static constexpr int kM = rows / warps_m / 16, kN = columns / warps_n / 16;
    using Sum = Choose<kSame<T, int8_t>, int, float>;
    using TileA = StagedTile<T, rows, kDepth, a_along_k>;
    using TileB = StagedTile<T, columns, kDepth, b_along_k>;
    static constexpr int kStage = TileA::kBytes + TileB::kBytes;
    static constexpr int kSumBytes = rows * columns * 4;
    static constexpr int kShared = kStages * kStage > kSumBytes ? kStages * kStage : kSumBytes;
    static_assert(sizeof(T) == 2 || (a_along_k && b_along_k));

    Sum sums[kM][2 * kN][4];

    INFINI_DEVICE MmaTile() {
#pragma unroll
        for (int i = 0; i < kM; ++i)
#pragma unroll
            for (int j = 0; j < 2 * kN; ++j)
#pragma unroll
                for (int r = 0; r < 4; ++r) sums[i][j][r] = Sum(0);
    }

    // Adds the products of elements [k, end) of the lines.
    template <class SourceA, class SourceB>
    INFINI_DEVICE void multiply(const SourceA &source_a, const SourceB &source_b, int k, int end,
                                unsigned char *shared) {
        StageLoader<SourceA, TileA, kThreads> a(source_a);
        StageLoader<SourceB, TileB, kThreads> b(source_b);
        const int steps = (end - k + kDepth - 1) / kDepth;
        auto begin = [&](int step) {
            unsigned char *stage = shared + step % kStages * kStage;
            a.begin(stage, k + step * kDepth);
            b.begin(stage + TileA::kBytes, k + step * kDepth);
        };
        auto finish = [&](int step) {
            unsigned char *stage = shared + step % kStages * kStage;
            a.finish(stage);
            b.finish(stage + TileA::kBytes);
        };
        // The first iterations only start filling stages.
#pragma unroll 1
        for (int step = 1 - kStages; step < steps; ++step) {
            const int next = step + kStages - 1;
            if (step >= 0) {
                wait_for_copies<kStages - 2>();
                __syncthreads();  // this stage is full, and the previous one has been read
            }
            if (next < steps) begin(next);
            if (step >= 0) multiply_stage(shared + step % kStages * kStage);
            if (next < steps) finish(next);
            commit_copies();
        }
        wait_for_copies<0>();
        __syncthreads();
    }

    INFINI_DEVICE void multiply_stage(const unsigned char *stage) {
        const int from_m = warp() / warps_n * kM * 16, from_n = warp() % warps_n * kN * 16;
        const int l = lane();
#pragma unroll
        for (int k = 0; k < 2; ++k) {  // a chunk is half the depth of an instruction
            uint32_t a[kM][4], b[2 * kN][2];
#pragma unroll
            for (int i = 0; i < kM; ++i) {
                const int line = from_m + i * 16;
                const int place =
                    a_along_k ? TileA::place(line + l % 16, 2 * k + l / 16)
                              : TileA::place(16 * k + l % 8 + l / 16 * 8, line / 8 + l / 8 % 2);
                load_matrices<4, !a_along_k>(a[i], stage + place);
            }
#pragma unroll
            for (int j = 0; j < kN; ++j) {
                const int line = from_n + j * 16;
                const int place = b_along_k
                                      ? TileB::place(line + l % 8 + l / 16 * 8, 2 * k + l / 8 % 2)
                                      : TileB::place(16 * k + l % 16, line / 8 + l / 16);
                uint32_t pair[4];
                load_matrices<4, !b_along_k>(pair, stage + TileA::kBytes + place);
                b[2 * j][0] = pair[0], b[2 * j][1] = pair[1];
                b[2 * j + 1][0] = pair[2], b[2 * j + 1][1] = pair[3];
            }
#pragma unroll
            for (int i = 0; i < kM; ++i)
#pragma unroll
                for (int j = 0; j < 2 * kN; ++j) {
                    if constexpr (kSame<T, int8_t>)
                        mma_i8(sums[i][j], a[i], b[j]);
                    else
                        mma<T>(sums[i][j], a[i], b[j]);
                }
        }
    }

    // Calls use(row, column, values, count) for runs of 8 columns, through shared memory, so that
    // neighbouring threads have neighbouring runs. The valid part of the tile has `m` rows and `n`
    // columns.
    template <class Use>
    INFINI_DEVICE void store_runs(unsigned char *shared, int m, int n, const Use &use) {
        Sum *tile = reinterpret_cast<Sum *>(shared);
        const int g = lane() / 4, t = lane() % 4;
        auto place = [](int row, int quad) { return row * columns + (quad ^ (row & 7)) * 4; };
        static_assert(columns % 32 == 0);
#pragma unroll
        for (int i = 0; i < kM; ++i)
#pragma unroll
            for (int j = 0; j < 2 * kN; ++j)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int row = (warp() / warps_n * kM + i) * 16 + half * 8 + g;
                    const int column = warp() % warps_n * kN * 16 + j * 8 + 2 * t;
                    Vec<Sum, 2> pair{{sums[i][j][2 * half], sums[i][j][2 * half + 1]}};
                    store(tile + place(row, column / 4) + column % 4, pair);
                }
        __syncthreads();
        constexpr int kRuns = columns / 8;
        for (int run = int(threadIdx.x); run < rows * kRuns; run += kThreads) {
            const int row = run / kRuns, column = run % kRuns * 8;
            if (row >= m || column >= n) continue;
            const Vec<Sum, 4> low = load<4>(tile + place(row, column / 4));
            const Vec<Sum, 4> high = load<4>(tile + place(row, column / 4 + 1));
            const Sum values[8] = {low[0],  low[1],  low[2],  low[3],
                                   high[0], high[1], high[2], high[3]};
            use(row, column, values, n - column < 8 ? n - column : 8);
        }
    }
};

}  // namespace infini
