// wide_block for BF16 on machines with AMX: products of 16 x 32 tiles with F32 sums. Probabilities
// are rounded to BF16 before they are multiplied by the values.
//
// Here matrices are row-major: scores are [32 rows][64 keys], results [rows][depth of values].
#pragma once

#include "../matmul/amx.h"
#include "block.h"

#if defined(INFINI_AMX)
namespace infini::cpu {

inline constexpr int64_t kAmxRows = 32;  // rows processed together

// The addresses of a tile's rows; null for a row of zeros.
struct TileRows {
    const bf16 *k[kTile] = {}, *v[kTile] = {};
    const uint8_t *hidden = nullptr;  // by key; null: none hidden

    TileRows(BlockScratch &scratch, const KeyRows &rows, int64_t t, int64_t count) {
        for (int64_t done = 0; done < count;) {
            KeyRows::Run run = rows.run(t + done, t + count, sizeof(bf16));
            if (!run.k && !hidden) {
                std::memset(scratch.hidden, 0, size_t(kTile));
                hidden = scratch.hidden;
            }
            for (int64_t i = 0; i < run.count; ++i, ++done) {
                if (run.k) {
                    k[done] = reinterpret_cast<const bf16 *>(run.k) + i * rows.k_row;
                    v[done] = reinterpret_cast<const bf16 *>(run.v) + i * rows.v_row;
                } else {
                    scratch.hidden[done] = 1;
                }
            }
        }
    }
};

// Vectors of sixteen words, each of two BF16.
using Words = VectorOf<uint32_t, 64>::type;
using Halves = VectorOf<uint16_t, 64>::type;

template <class V>
INFINI_SIMD V load_or_zero(const bf16 *row, int64_t at) {
    V v{};
    if (row) std::memcpy(&v, row + at, sizeof v);
    return v;
}

// Transposes keys into words of two consecutive elements: to[depth / 2][kTile].
inline void pack_keys(uint32_t *to, const bf16 *const *rows, int64_t depth) {
    constexpr Words low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    constexpr Words high = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    for (int64_t key = 0; key < kTile; key += 16)
        for (int64_t d = 0; d < depth; d += 32) {
            Words a[16], b[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i) a[i] = load_or_zero<Words>(rows[key + i], d);
        // Interleaving the halves four times transposes the 16 x 16 block.
#pragma GCC unroll 2
            for (int turn = 0; turn < 2; ++turn) {
#pragma GCC unroll 8
                for (int i = 0; i < 8; ++i) {
                    b[2 * i] = __builtin_shuffle(a[i], a[i + 8], low);
                    b[2 * i + 1] = __builtin_shuffle(a[i], a[i + 8], high);
                }
#pragma GCC unroll 8
                for (int i = 0; i < 8; ++i) {
                    a[2 * i] = __builtin_shuffle(b[i], b[i + 8], low);
                    a[2 * i + 1] = __builtin_shuffle(b[i], b[i + 8], high);
                }
            }
#pragma GCC unroll 16
            for (int i = 0; i < 16; ++i)
                std::memcpy(to + (d / 2 + i) * kTile + key, &a[i], sizeof a[i]);
        }
}

// Interleaves the values of two keys into words: to[kTile / 2][depth].
inline void pack_values(uint32_t *to, const bf16 *const *rows, int64_t depth) {
    Halves low, high;
    for (int i = 0; i < 32; ++i) {
        low[i] = uint16_t(i / 2 + i % 2 * 32);
        high[i] = uint16_t(16 + i / 2 + i % 2 * 32);
    }
    for (int64_t key = 0; key < kTile; key += 2)
        for (int64_t e = 0; e < depth; e += 32) {
            Halves a = load_or_zero<Halves>(rows[key], e),
                   b = load_or_zero<Halves>(rows[key + 1], e);
            Halves first = __builtin_shuffle(a, b, low), second = __builtin_shuffle(a, b, high);
            std::memcpy(to + key / 2 * depth + e, &first, sizeof first);
            std::memcpy(to + key / 2 * depth + e + 16, &second, sizeof second);
        }
}

// sums[32][32] = or += a[32][steps] b[steps][32], where b holds words of two steps. Strides are in
// elements for sums and a, and in words for b.
INFINI_SIMD void multiply_tiles(float *sums, int64_t sum_row, bool add, const bf16 *a,
                                int64_t a_row, const uint32_t *b, int64_t b_row, int64_t steps) {
    const size_t sum_bytes = size_t(sum_row) * 4, a_bytes = size_t(a_row) * 2;
    const size_t b_bytes = size_t(b_row) * 4;
    asm volatile("" ::: "memory");  // the tile loads do not declare that they read memory
    if (add) {
        _tile_loadd(0, sums, sum_bytes);
        _tile_loadd(1, sums + 16, sum_bytes);
        _tile_loadd(2, sums + 16 * sum_row, sum_bytes);
        _tile_loadd(3, sums + 16 * sum_row + 16, sum_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t s = 0; s < steps; s += 32) {
        _tile_loadd(4, a + s, a_bytes);
        _tile_loadd(5, a + 16 * a_row + s, a_bytes);
        _tile_loadd(6, b + s / 2 * b_row, b_bytes);
        _tile_loadd(7, b + s / 2 * b_row + 16, b_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, sum_bytes);
    _tile_stored(1, sums + 16, sum_bytes);
    _tile_stored(2, sums + 16 * sum_row, sum_bytes);
    _tile_stored(3, sums + 16 * sum_row + 16, sum_bytes);
    asm volatile("" ::: "memory");
}

// Turns one row of n scores into BF16 probabilities; see weigh_tile. The row sees the keys `before`
// .. `seen` of the tile; `distance` is the query's position relative to the tile's first key.
inline float weigh_bf16(float *s, bf16 *weights, int64_t n, float scale, float cap, int64_t before,
                        int64_t seen, const float *slope, float distance, const uint8_t *hidden,
                        float &greatest, float &sum) {
    constexpr int64_t step = int64_t(kWidth<float>);
    const F32 lanes = iota<F32>();
    F32 top = broadcast<F32>(greatest);
    for (int64_t j = 0; j < n; j += step) {
        F32 x = load(s + j) * scale, key = lanes + float(j);
        if (cap > 0) x = tanh(x / cap) * cap;
        if (slope) x = fma(key - distance, broadcast<F32>(*slope), x);
        if (j + step > seen) x = select(key < float(seen), x, broadcast<F32>(kNone));
        if (j < before) x = select(key < float(before), broadcast<F32>(kNone), x);
        if (hidden)
            for (int64_t i = 0; i < step; ++i)
                if (hidden[j + i]) x[size_t(i)] = kNone;
        store(s + j, x);
        top = larger(x, top);
    }
    const float most = reduce_max(top), base = reference(most);
    F32 total{};
    for (int64_t j = 0; j < n; j += step) {
        F32 weight = exp2_below(load(s + j) - base);
        total += weight;
#if defined(__AVX512BF16__)
        auto rounded = _mm512_cvtneps_pbh(weight);
        std::memcpy(weights + j, &rounded, sizeof rounded);
#else
        store_f32(weights + j, weight);
#endif
    }
    float shrink = exp2_below(greatest - base);
    greatest = most;
    sum = sum * shrink + reduce_add(total);
    return shrink;
}

// As wide_block. Depths must be multiples of 32. `copy_query(r, row)` copies an unscaled query.
template <class Copy, class Emit>
void amx_block(BlockScratch &scratch, const KeyRows &keys, int64_t begin, int64_t end, float scale,
               const Copy &copy_query, const Emit &emit) {
    BlockRows &rows = scratch.rows;
    const int64_t depth = rows.depth, value_depth = rows.value_depth;
    const int64_t padded = round_up(rows.count, kAmxRows);
    bf16 *q = reinterpret_cast<bf16 *>(scratch.q);
    uint32_t *k = reinterpret_cast<uint32_t *>(scratch.k),
             *v = reinterpret_cast<uint32_t *>(scratch.v);
    float *scores = scratch.scores;
    bf16 *weights = reinterpret_cast<bf16 *>(scores + kAmxRows * kTile);
    for (int64_t r = 0; r < rows.count; ++r) {
        copy_query(r, q + r * depth);
        rows.greatest[r] = kNone, rows.sum[r] = 0;
    }
    std::memset(q + rows.count * depth, 0, size_t((padded - rows.count) * depth) * sizeof(bf16));
    std::fill_n(scratch.out, padded * value_depth, 0.0f);

    TileScope scope;
    for (int64_t t = begin, count; t < end; t += count) {
        count = std::min(kTile - t % kTile, end - t);
        TileRows tile(scratch, keys, t, count);
        pack_keys(k, tile.k, depth);
        pack_values(v, tile.v, value_depth);
        for (int64_t first = 0; first < rows.count; first += kAmxRows) {
            const int64_t last = std::min(first + kAmxRows, rows.count);
            const int64_t n = round_up(std::min(rows.limit[last - 1] - t, count), 32);
            if (n <= 0 || (rows.windowed && rows.from[first] - t >= n)) continue;
            float *out = scratch.out + first * value_depth;
            for (int64_t j = 0; j < n; j += 32)
                multiply_tiles(scores + j, kTile, false, q + first * depth, depth, k + j, kTile,
                               depth);
            for (int64_t r = first; r < last; ++r) {
                const int64_t i = r - first;
                float shrink = weigh_bf16(
                    scores + i * kTile, weights + i * kTile, n, scale, rows.cap,
                    rows.windowed ? rows.from[r] - t : 0, std::min(rows.limit[r] - t, count),
                    rows.sloped ? rows.slope + r : nullptr, float(rows.place[r] - t), tile.hidden,
                    rows.greatest[r], rows.sum[r]);
                if (shrink != 1.0f)
                    for (int64_t e = 0; e < value_depth; ++e) out[i * value_depth + e] *= shrink;
            }
            for (int64_t i = last - first; i < kAmxRows; ++i)
                std::memset(weights + i * kTile, 0, size_t(kTile) * sizeof(bf16));
            for (int64_t e = 0; e < value_depth; e += 32)
                multiply_tiles(out + e, value_depth, true, weights, kTile, v + e, value_depth, n);
        }
    }
    for (int64_t r = 0; r < rows.count; ++r) emit(r, scratch.out + r * value_depth);
}

}  // namespace infini::cpu
#endif
