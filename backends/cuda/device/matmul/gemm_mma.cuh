// Matrix products on the tensor cores, a block for each tile of c. The host gives T and O, the types of
// the operands and of c; kRows, kColumns, kWarpsM, kWarpsN; how the operands lie: kAlongA, kAlongB (k
// runs along memory), kVectorA, kVectorB (in aligned vectors); and kSplit.
#include "finish.cuh"
#include "mma_tile.cuh"

namespace infini {
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, kAlongA, kAlongB>;
}

INFINI_ENTRY(infini::MatmulParams, infini::Product::kThreads, 1) {
    using namespace infini;
    INFINI_DYNAMIC_SHARED(shared);
    const TilePlace place(p);
    const int row = place.row * kRows, column = place.column * kColumns;
    const StridedSource<T, kAlongA, kVectorA> a(p.a, place.batch, row, p.m, place.end);
    const StridedSource<T, kAlongB, kVectorB> b(p.b, place.batch, column, p.n, place.end);
    Product product;
    product.multiply(a, b, place.k, place.end, shared);
    auto store_all = [&](const auto &finish) {
        product.store_runs(shared, p.m - row, p.n - column,
                           [&](int i, int j, const auto &values, int count) {
                               finish(row + i, column + j, values, count);
                           });
    };
    if constexpr (kSplit)
        store_all(KeepPartial<Product::Sum>(p, place.batch, place.split));
    else
        store_all(Finish<O, float>(p, place.batch));
}
