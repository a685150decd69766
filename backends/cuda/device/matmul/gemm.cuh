// Matrix products (GEMM): with tensor cores, without them, and the sum over splits of k.
#pragma once

#include "finish.cuh"

#ifdef INFINI_KERNEL_GEMM_MMA
#include "mma_tile.cuh"

// Matrix products on the tensor cores, one block per tile of c. The host defines T and O, the types
// of the operands and of c; kRows, kColumns, kWarpsM, kWarpsN; the operands' layouts: kAlongA,
// kAlongB (k is contiguous), kVectorA, kVectorB (aligned vectors); and kSplit.
namespace infini {
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, kAlongA, kAlongB>;
}

INFINI_ENTRY(infini::ProductParams, infini::Product::kThreads, 1) {
    using namespace infini;
    INFINI_DYNAMIC_SHARED(shared);
    const MatmulParams &q = p.product;
    const TilePlace place(q);
    const int row = place.row * kRows, column = place.column * kColumns;
    const StridedSource<T, kAlongA, kVectorA> a(q.a, place.batch, row, q.m, place.end);
    const StridedSource<T, kAlongB, kVectorB> b(q.b, place.batch, column, q.n, place.end);
    Product product;
    product.multiply(a, b, place.k, place.end, shared);
    auto store_all = [&](const auto &finish) {
        product.store_runs(shared, q.m - row, q.n - column,
                           [&](int i, int j, const auto &values, int count) {
                               finish(row + i, column + j, values, count);
                           });
    };
    if constexpr (kSplit)
        store_all(KeepPartial<Product::Sum>(q, place.batch, place.split));
    else
        store_all(Epilogue<O, float>(p, place.batch));
}
#endif

#ifdef INFINI_KERNEL_GEMM_PLAIN
#include "simt_tile.cuh"

// Matrix products without tensor cores, one block per tile of c. The host defines A, B and O, the
// types of the operands and of c; C, the type of sums; kTile (64 or 128) and kMicro (4 or 8); the
// operands' layouts: kAlongA, kAlongB (k is contiguous), kVectorA, kVectorB (aligned runs); and
// kSplit.
namespace infini {
using Product = PlainTile<C, kTile, kTile, kMicro>;
}

INFINI_ENTRY(infini::ProductParams, infini::Product::kThreads, 1) {
    using namespace infini;
    INFINI_SHARED Product::Shared shared;
    const MatmulParams &q = p.product;
    const TilePlace place(q);
    const int row = place.row * kTile, column = place.column * kTile;
    const StridedSource<A, kAlongA, kVectorA> a(q.a, place.batch, row, q.m, place.end);
    const StridedSource<B, kAlongB, kVectorB> b(q.b, place.batch, column, q.n, place.end);
    Product product;
    product.multiply(a, b, place.k, place.end, shared);
    auto store_all = [&](const auto &finish) {
        product.store_runs(q.m - row, q.n - column,
                           [&](int i, int j, const auto &values, int count) {
                               finish(row + i, column + j, values, count);
                           });
    };
    if constexpr (kSplit)
        store_all(KeepPartial<C>(q, place.batch, place.split));
    else
        store_all(Epilogue<O, Scaled<O, C>>(p, place.batch));
}
#endif

#ifdef INFINI_KERNEL_GEMM_JOIN
// Adds up the sums of a product's splits, always in the same order. The host defines C, the type of
// sums, and O, the type of c.
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
        Finish<O, Scaled<O, C>>(p, line / p.m)(row, column, values, count);
    }
}
#endif
