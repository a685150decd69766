// The epilogue of a product: applies alpha, scales, bias and beta to sums, rounds once, and stores.
#pragma once

#include "prelude.cuh"
#include "product_params.h"

#ifndef INFINI_EPILOGUE
#define INFINI_EPILOGUE 0
#endif

namespace infini {

// The tile and batch index of a block. Eight rows of tiles are traversed together, column by
// column, for cache reuse.
struct TilePlace {
    int row, column;  // of the tile
    int split, k, end;
    int64_t batch;

    INFINI_DEVICE explicit TilePlace(const MatmulParams &p) {
        const uint32_t tiles = uint32_t(p.tiles_m) * uint32_t(p.tiles_n);
        uint32_t tile = blockIdx.x % tiles;
        const uint32_t outer = blockIdx.x / tiles;
        split = int(outer % uint32_t(p.splits)), batch = outer / uint32_t(p.splits);
        constexpr uint32_t kGroup = 8;
        const uint32_t group = tile / (kGroup * uint32_t(p.tiles_n));
        const uint32_t first = group * kGroup;
        const uint32_t height = uint32_t(p.tiles_m) - first;
        const uint32_t rows = height < kGroup ? height : kGroup;
        tile -= first * uint32_t(p.tiles_n);
        row = int(first + tile % rows), column = int(tile / rows);
        k = split * p.k_each;
        end = p.k - k < p.k_each ? p.k : k + p.k_each;
    }
};

// The type in which sums of type C are scaled for results of type O: integers have fractional
// scales, unless the result is also an integer.
template <class O, class C>
using Scaled = Choose<kSame<C, int32_t> && !kSame<O, int32_t>, float, C>;

// Stores runs of columns of c in type O; the bias is also of type O.
template <class O, class C>
struct Finish {
    const MatmulParams &p;
    O *c;
    const O *addend;
    C alpha, beta;

    INFINI_DEVICE Finish(const MatmulParams &p, int64_t batch)
        : p(p),
          c(static_cast<O *>(p.c) + batch * p.c_batch),
          addend(static_cast<const O *>(p.addend) + batch * p.addend_batch),
          alpha(C(p.alpha)),
          beta(C(p.beta)) {}

    template <int n, class Sum>
    INFINI_DEVICE void operator()(int row, int column, const Sum (&sums)[n], int count) const {
        const C scale = p.row_scale ? alpha * C(p.row_scale[row]) : alpha;
        C values[n];
#pragma unroll
        for (int i = 0; i < n; ++i) {
            values[i] = C(sums[i]) * scale;
            if (i < count) {
                if (p.column_scale) values[i] *= C(p.column_scale[column + i]);
                if (p.bias)
                    values[i] += convert<C>(
                        static_cast<const O *>(p.bias)[int64_t(column + i) * p.bias_stride]);
            }
        }
        if (beta != C(0)) {
            const O *from = addend + row * p.addend_row + column * p.addend_column;
#pragma unroll
            for (int i = 0; i < n; ++i)
                if (i < count) values[i] += beta * convert<C>(from[i * p.addend_column]);
        }
        O *to = c + row * p.c_row + column * p.c_column;
        constexpr int kWidth = n < kWide<O> ? n : kWide<O>;
        const bool together = p.c_column == 1 && count == n &&
                              (reinterpret_cast<uint64_t>(to) & (kWidth * sizeof(O) - 1)) == 0;
        if (together) {
#pragma unroll
            for (int i = 0; i < n; i += kWidth) {
                C part[kWidth];
#pragma unroll
                for (int j = 0; j < kWidth; ++j) part[j] = values[i + j];
                store(to + i, narrow<O, kWidth>(part));
            }
        } else {
#pragma unroll
            for (int i = 0; i < n; ++i)
                if (i < count) to[i * p.c_column] = convert<O>(values[i]);
        }
    }
};

// Stores the sums of one split, for a kernel that adds them up.
template <class C>
struct KeepPartial {
    C *to;
    int n;

    INFINI_DEVICE KeepPartial(const MatmulParams &p, int64_t batch, int split)
        : to(static_cast<C *>(p.partial) + (int64_t(split) * p.batch + batch) * p.m * int64_t(p.n)),
          n(p.n) {}

    template <int width, class Sum>
    INFINI_DEVICE void operator()(int row, int column, const Sum (&sums)[width], int count) const {
        C *at = to + row * int64_t(n) + column;
#pragma unroll
        for (int i = 0; i < width; ++i)
            if (i < count) at[i] = C(sums[i]);
    }
};

// Parameters of a kernel: the product and, with INFINI_EPILOGUE, a program that processes its
// result and stores its own outputs.
#if INFINI_EPILOGUE
struct ProductParams {
    MatmulParams product;
    alignas(16) epilogue::Params epilogue_params;
};

template <class O, class C>
struct Epilogue {
    const ProductParams &p;
    int64_t batch;

    INFINI_DEVICE Epilogue(const ProductParams &p, int64_t batch) : p(p), batch(batch) {}

    template <int n, class Sum>
    INFINI_DEVICE void operator()(int row, int column, const Sum (&sums)[n], int count) const {
        float values[n];
#pragma unroll
        for (int i = 0; i < n; ++i) values[i] = float(sums[i]) * float(p.product.alpha);
        if (count == n) {
            epilogue::apply<n>(p.epilogue_params, batch, row, column, values);
        } else {
#pragma unroll
            for (int i = 0; i < n; ++i) {
                const float one[1] = {values[i]};
                if (i < count) epilogue::apply<1>(p.epilogue_params, batch, row, column + i, one);
            }
        }
    }
};
#else
struct ProductParams {
    MatmulParams product;
};

template <class O, class C>
struct Epilogue : Finish<O, C> {
    INFINI_DEVICE Epilogue(const ProductParams &p, int64_t batch)
        : Finish<O, C>(p.product, batch) {}
};
#endif

}  // namespace infini
