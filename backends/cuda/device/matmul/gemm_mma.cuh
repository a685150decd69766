// Matrix products on the tensor cores, a block for each tile of c. The host gives T and O, the
// types of the operands and of c; kRows, kColumns, kWarpsM, kWarpsN; how the operands lie: kAlongA,
// kAlongB (k runs along memory), kVectorA, kVectorB (in aligned vectors); and kSplit.
#include "finish.cuh"
#include "mma_tile.cuh"

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
        store_all(LastWord<O, float>(p, place.batch));
}
