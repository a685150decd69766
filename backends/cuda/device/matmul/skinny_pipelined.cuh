// Products with at most 16 rows of a, where k runs along aligned vectors of b. They are bound by
// reading b once at memory bandwidth. A block is resident on its multiprocessor and processes
// groups of columns in sequence; each warp keeps kStages copies of its share of k in flight to
// shared memory, also while the results of a group are stored. The host defines T, O, kTiles (of 8
// columns, per group), kRows (of a in shared memory: 1, 2, 4, 8 or 16), kWarps, kStages and kAhead
// (bytes).
//
// A lane reads only data that it copied itself, so there is only one barrier per group of columns.
// The order of k is arbitrary as long as a and b agree, as in skinny.cuh: a lane has eight of 32
// consecutive k. The order of a sum depends on k and kWarps only, so that a row's bits do not
// depend on the number of rows.
#include "finish.cuh"
#include "mma.cuh"

namespace infini {

constexpr int kThreads = 32 * int(kWarps), kColumns = 8 * int(kTiles);
constexpr int kDepth = 64;  // per stage of a warp: lines of 128 bytes

// The data that a warp copies for one step, in vectors of eight elements along k.
struct Stage {
    Vec<uint32_t, 4> b[2][kTiles][32];
    Vec<uint32_t, 4> a[2][kRows * 4];
};

// A group of columns, and a position in the warp's share of k.
struct Place {
    int group, step;

    INFINI_DEVICE void advance(int steps) {
        if (++step == steps) step = 0, group += int(gridDim.x);
    }
};

struct Operands {
    const MatmulParams &p;
    int groups;  // groups of columns of all matrices
    // b is read once, so it should leave the data and code that kernels share in L2.
    uint64_t policy = ptx::evict_first();

    INFINI_DEVICE explicit Operands(const MatmulParams &p) : p(p), groups(p.tiles_n * p.batch) {}

    INFINI_DEVICE int column(int group) const { return group % p.tiles_n * kColumns; }
    INFINI_DEVICE int64_t batch(int group) const { return group / p.tiles_n; }
    INFINI_DEVICE const T *b(int group) const {
        return static_cast<const T *>(p.b.data) + batch(group) * p.b.batch +
               column(group) * p.b.line;
    }

    // Starts copying a stage, or nothing after the last one. Elements out of bounds are set to 0.
    INFINI_DEVICE void begin(Stage &stage, const Place &place) const {
        if (place.group < groups) {
            const int g = lane() / 4, t = lane() % 4;
            const int first = (place.step * kWarps + warp()) * kDepth + 8 * t;
            const int columns = p.n - column(place.group);
            const T *from = b(place.group);
            const T *rows = static_cast<const T *>(p.a.data) + batch(place.group) * p.a.batch;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int k = first + 32 * half;
#pragma unroll
                for (int j = 0; j < kTiles; ++j) {
                    const bool inside = k < p.k && 8 * j + g < columns;
                    copy_async_once(&stage.b[half][j][lane()],
                                    inside ? from + (8 * j + g) * p.b.line + k : from,
                                    inside ? 16 : 0, policy);
                }
#pragma unroll
                for (int row = g; row < kRows; row += 8) {
                    const bool inside = k < p.k && row < p.m;
                    copy_async_reused(&stage.a[half][4 * row + t],
                                      inside ? rows + row * p.a.line + k : rows, inside ? 16 : 0);
                }
            }
        }
        commit_copies();
    }
};

INFINI_DEVICE void multiply(const Stage &stage, float (&sums)[kTiles][4]) {
    const int g = lane() / 4, t = lane() % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        Vec<uint32_t, 4> low{}, high{};  // rows g and g + 8
        if (g < kRows) low = stage.a[half][4 * g + t];
        if constexpr (kRows > 8) high = stage.a[half][4 * (g + 8) + t];
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
            const Vec<uint32_t, 4> b = stage.b[half][j][lane()];
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                const uint32_t rows[4] = {low[i], high[i], low[i + 1], high[i + 1]};
                const uint32_t pair[2] = {b[i], b[i + 1]};
                mma<T>(sums[j], rows, pair);
            }
        }
    }
}

// The sums of a group of columns over all warps. Called by all threads.
template <class Epilogue>
INFINI_DEVICE void finish_group(const MatmulParams &p, int column,
                                float (&parts)[kWarps][kRows][kColumns],
                                const float (&sums)[kTiles][4], const Epilogue &finish) {
    const int g = lane() / 4, t = lane() % 4;
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int row = g + i / 2 * 8;
            if (row < kRows) parts[warp()][row][8 * j + 2 * t + i % 2] = sums[j][i];
        }
    __syncthreads();
    constexpr int kRuns = kColumns / 4;
    for (int run = int(threadIdx.x); run < kRows * kRuns; run += kThreads) {
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

// While the previous kernel ends: prefetches b to L2, where later writes of that kernel are also
// visible.
INFINI_DEVICE void fetch_ahead(const ProductParams &params) {
    const MatmulParams &p = params.product;
    const Operands operands(p);
    const int group = int(blockIdx.x), line = int(threadIdx.x);
    if (line < kColumns && line < p.n - operands.column(group)) {
        const int bytes = p.k * int(sizeof(T));
        ptx::prefetch_l2(operands.b(group) + line * p.b.line, bytes < kAhead ? bytes : kAhead,
                         operands.policy);
    }
}

}  // namespace infini

INFINI_ENTRY_AFTER(infini::fetch_ahead, infini::ProductParams, infini::kThreads, 2) {
    using namespace infini;
    INFINI_DYNAMIC_SHARED(memory);
    // Two buffers: one is read while warps that are ahead write the other.
    INFINI_SHARED float parts[2][kWarps][kRows][kColumns];
    Stage *stages = reinterpret_cast<Stage *>(memory) + warp() * kStages;
    const MatmulParams &product = p.product;
    const Operands operands(product);
    const int steps = (product.k + kWarps * kDepth - 1) / (kWarps * kDepth);
    Place next{int(blockIdx.x), 0};
#pragma unroll 1
    for (int i = 0; i < kStages; ++i, next.advance(steps)) operands.begin(stages[i], next);
    int stage = 0, side = 0;
#pragma unroll 1
    for (int group = int(blockIdx.x); group < operands.groups; group += int(gridDim.x)) {
        float sums[kTiles][4] = {};
#pragma unroll 1
        for (int step = 0; step < steps; ++step, next.advance(steps)) {
            wait_for_copies<kStages - 1>();
            multiply(stages[stage], sums);
            operands.begin(stages[stage], next);
            if (++stage == kStages) stage = 0;
        }
        finish_group(product, operands.column(group), parts[side], sums,
                     Epilogue<O, float>(p, operands.batch(group)));
        side ^= 1;
    }
}
