// Matrix products with packed weights.
#pragma once

#include "finish.cuh"
#include "mma_tile.cuh"
#include "packed_params.h"
#include "quant/mxfp4_source.cuh"
#include "simt_tile.cuh"
#include "sources.cuh"

namespace infini {

// Weights in Marlin's tiles as an operand whose lines are columns. kAnyGroups: neighbours along k
// may be in different groups.
template <class Element, int bits, bool a_8bit>
struct MarlinSource {
    using T = Element;
    using Layout = MarlinLayout<bits, a_8bit>;
    static constexpr bool kAlongK = true, kVector = false;
    static constexpr uint32_t kMask = (1u << bits) - 1;

    struct Line {
        int column;  // -1: no such line
    };
    template <int n>
    struct Raw {
        uint32_t codes[n / 2];  // two codes each, at their original bit positions
        float scale[n], offset[n];
    };

    const PackedParams &p;
    int first, depth;

    INFINI_DEVICE Line line(int outer) const {
        const int column = first + outer;
        return {column < p.product.n ? column : -1};
    }

    INFINI_DEVICE void find_group(int k, int column, float &scale, float &offset) const {
        const int group = kAnyGroups && p.row_group ? p.row_group[k] : k / p.group_size;
        scale = 0, offset = p.offset;
        if (group < 0 || group >= p.groups) return;
        const T *scales = static_cast<const T *>(p.scales) + int64_t(group) * p.product.n;
        scale = convert<float>(scales[marlin_scale(column, p.groups == 1)]);
        if (p.zeros) {
            const MarlinPlace at = marlin_zero<bits>(column);
            const uint32_t *words = p.zeros + int64_t(group) * (p.product.n * bits / 32);
            offset += float(words[at.word] >> at.shift & kMask);
        }
    }

    template <int n>
    INFINI_DEVICE Raw<n> fetch(const Line &line, int k) const {
        static_assert(n % 2 == 0);
        Raw<n> raw{};
        if (line.column < 0 || k >= depth) return raw;
        const uint32_t *run = static_cast<const uint32_t *>(p.product.b.data);
        const int across = p.product.n / Layout::kColumns;
        run +=
            (int64_t(k / Layout::kRows) * across + line.column / Layout::kColumns) * Layout::kWords;
#pragma unroll
        for (int i = 0; i < n; i += 2) {
            const MarlinPlace at =
                Layout::place((k + i) % Layout::kRows, line.column % Layout::kColumns);
            const uint32_t word = run[at.word] >> at.shift;
            raw.codes[i / 2] = (word & kMask) | (word >> Layout::kNext & kMask) << 16;
        }
#pragma unroll
        for (int i = 0; i < n; ++i) {
            if (kAnyGroups || i == 0)
                find_group(k + i, line.column, raw.scale[i], raw.offset[i]);
            else
                raw.scale[i] = raw.scale[0], raw.offset[i] = raw.offset[0];
        }
        return raw;
    }
    template <int n>
    INFINI_DEVICE void finish(const Raw<n> &raw, T (&values)[n]) const {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            const float code = float(raw.codes[i / 2] >> (i % 2 * 16) & 0xffffu);
            values[i] = convert<T>((code - raw.offset[i]) * raw.scale[i]);
        }
    }
};

}  // namespace infini

// Products with packed weights: codes are unpacked on their way to shared memory. The host defines
// T, O and C; kMxfp4 1, or 0 with kBits, kBytesA (Marlin's layout for 8-bit activations) and
// kAnyGroups; kRows, kColumns; INFINI_MMA 1 with kWarpsM, kWarpsN or 0 with kMicro; kVectorA,
// kVectorCodes; and kSplit.
namespace infini {

#if INFINI_MMA
using Product = MmaTile<T, kRows, kColumns, kWarpsM, kWarpsN, true, true>;
#else
using Product = PlainTile<C, kRows, kColumns, kMicro>;
#endif

INFINI_DEVICE auto packed_weights(const PackedParams &p, int column, int depth) {
    if constexpr (kMxfp4) {
        // Lines have the length of all of k; a split ends before that.
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
