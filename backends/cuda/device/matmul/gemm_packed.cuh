// Products with packed weights: codes are unpacked on their way to shared memory. The host gives T,
// O and C; kMxfp4 1, or 0 with kBits, kBytesA (Marlin's layout for 8-bit activations) and
// kAnyGroups; kRows, kColumns; INFINI_MMA 1 with kWarpsM, kWarpsN or 0 with kMicro; kVectorA,
// kVectorCodes; and kSplit.
#include "finish.cuh"
#include "mma_tile.cuh"
#include "quant/marlin_source.cuh"
#include "quant/mxfp4_source.cuh"
#include "simt_tile.cuh"

namespace infini {

#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<C, kRows, kColumns, kMicro>;
#endif

INFINI_DEVICE auto packed_weights(const PackedParams &p, int column, int depth) {
    if constexpr (kMxfp4) {
        // Lines are as long as all of k; a split ends before.
        const int64_t at = int64_t(column) * p.product.k;
        return Mxfp4Source<T, kVectorCodes>{static_cast<const uint8_t *>(p.product.b.data) + at / 2,
                                            static_cast<const uint8_t *>(p.scales) + at / 32,
                                            p.product.n - column, p.product.k};
    } else {
        return MarlinSource<T, kBits, kBytesA>{p, column, depth};
    }
}

}  // namespace infini

INFINI_ENTRY(infini::PackedParams, infini::Product::kThreads, 1) {
    using namespace infini;
    const TilePlace place(p.product);
    const int row = place.row * kRows, column = place.column * kColumns;
    const int m = p.product.m - row, n = p.product.n - column;
    const StridedSource<T, true, kVectorA> a(p.product.a, 0, row, p.product.m, place.end);
    const auto b = packed_weights(p, column, place.end);
    auto store_with = [&](const auto &finish) {
        return [&finish, row, column](int i, int j, const auto &values, int count) {
            finish(row + i, column + j, values, count);
        };
    };
    Product product;
#if INFINI_MMA
    INFINI_DYNAMIC_SHARED(shared);
    product.multiply(a, b, place.k, place.end, shared);
    if constexpr (kSplit)
        product.store_runs(shared, m, n, store_with(KeepPartial<C>(p.product, 0, place.split)));
    else
        product.store_runs(shared, m, n, store_with(Finish<O, C>(p.product, 0)));
#else
    INFINI_SHARED Product::Shared shared;
    product.multiply(a, b, place.k, place.end, shared);
    if constexpr (kSplit)
        product.store_runs(m, n, store_with(KeepPartial<C>(p.product, 0, place.split)));
    else
        product.store_runs(m, n, store_with(Finish<O, C>(p.product, 0)));
#endif
}
