// Matrix products without tensor cores, a block for each tile of c. The host gives A, B and O, the
// types of the operands and of c; C, what is summed in; kTile (64 or 128) and kMicro (4 or 8); how
// the operands lie: kAlongA, kAlongB (k runs along memory), kVectorA, kVectorB (in aligned runs);
// and kSplit.
#include "finish.cuh"
#include "simt_tile.cuh"

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
        store_all(LastWord<O, C>(p, place.batch));
}
