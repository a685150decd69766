// Rows times the matrices of their experts: a block for each tile, which has rows of one expert
// only. The host gives T, kRows, kColumns; INFINI_MMA 1 with kWarpsM, kWarpsN or 0 with kMicro;
// kVector: rows of a and of the weights are aligned vectors; kMxfp4: the weights are codes.
#include "experts_params.h"
#include "matmul/mma_tile.cuh"
#include "matmul/simt_tile.cuh"
#include "quant/mxfp4_source.cuh"

namespace infini {

#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<float, kRows, kColumns, kMicro>;
#endif

// Rows of a, or the tokens of the pairs that rows are for.
struct RowSource : StridedSource<T, true, kVector> {
    using Base = StridedSource<T, true, kVector>;
    using Line = typename Base::Line;
    const int *order;
    int choices;

    INFINI_DEVICE RowSource(const ExpertsParams &p, int first, int count)
        : Base(MatmulOperand{p.a, p.k, 1, 0}, 0, p.choices ? 0 : first, first + count, p.k),
          order(p.order + first),
          choices(p.choices) {
        Base::lines = count;
    }
    INFINI_DEVICE Line line(int outer) const {
        if (outer >= Base::lines) return {Base::data, 0};
        if (!choices) return Base::line(outer);
        return {Base::data + int64_t(order[outer] / choices) * Base::line_stride, 1};
    }
};

INFINI_DEVICE auto expert_matrix(const ExpertsParams &p, int expert, int column) {
    const int64_t at = (int64_t(expert) * p.n + column) * p.k;
    if constexpr (kMxfp4) {
        const uint8_t *codes = static_cast<const uint8_t *>(p.weights);
        return Mxfp4Source<T, kVector>{codes + at / 2, p.scales + at / 32, p.n - column, p.k};
    } else {
        const T *matrix = p.pointers
                              ? static_cast<const T *>(p.pointers[expert])
                              : static_cast<const T *>(p.weights) + int64_t(expert) * p.n * p.k;
        return StridedSource<T, true, kVector>(MatmulOperand{matrix, p.k, 1, 0}, 0, column, p.n,
                                               p.k);
    }
}

// Stores rows, with the bias.
struct StoreRows {
    const ExpertsParams &p;
    int64_t row;
    int expert, column;

    template <int n, class Sum>
    INFINI_DEVICE void operator()(int i, int j, const Sum (&sums)[n], int count) const {
        const T *bias = static_cast<const T *>(p.bias) + int64_t(expert) * p.n + column + j;
        float values[n];
#pragma unroll
        for (int q = 0; q < n; ++q)
            values[q] = sums[q] + (p.bias && q < count ? convert<float>(bias[q]) : 0.0f);
        T *to = static_cast<T *>(p.c) + (row + i) * p.c_row + column + j;
        constexpr int kWidth = n < kWide<T> ? n : kWide<T>;
        if (count == n && (reinterpret_cast<uint64_t>(to) & (kWidth * sizeof(T) - 1)) == 0) {
#pragma unroll
            for (int q = 0; q < n; q += kWidth) {
                float part[kWidth];
#pragma unroll
                for (int r = 0; r < kWidth; ++r) part[r] = values[q + r];
                store(to + q, narrow<T, kWidth>(part));
            }
        } else {
#pragma unroll
            for (int q = 0; q < n; ++q)
                if (q < count) to[q] = convert<T>(values[q]);
        }
    }
};

}  // namespace infini

INFINI_ENTRY(infini::ExpertsParams, infini::Product::kThreads, 1) {
    using namespace infini;
    const int tile = int(blockIdx.x / p.tiles_n), column = int(blockIdx.x % p.tiles_n) * kColumns;
    if (tile >= p.tiles[p.experts]) return;
    // The last expert whose tiles begin here or before.
    int expert = 0;
    for (int beyond = p.experts; beyond - expert > 1;) {
        const int middle = (expert + beyond) / 2;
        (p.tiles[middle] <= tile ? expert : beyond) = middle;
    }
    const int row = p.starts[expert] + (tile - p.tiles[expert]) * kRows;
    int rows = p.starts[expert + 1] - row;
    rows = rows < kRows ? rows : kRows;
    const RowSource a(p, row, rows);
    const auto b = expert_matrix(p, expert, column);
    const StoreRows finish{p, row, expert, column};
    Product product;
#if INFINI_MMA
    INFINI_DYNAMIC_SHARED(shared);
    product.multiply(a, b, 0, p.k, shared);
    product.store_runs(shared, rows, p.n - column, finish);
#else
    INFINI_SHARED Product::Shared shared;
    product.multiply(a, b, 0, p.k, shared);
    product.store_runs(rows, p.n - column, finish);
#endif
}
