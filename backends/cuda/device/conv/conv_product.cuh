// Convolution as a product of filters [features, taps * channels] and windows, which are never
// written down. The host gives T, C (what sums are in), kTransposed, kRows, kColumns; for the
// tensor cores INFINI_MMA = 1, kWarpsM, kWarpsN, else kMicro.
#include "matmul/mma_tile.cuh"
#include "matmul/simt_tile.cuh"
#include "window_source.cuh"

namespace infini {
#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<C, kRows, kColumns, kMicro>;
#endif
}  // namespace infini

INFINI_ENTRY(infini::ConvolutionParams, infini::Product::kThreads, 1) {
    using namespace infini;
    const int group = int(blockIdx.y), row = int(blockIdx.x % p.tiles_m) * kRows;
    const int column = int(blockIdx.x / p.tiles_m) * kColumns;
    const int depth = p.tap_count * p.padded, columns = p.images * p.out_size;
    const MatmulOperand filters{p.w, depth, 1, int64_t(p.features) * depth};
    const StridedSource<T, true, true> a(filters, group, row, p.features, depth);
    const WindowSource<T, kTransposed> b{p, column, columns, group};
    const StoreWindows<T, C> finish{p, group, row, column};
    Product product;
#if INFINI_MMA
    INFINI_DYNAMIC_SHARED(shared);
    product.multiply(a, b, 0, depth, shared);
    product.store_runs(shared, p.features - row, columns - column, finish);
#else
    INFINI_SHARED Product::Shared shared;
    product.multiply(a, b, 0, depth, shared);
    product.store_runs(p.features - row, columns - column, finish);
#endif
}
