// Products by AMX with a b whose columns are contiguous, as those of weights [n, k] are: their tiles
// are loaded from where they lie. c^T = b^T a^T is computed, for which only a is packed.
#pragma once

#include "packed.h"

#if defined(INFINI_AMX)
namespace infini::cpu {

// [32][32] sums += 32 columns of b times a panel of 32 rows of a. `next`: what to fetch meanwhile,
// `fetched` rows of 64 bytes each step.
template <class D>
[[gnu::noinline]] void direct_tile(const char *b, int64_t stride, const int32_t *a, int64_t steps,
                                   typename D::Sum *sums, bool first, const char *next,
                                   int64_t fetched) {
    const auto multiply = [] {
        if constexpr (std::is_same_v<D, TileBF16>) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        } else {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        }
    };
    asm volatile("" ::: "memory");  // the tile loads do not say that they read memory
    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sums, 128);
        _tile_loadd(1, sums + 16, 128);
        _tile_loadd(2, sums + 512, 128);
        _tile_loadd(3, sums + 528, 128);
    }
    const int64_t below = 16 * stride;
    for (int64_t s = 0; s < steps; s += 16, a += 512, b += 64, next += 64) {
        _tile_loadd(4, b, stride);
        _tile_loadd(6, a, 128);
        _tile_loadd(7, a + 16, 128);
        _tile_loadd(5, b + below, stride);
        for (int64_t i = 0; i < fetched; ++i) _mm_prefetch(next + i * stride, _MM_HINT_T1);
        multiply();
    }
    _tile_stored(0, sums, 128);
    _tile_stored(1, sums + 16, 128);
    _tile_stored(2, sums + 512, 128);
    _tile_stored(3, sums + 528, 128);
    asm volatile("" ::: "memory");
}

template <class D>
class DirectTiles {
public:
    // The same answer for any m: a row's bits do not depend on the rows beside it.
    static bool takes(const Matmul &p) {
        return p.b.row_stride == 1 && p.n >= kTile && p.k > 0 && p.k % (16 * D::kGroup) == 0;
    }

    explicit DirectTiles(const Matmul &product) : p(product) {
        kc = std::min<int64_t>(p.k, kMostSteps * D::kGroup);
        steps = kc / D::kGroup;
        blocks = divide_up(p.k, kc);
        mc = std::min(round_up(p.m, kTile), kMostRows);
        const int64_t wanted = p.threads ? 4 * int64_t(thread_count()) : 1;
        rows = std::min(kGroupRows, mc);
        while (items() < wanted && (rows > kTile || columns > kTile)) {
            if (columns == kTile || rows > columns)
                rows = round_up(rows / 2, kTile);
            else
                columns /= 2;
        }
    }

    size_t workspace() const { return size_t(mc * steps * blocks) * sizeof(int32_t); }

    void run(void *workspace) const {
        auto *a = static_cast<int32_t *>(workspace);
        for (int64_t row = 0; row < p.m; row += mc) {
            const int64_t count = std::min(mc, p.m - row);
            pack(a, row, count);
            const int64_t down = divide_up(count, rows), across = divide_up(p.n, columns);
            const int64_t work = rows * columns * p.k / D::kGroup;
            maybe_parallel(p.threads, down * across, divide_up(kGrain, work),
                           [&](size_t begin, size_t end) {
                               typename D::Scope scope;
                               for (size_t i = begin; i < end; ++i) {
                                   const int64_t m0 = int64_t(i) % down * rows;
                                   compute(a, row, count, m0, int64_t(i) / down * columns);
                               }
                           });
        }
    }

private:
    using Sum = typename D::Sum;
    static constexpr int64_t kTile = 32;
    static constexpr int64_t kMostSteps = 1024;  // a group's part of a fits the second cache
    static constexpr int64_t kMostRows = 2048;   // of a, packed at a time
    static constexpr int64_t kGroupRows = 256, kGroupColumns = 128;  // that a thread takes
    static constexpr int64_t kGrain = 256 << 10;                     // some 10 microseconds

    int64_t items() const { return divide_up(mc, rows) * divide_up(p.n, columns); }

    int32_t *panel(int32_t *a, int64_t count, int64_t block, int64_t index) const {
        return a + (block * divide_up(count, kTile) + index) * kTile * steps;
    }

    void pack(int32_t *a, int64_t row, int64_t count) const {
        const int64_t panels = divide_up(count, kTile);
        maybe_parallel(p.threads, panels * blocks, 1, [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                const int64_t block = i / panels, index = i % panels, k0 = block * kc;
                visit_operand<D>(p.a.dtype, [&]<class T>(Type<T>) {
                    const T *from = static_cast<const T *>(p.a.data) +
                                    (row + index * kTile) * p.a.row_stride + k0 * p.a.col_stride;
                    pack_panel<D, int(kTile), T>({from, p.a.row_stride, p.a.col_stride},
                                                 std::min(kTile, count - index * kTile),
                                                 std::min(kc, p.k - k0),
                                                 panel(a, count, block, index));
                });
            }
        });
    }

    // Rows from row + m0 on times columns from n0 on.
    void compute(int32_t *a, int64_t row, int64_t count, int64_t m0, int64_t n0) const {
        alignas(64) Sum sums[kGroupColumns / kTile][kGroupRows / kTile][kTile * kTile];
        const int64_t size = int64_t(sizeof(typename D::Element));
        const int64_t stride = p.b.col_stride * size;
        const int64_t width = std::min(columns, p.n - n0), height = std::min(rows, count - m0);
        const int64_t across = divide_up(width, kTile), down = divide_up(height, kTile);
        const char *b = static_cast<const char *>(p.b.data);
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t k0 = block * kc, sk = std::min(kc, p.k - k0) / D::kGroup;
            for (int64_t j = 0; j < across; ++j) {
                const char *from = b + first_column(n0, j) * stride + k0 * size;
                const bool more = j + 1 < across;
                const char *next = more ? b + first_column(n0, j + 1) * stride + k0 * size : from;
                const int64_t fetched = more ? divide_up(kTile, down) : 0;
                for (int64_t i = 0; i < down; ++i) {
                    const int64_t skip = std::min(i * fetched, kTile - fetched) * stride;
                    direct_tile<D>(from, stride, panel(a, count, block, m0 / kTile + i), sk,
                                   sums[j][i], block == 0, next + skip, fetched);
                }
            }
        }
        alignas(64) Sum out[kTile * kGroupColumns];
        for (int64_t i = 0; i < down; ++i) {
            for (int64_t j = 0; j < across; ++j) {
                const int64_t again = n0 + j * kTile - first_column(n0, j);
                transpose_sums(sums[j][i], again, out + j * kTile);
            }
            finish_tile(p, out, kGroupColumns, row + m0 + i * kTile, n0,
                        std::min(kTile, height - i * kTile), width);
        }
    }

    // Of tile j from n0 on. The last tile begins early enough to be whole: its first columns are
    // another's, too.
    int64_t first_column(int64_t n0, int64_t j) const {
        return std::min(n0 + j * kTile, p.n - kTile);
    }

    // Rows of c from a tile of c^T, without the first `again` columns.
    static void transpose_sums(const Sum *tile, int64_t again, Sum *out) {
        if (again != 0) {
            for (int64_t i = again; i < kTile; ++i)
                for (int64_t j = 0; j < kTile; ++j)
                    out[j * kGroupColumns + i - again] = tile[i * kTile + j];
            return;
        }
        for (int64_t i = 0; i < kTile; i += 16)
            for (int64_t j = 0; j < kTile; j += 16) {
                detail::W16 words[16];
                for (int r = 0; r < 16; ++r)
                    std::memcpy(&words[r], tile + (i + r) * kTile + j, sizeof words[r]);
                detail::transpose(words);
                for (int r = 0; r < 16; ++r)
                    std::memcpy(out + (j + r) * kGroupColumns + i, &words[r], sizeof words[r]);
            }
    }

    const Matmul &p;
    int64_t kc, steps, blocks, mc;
    int64_t rows, columns = kGroupColumns;  // of an item
};

}  // namespace infini::cpu
#endif
