// Adds up the sums that the splits of a product left, always in the same order. The host gives C,
// what they are in, and O, the type of c.
#include "finish.cuh"

INFINI_ENTRY(infini::MatmulParams, 256, 1) {
    using namespace infini;
    constexpr int kRun = 4;
    const int64_t runs = (p.n + kRun - 1) / kRun, all = int64_t(p.batch) * p.m * runs;
    const int64_t size = int64_t(p.batch) * p.m * p.n;
    for (int64_t run = grid_thread(); run < all; run += grid_threads()) {
        const int column = int(run % runs) * kRun;
        const int64_t line = run / runs;
        const int row = int(line % p.m), count = p.n - column < kRun ? p.n - column : kRun;
        const C *from = static_cast<const C *>(p.partial) + line * p.n + column;
        C values[kRun] = {C(0), C(0), C(0), C(0)};
        for (int split = 0; split < p.splits; ++split, from += size)
#pragma unroll
            for (int i = 0; i < kRun; ++i)
                if (i < count) values[i] += from[i];
        Finish<O, Choose<kSame<C, double>, double, float>>(p, line / p.m)(row, column, values,
                                                                          count);
    }
}
