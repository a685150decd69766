// A tile of a product with ordinary multiplications: for F32, F64 and integers, and for cases that
// the tensor cores do not support.
#pragma once

#include "sources.cuh"

namespace infini {

// kThreads threads with micro-tiles of 4 or 8 rows and columns, in groups of 4.
template <class C, int rows, int columns, int micro>
struct PlainTile {
    static constexpr int kAcross = columns / micro, kThreads = rows / micro * kAcross;
    static constexpr int kDepth = 8, kGroups = micro / 4;
    static constexpr int kRunA = rows * kDepth / kThreads, kRunB = columns * kDepth / kThreads;
    static_assert(kRunA <= kDepth && kRunB <= kDepth);
    static constexpr int kPad = 4;

    struct Shared {
        C a[2][kDepth][rows + kPad], b[2][kDepth][columns + kPad];
    };

    C sums[micro][micro];

    INFINI_DEVICE PlainTile() {
#pragma unroll
        for (int i = 0; i < micro; ++i)
#pragma unroll
            for (int j = 0; j < micro; ++j) sums[i][j] = C(0);
    }

    // Index of a row or column of this thread's micro-tile in the tile.
    template <int extent>
    INFINI_DEVICE static int line(int thread, int i) {
        return i / 4 * (extent / kGroups) + thread * 4 + i % 4;
    }

    // Stores a run of one operand in shared memory.
    template <class Source, int extent, int run>
    struct Loader {
        static constexpr bool kAlongK = Source::kAlongK;
        const Source &source;
        typename Source::Line from;
        typename Source::template Raw<run> raw;

        INFINI_DEVICE static int outer() {
            return kAlongK ? int(threadIdx.x) / (kDepth / run)
                           : int(threadIdx.x) % (extent / run) * run;
        }
        INFINI_DEVICE static int along() {
            return kAlongK ? int(threadIdx.x) % (kDepth / run) * run
                           : int(threadIdx.x) / (extent / run);
        }
        INFINI_DEVICE explicit Loader(const Source &source)
            : source(source), from(source.line(outer())) {}
        INFINI_DEVICE void begin(int k) { raw = source.template fetch<run>(from, k + along()); }
        INFINI_DEVICE void finish(C (*to)[extent + kPad]) {
            typename Source::T values[run];
            source.finish(raw, values);
#pragma unroll
            for (int i = 0; i < run; ++i)
                to[along() + (kAlongK ? i : 0)][outer() + (kAlongK ? 0 : i)] =
                    convert<C>(values[i]);
        }
    };

    template <class SourceA, class SourceB>
    INFINI_DEVICE void multiply(const SourceA &source_a, const SourceB &source_b, int k, int end,
                                Shared &shared) {
        Loader<SourceA, rows, kRunA> a(source_a);
        Loader<SourceB, columns, kRunB> b(source_b);
        if (k < end) {
            a.begin(k), b.begin(k);
            a.finish(shared.a[0]), b.finish(shared.b[0]);
        }
        __syncthreads();
        const int ty = int(threadIdx.x) / kAcross, tx = int(threadIdx.x) % kAcross;
        int stage = 0;
#pragma unroll 1
        for (; k < end; k += kDepth) {
            const bool more = k + kDepth < end;
            if (more) a.begin(k + kDepth), b.begin(k + kDepth);
#pragma unroll
            for (int d = 0; d < kDepth; ++d) {
                C x[micro], y[micro];
#pragma unroll
                for (int i = 0; i < micro; ++i) {
                    x[i] = shared.a[stage][d][line<rows>(ty, i)];
                    y[i] = shared.b[stage][d][line<columns>(tx, i)];
                }
#pragma unroll
                for (int i = 0; i < micro; ++i)
#pragma unroll
                    for (int j = 0; j < micro; ++j) sums[i][j] += x[i] * y[j];
            }
            stage ^= 1;
            if (more) a.finish(shared.a[stage]), b.finish(shared.b[stage]);
            __syncthreads();
        }
    }

    // Calls use(row, column, values, count) for runs of 4 columns.
    template <class Use>
    INFINI_DEVICE void store_runs(int m, int n, const Use &use) {
        const int ty = int(threadIdx.x) / kAcross, tx = int(threadIdx.x) % kAcross;
        // One copy of the code for all runs: their sums are selected instead of indexed.
#pragma unroll 1
        for (int run = 0; run < micro * kGroups; ++run) {
            const int row = line<rows>(ty, run / kGroups);
            const int column = line<columns>(tx, run % kGroups * 4);
            C values[4] = {};
#pragma unroll
            for (int i = 0; i < micro; ++i)
#pragma unroll
                for (int j = 0; j < micro; ++j)
                    if (i == run / kGroups && j / 4 == run % kGroups) values[j % 4] = sums[i][j];
            if (row < m && column < n) use(row, column, values, n - column < 4 ? n - column : 4);
        }
    }
};

}  // namespace infini
