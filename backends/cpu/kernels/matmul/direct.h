// Products with a b whose columns are contiguous, such as weights [n, k]: computed as c^T = b^T
// a^T, so that b is not transposed. Columns of b are read in place, a tile at a time, and only a is
// packed; finished sums are transposed. Threads share nothing but the packed a.
#pragma once

#include "packed.h"

#if defined(__AVX512F__)
namespace infini::cpu {

// Tile operations of a kind of product: a tile of c^T is kColumns columns of b by 32 rows of a.
template <class D>
struct DirectTile {
    static constexpr bool kExists = false;
};

template <>
struct DirectTile<DotF32> {
    static constexpr bool kExists = true;
    static constexpr int64_t kColumns = 12, kGroupColumns = 96, kMostSteps = 512;

    // A contiguous copy of the columns that start at `b`: rows of weights with a power-of-two
    // stride would conflict in L1.
    struct Source {
        alignas(64) float columns[kColumns][kMostSteps + 16];

        void load(const Matrix &b, int64_t column, int64_t k0, int64_t k) {
            visit_operand<DotF32>(b.dtype, [&]<class T>(Type<T>) {
                for (int64_t j = 0; j < kColumns; ++j) {
                    const T *from = static_cast<const T *>(b.data) + k0;
                    load_block(columns[j], from + (column + j) * b.col_stride, size_t(k));
                }
            });
        }
        void fetch(const Matrix &, int64_t, int64_t, int64_t, int64_t) {}
    };

    // sums [kColumns][stride] += columns of b times a panel of a.
    [[gnu::noinline]] static void multiply(const Source &b, const float *a, int64_t steps,
                                           float *sums, int64_t stride, bool first) {
        F32 c[kColumns][2];
#pragma GCC unroll 12
        for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v)
                c[j][v] = first ? F32{} : cpu::load<F32>(sums + j * stride + 16 * v);
        for (int64_t s = 0; s < steps; ++s, a += 32) {
            const F32 low = cpu::load<F32>(a), high = cpu::load<F32>(a + 16);
#pragma GCC unroll 12
            for (int j = 0; j < kColumns; ++j) {
                const F32 w = broadcast<F32>(b.columns[j][s]);
                c[j][0] = fma(low, w, c[j][0]), c[j][1] = fma(high, w, c[j][1]);
            }
        }
#pragma GCC unroll 12
        for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v) store(sums + j * stride + 16 * v, c[j][v]);
    }
};

#if defined(INFINI_AMX)
template <class D>
    requires(D::kTiled)
struct DirectTile<D> {
    static constexpr bool kExists = true;
    static constexpr int64_t kColumns = 32, kGroupColumns = 128, kMostSteps = 1024;
    using Sum = typename D::Sum;

    struct Source {
        const char *data, *next;
        int64_t stride, fetched = 0;

        void load(const Matrix &b, int64_t column, int64_t k0, int64_t) {
            data = address(b, column, k0), next = data, fetched = 0;
            stride = b.col_stride * int64_t(sizeof(typename D::Element));
        }
        // While panel `i` of `count` is computed, prefetches a share of the columns at `column`.
        void fetch(const Matrix &b, int64_t column, int64_t k0, int64_t i, int64_t count) {
            fetched = divide_up(kColumns, count);
            next = address(b, column, k0) + std::min(i * fetched, kColumns - fetched) * stride;
        }

    private:
        static const char *address(const Matrix &b, int64_t column, int64_t k0) {
            const int64_t at = (column * b.col_stride + k0) * int64_t(sizeof(typename D::Element));
            return static_cast<const char *>(b.data) + at;
        }
    };

    static void multiply_loaded() {
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
    }

    [[gnu::noinline]] static void multiply(const Source &from, const int32_t *a, int64_t steps,
                                           Sum *sums, int64_t stride, bool first) {
        const int64_t line = stride * int64_t(sizeof(Sum)), below = 16 * from.stride;
        const char *b = from.data, *next = from.next;
        Sum *under = sums + 16 * stride;
        asm volatile("" ::: "memory");  // the tile loads do not declare that they read memory
        if (first) {
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            _tile_zero(3);
        } else {
            _tile_loadd(0, sums, line);
            _tile_loadd(1, sums + 16, line);
            _tile_loadd(2, under, line);
            _tile_loadd(3, under + 16, line);
        }
        for (int64_t s = 0; s < steps; s += 16, a += 512, b += 64, next += 64) {
            _tile_loadd(4, b, from.stride);
            _tile_loadd(6, a, 128);
            _tile_loadd(7, a + 16, 128);
            _tile_loadd(5, b + below, from.stride);
            for (int64_t i = 0; i < from.fetched; ++i)
                _mm_prefetch(next + i * from.stride, _MM_HINT_T1);
            multiply_loaded();
        }
        _tile_stored(0, sums, line);
        _tile_stored(1, sums + 16, line);
        _tile_stored(2, under, line);
        _tile_stored(3, under + 16, line);
        asm volatile("" ::: "memory");
    }
};
#endif

template <class D>
class Direct {
    using Tile = DirectTile<D>;
    using Sum = typename D::Sum;
    using Word = typename D::Word;

public:
    // With AMX tiles this does not depend on m: a row's bits do not depend on the other rows.
    static bool takes(const Matmul &p) {
        const bool fits = !p.weights && p.b.row_stride == 1 && p.n >= Tile::kColumns && p.k > 0;
        if constexpr (D::kTiled) return fits && p.k % (16 * D::kGroup) == 0;
        // Transposing pays off only for a large k, and packing rows only for many columns.
        return fits && !p.invariant && p.m >= 24 && p.k >= 192 && p.n >= 96;
    }

    explicit Direct(const Matmul &product) : p(product) {
        kc = std::min<int64_t>(p.k, Tile::kMostSteps * D::kGroup);
        steps = kc / D::kGroup;
        blocks = divide_up(p.k, kc);
        mc = std::min(round_up(p.m, kPanel), kMostRows);
        const int64_t wanted = p.threads ? 4 * int64_t(thread_count()) : 1;
        rows = std::min(kGroupRows, mc);
        columns = Tile::kGroupColumns;
        while (items() < wanted && (rows > kPanel || columns > 32)) {
            if (columns <= 32 || rows > columns)
                rows = round_up(rows / 2, kPanel);
            else
                columns /= 2;
        }
    }

    size_t workspace() const { return size_t(mc * steps * blocks) * sizeof(Word); }

    void run(void *workspace) const {
        auto *a = static_cast<Word *>(workspace);
        for (int64_t row = 0; row < p.m; row += mc) {
            const int64_t count = std::min(mc, p.m - row);
            pack(a, row, count);
            const int64_t down = divide_up(count, rows), across = divide_up(p.n, columns);
            const int64_t work = rows * columns * p.k / D::kGroup;
            const auto body = [&](size_t begin, size_t end) {
                typename D::Scope scope;
                (void)scope;
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
                    compute(a, row, count, i % down * rows, i / down * columns);
            };
            maybe_parallel(p.threads, down * across, divide_up(kGrain, work), body);
        }
    }

private:
    static constexpr int64_t kPanel = 32;                // rows of a
    static constexpr int64_t kMostRows = 2048;           // packed at a time
    static constexpr int64_t kGroupRows = 256;           // per thread
    static constexpr int64_t kStride = kGroupRows + 16;  // of sums: not a power of two
    static constexpr int64_t kGrain = 256 << 10;

    int64_t items() const { return divide_up(mc, rows) * divide_up(p.n, columns); }

    Word *panel(Word *a, int64_t count, int64_t block, int64_t index) const {
        return a + (block * divide_up(count, kPanel) + index) * kPanel * steps;
    }

    void pack(Word *a, int64_t row, int64_t count) const {
        const int64_t panels = divide_up(count, kPanel);
        maybe_parallel(p.threads, panels * blocks, 1, [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                const int64_t block = i / panels, index = i % panels, k0 = block * kc;
                visit_operand<D>(p.a.dtype, [&]<class T>(Type<T>) {
                    const T *from = static_cast<const T *>(p.a.data) +
                                    (row + index * kPanel) * p.a.row_stride + k0 * p.a.col_stride;
                    pack_panel<D, int(kPanel), T>({from, p.a.row_stride, p.a.col_stride},
                                                  std::min(kPanel, count - index * kPanel),
                                                  std::min(kc, p.k - k0),
                                                  panel(a, count, block, index));
                });
            }
        });
    }

    // Computes rows starting at row + m0 times columns starting at n0.
    void compute(Word *a, int64_t row, int64_t count, int64_t m0, int64_t n0) const {
        alignas(64) Sum sums[Tile::kGroupColumns * kStride];
        // The last tile is shifted to be whole: its first columns overlap the tile before.
        const auto begin_of = [&](int64_t j) {
            return std::min(n0 + j * Tile::kColumns, p.n - Tile::kColumns);
        };
        typename Tile::Source b;
        const int64_t width = std::min(columns, p.n - n0), height = std::min(rows, count - m0);
        const int64_t tiles = divide_up(width, Tile::kColumns), down = divide_up(height, kPanel);
        for (int64_t block = 0; block < blocks; ++block) {
            const int64_t k0 = block * kc, k = std::min(kc, p.k - k0);
            for (int64_t j = 0; j < tiles; ++j) {
                const int64_t column = begin_of(j);
                b.load(p.b, column, k0, k);
                for (int64_t i = 0; i < down; ++i) {
                    if (j + 1 < tiles) b.fetch(p.b, begin_of(j + 1), k0, i, down);
                    Tile::multiply(b, panel(a, count, block, m0 / kPanel + i), step_count<D>(k),
                                   sums + j * Tile::kColumns * kStride + i * kPanel, kStride,
                                   block == 0);
                }
            }
        }
        drop_columns(sums + (tiles - 1) * Tile::kColumns * kStride,
                     n0 + (tiles - 1) * Tile::kColumns - begin_of(tiles - 1));
        alignas(64) Sum out[kPanel * Tile::kGroupColumns];
        for (int64_t i = 0; i < down; ++i) {
            for (int64_t j = 0; j < width; j += 16)
                for (int64_t r = 0; r < kPanel; r += 16)
                    transpose_sums(sums + j * kStride + i * kPanel + r,
                                   out + r * Tile::kGroupColumns + j);
            finish_tile(p, out, Tile::kGroupColumns, row + m0 + i * kPanel, n0,
                        std::min(kPanel, height - i * kPanel), width);
        }
    }

    // Removes the first columns of a tile.
    static void drop_columns(Sum *tile, int64_t count) {
        if (count > 0)
            std::memmove(tile, tile + count * kStride,
                         size_t((Tile::kColumns - count) * kStride) * sizeof(Sum));
    }

    // Transposes a block of 16 x 16 sums.
    static void transpose_sums(const Sum *from, Sum *to) {
        detail::W16 words[16];
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r) std::memcpy(&words[r], from + r * kStride, sizeof words[r]);
        detail::transpose(words);
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r)
            std::memcpy(to + r * Tile::kGroupColumns, &words[r], sizeof words[r]);
    }

    const Matmul &p;
    int64_t kc, steps, blocks, mc;
    int64_t rows, columns;  // per work item
};

}  // namespace infini::cpu
#endif
