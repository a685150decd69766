// Packed matrix products: both operands are packed block by block into panels that stay in the
// caches, and tiles of c are computed from them. Two schemes:
//
//   shared  all threads pack a block of a and a block of b together, then compute tiles of c
//           from them: for products that are large in both dimensions;
//   columns a is packed once; each thread packs the panels of b one by one into its own cache and
//           uses each for all rows immediately: for few rows and a large b, which is then read
//           once and never written back in another type.
#pragma once

#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "pack.h"

namespace infini::cpu {

inline int64_t round_up(int64_t x, int64_t grain) { return (x + grain - 1) / grain * grain; }
inline int64_t divide_up(int64_t x, int64_t y) { return (x + y - 1) / y; }

// parallel_for, or a serial loop.
template <class Body>
inline void maybe_parallel(bool threads, int64_t count, int64_t grain, const Body &body) {
    if (threads)
        parallel_for(size_t(count), size_t(grain), body);
    else if (count > 0)
        body(size_t(0), size_t(count));
}

template <class D>
INFINI_SIMD void multiply(int rows, int64_t steps, const typename D::Word *a,
                          const typename D::Word *b, typename D::Sum *c, int64_t stride,
                          typename D::Sum alpha, typename D::Sum beta) {
#if defined(INFINI_AMX)
    if constexpr (D::kTiled) return micro_tiles<D>(rows, steps, a, b, c, stride, alpha, beta);
#endif
    if constexpr (!D::kTiled) micro<D>(rows, steps, a, b, c, stride, alpha, beta);
}

template <class D>
class Packed {
public:
    explicit Packed(const Matmul &product) : p(product) {
        const int64_t blocks = std::max<int64_t>(1, divide_up(p.k, kSteps * D::kGroup));
        kc = round_up(divide_up(p.k, blocks), std::max(32, D::kGroup * D::kStepGrain));
        kc = std::max<int64_t>(kc, 1);
        last_block = divide_up(p.k, kc) - 1;
        steps = step_count<D>(kc);
        mc = std::min(round_up(p.m, D::kRows), round_up(kMostRows, D::kRows));
        nc = std::min(round_up(p.n, D::kColumns), round_up(kMostColumns, D::kColumns));
        threads = p.threads ? int64_t(thread_count()) : 1;
        // Enough columns for long runs of b's rows; contiguous columns may be packed by panel.
        group = p.weights || p.b.row_stride != 1 ? kPackColumns : int64_t(D::kColumns);
        const int64_t most =
            group == kPackColumns && !p.weights ? kColumnsMostRows / 2 : kColumnsMostRows;
        by_columns = p.m <= most && (divide_up(p.n, group) >= 2 * threads || !p.threads);
        biased = adds_rows<Sum>(p);
        direct = stores_sums<Sum>(p) || biased;
        runs = stores_runs(p);
    }

    size_t workspace() const {
        int64_t a_bytes = word_bytes(mc * steps), b_bytes = word_bytes(nc * steps);
        if (by_columns) return size_t(word_bytes(mc * steps * (last_block + 1)));
        bool keeps_sums = !direct && last_block > 0;
        return size_t(a_bytes + b_bytes + (keeps_sums ? mc * nc * int64_t(sizeof(Sum)) : 0));
    }

    void run(void *workspace) const {
        auto *words = static_cast<Word *>(workspace);
        if (by_columns) return run_columns(words);
        for (int64_t row = 0; row < p.m; row += mc)
            for (int64_t column = 0; column < p.n; column += nc) run_shared(words, row, column);
    }

private:
    using Word = typename D::Word;
    using Sum = typename D::Sum;
    static constexpr int64_t kSteps = D::kSteps;
    static constexpr int64_t kMostRows = 3072, kMostColumns = 3072;  // packed at a time
    // Per thread: the columns stay in L2 while panels of rows are streamed.
    static constexpr int64_t kTileRows = 384, kTileColumns = 256;
    static constexpr int64_t kOwnRows = 96;           // rows whose sums a thread keeps
    static constexpr int64_t kColumnsMostRows = 128;  // fit in L2 with 96 columns
    static constexpr int64_t kPackRows = 96;          // packed by one thread

    static int64_t word_bytes(int64_t words) { return round_up(words * int64_t(sizeof(Word)), 64); }

    // ---- Shared ----

    void run_shared(Word *a, int64_t row, int64_t column) const {
        const int64_t rows = std::min(mc, p.m - row), columns = std::min(nc, p.n - column);
        Word *b = a + word_bytes(mc * steps) / int64_t(sizeof(Word));
        auto *sums = reinterpret_cast<Sum *>(b + word_bytes(nc * steps) / int64_t(sizeof(Word)));
        const Tiles t(divide_up(rows, D::kRows), divide_up(columns, D::kColumns),
                      runs && last_block <= 0 ? kOwnRows : kTileRows, p.threads ? 4 * threads : 1);
        for (int64_t block = 0; block <= std::max<int64_t>(last_block, 0); ++block) {
            const int64_t k0 = block * kc, k = std::min(kc, p.k - k0), sk = step_count<D>(k);
            pack_shared(a, b, row, rows, column, columns, k0, k);
            const int64_t work = t.rows * D::kRows * t.columns * D::kColumns * sk;
            auto compute = [&](size_t begin, size_t end) {
                typename D::Scope scope;
                (void)scope;
                alignas(64) Sum own[sizeof(Sum) == 4 ? kOwnRows * kTileColumns : 1];
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const int64_t a0 = i / t.across * t.rows, b0 = i % t.across * t.columns;
                    const int64_t a1 = std::min(a0 + t.rows, t.a_panels);
                    const int64_t b1 = std::min(b0 + t.columns, t.b_panels);
                    const int64_t top = a0 * D::kRows, left = b0 * D::kColumns;
                    const bool in_own = runs && last_block <= 0;
                    Sum *here = in_own ? own : sums + top * nc + left;
                    const int64_t stride = in_own ? kTileColumns : nc;
                    for (int64_t ap = a0; ap < a1; ++ap)
                        for (int64_t bp = b0; bp < b1; ++bp) {
                            const int64_t i0 = ap * D::kRows, j0 = bp * D::kColumns;
                            tile(a + i0 * sk, b + j0 * sk, sk, row + i0, column + j0,
                                 here + (i0 - top) * stride + j0 - left, stride, block);
                        }
                    if (runs && block >= last_block)
                        finish_tile(p, here, stride, row + top, column + left,
                                    std::min(a1 * D::kRows, rows) - top,
                                    std::min(b1 * D::kColumns, columns) - left);
                }
            };
            maybe_parallel(p.threads, t.down * t.across,
                           divide_up(kTileGrain, std::max<int64_t>(work, 1)), compute);
        }
    }

    // How the tiles of a block are assigned to threads: rectangles of panels.
    struct Tiles {
        int64_t a_panels, b_panels;
        int64_t rows, columns = kTileColumns / D::kColumns;
        int64_t down, across;

        Tiles(int64_t a_panels, int64_t b_panels, int64_t most_rows, int64_t wanted)
            : a_panels(a_panels), b_panels(b_panels), rows(most_rows / D::kRows) {
            rows = divide_up(a_panels, divide_up(a_panels, rows));
            columns = divide_up(b_panels, divide_up(b_panels, columns));
            auto count = [&] {
                down = divide_up(a_panels, rows), across = divide_up(b_panels, columns);
                return down * across;
            };
            while (count() < wanted && (rows > 1 || columns > 1)) {
                if (columns == 1 || (rows > 1 && rows * D::kRows >= columns * D::kColumns))
                    rows = divide_up(rows, 2);
                else
                    columns = divide_up(columns, 2);
            }
        }
    };

    void pack_shared(Word *a, Word *b, int64_t row, int64_t rows, int64_t column, int64_t columns,
                     int64_t k0, int64_t k) const {
        const int64_t sk = step_count<D>(k), b_groups = divide_up(columns, kPackColumns);
        const int64_t a_groups = divide_up(rows, kPackRows);
        const int64_t grain = std::max<int64_t>(1, kPackGrain / (kPackColumns * steps));
        auto pack = [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                if (i < b_groups) {
                    const int64_t at = i * kPackColumns;
                    pack_columns<D>(p, column + at, std::min(kPackColumns, columns - at), k0, k,
                                    b + at * sk);
                } else {
                    int64_t at = (i - b_groups) * kPackRows;
                    const int64_t end_row = std::min(at + kPackRows, rows);
                    for (; at < end_row; at += D::kRows)
                        pack_rows<D>(p.a, row + at, std::min<int64_t>(D::kRows, rows - at), k0, k,
                                     a + at * sk);
                }
            }
        };
        maybe_parallel(p.threads, a_groups + b_groups, grain, pack);
    }

    // ---- By columns ----

    void run_columns(Word *a) const {
        const int64_t a_panels = divide_up(p.m, D::kRows);
        const int64_t blocks = std::max<int64_t>(last_block, 0) + 1;
        auto a_panel = [&](int64_t block, int64_t panel) {
            return a + (block * a_panels + panel) * D::kRows * steps;
        };
        auto pack = [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                const int64_t block = i / a_panels, row = i % a_panels * D::kRows, k0 = block * kc;
                pack_rows<D>(p.a, row, std::min<int64_t>(D::kRows, p.m - row), k0,
                             std::min(kc, p.k - k0), a_panel(block, i % a_panels));
            }
        };
        maybe_parallel(p.threads, a_panels * blocks,
                       std::max<int64_t>(1, kPackGrain / (D::kRows * steps)), pack);
        auto compute = [&](size_t begin, size_t end) {
            typename D::Scope scope;
            (void)scope;
            alignas(64) Word b[kPackColumns * kPanelSteps];
            alignas(64) Sum sums[(kColumnsMostRows + D::kRows) * kPackColumns];
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                const int64_t column = i * group, columns = std::min(group, p.n - column);
                for (int64_t block = 0; block < blocks; ++block) {
                    const int64_t k0 = block * kc, k = std::min(kc, p.k - k0);
                    const int64_t sk = step_count<D>(k);
                    pack_columns<D>(p, column, columns, k0, k, b);
                    for (int64_t j = 0; j < columns; j += D::kColumns)
                        for (int64_t panel = 0; panel < a_panels; ++panel)
                            tile(a_panel(block, panel), b + j * sk, sk, panel * D::kRows,
                                 column + j, sums + panel * D::kRows * kPackColumns + j,
                                 kPackColumns, block);
                }
                if (runs) finish_tile(p, sums, kPackColumns, 0, column, p.m, columns);
            }
        };
        const int64_t work = group * std::max<int64_t>(p.k, 1) / D::kGroup * (p.m + 4);
        maybe_parallel(p.threads, divide_up(p.n, group), divide_up(kTileGrain, work), compute);
    }

    // ---- A tile ----

    // Adds one block's sums to the tile of c at (row, column). `sums` accumulates over the blocks
    // of k unless c can, or there is only one block, and where sums are finished in long runs.
    void tile(const Word *a, const Word *b, int64_t tile_steps, int64_t row, int64_t column,
              Sum *sums, int64_t stride, int64_t block) const {
        const int64_t rows = std::min<int64_t>(D::kRows, p.m - row);
        const int64_t columns = std::min<int64_t>(D::kColumns, p.n - column);
        if (direct) {
            Sum *c = static_cast<Sum *>(p.c.data) + row * p.c.row_stride + column;
            Sum alpha = Sum(p.alpha), beta = block == 0 ? Sum(p.beta) : Sum(1);
            const bool whole = rows == D::kRows && columns == D::kColumns;
            if (biased && block >= last_block) {
                if (whole)
                    multiply<D>(D::kRows, tile_steps, a, b, c, p.c.row_stride, alpha, beta);
                else
                    edge_tile(a, b, tile_steps, c, rows, columns, alpha, beta);
                return add_rows(c, row, rows, columns);
            }
            if (whole)
                return multiply<D>(D::kRows, tile_steps, a, b, c, p.c.row_stride, alpha, beta);
            return edge_tile(a, b, tile_steps, c, rows, columns, alpha, beta);
        }
        alignas(64) Sum only[D::kRows][D::kColumns];
        if (last_block <= 0 && !runs) sums = only[0], stride = D::kColumns;
        multiply<D>(int(rows), tile_steps, a, b, sums, stride, Sum(1),
                    block == 0 ? Sum(0) : Sum(1));
        if (block >= last_block && !runs) finish_tile(p, sums, stride, row, column, rows, columns);
    }

    // A tile that is only partly inside c.
    void edge_tile(const Word *a, const Word *b, int64_t tile_steps, Sum *c, int64_t rows,
                   int64_t columns, Sum alpha, Sum beta) const {
        alignas(64) Sum edge[D::kRows][D::kColumns];
        multiply<D>(int(rows), tile_steps, a, b, edge[0], D::kColumns, alpha, Sum(0));
        for (int64_t i = 0; i < rows; ++i, c += p.c.row_stride)
            for (int64_t j = 0; j < columns; ++j)
                c[j] = beta == 0 ? edge[i][j] : add_scaled(edge[i][j], c[j], beta);
    }

    void add_rows(Sum *c, int64_t row, int64_t rows, int64_t columns) const {
        const Epilogue &e = *p.epilogue;
        const int64_t bytes = e.row_bias_dtype == INFINI_DTYPE_F32 ? 4 : 2;
        float bias[D::kRows];
        to_f32(bias, static_cast<const char *>(e.row_bias) + row * bytes, e.row_bias_dtype,
               size_t(rows));
        for (int64_t i = 0; i < rows; ++i, c += p.c.row_stride)
            for (int64_t j = 0; j < columns; ++j) c[j] = Sum(c[j] + Sum(bias[i]));
    }

    static constexpr int64_t kPanelSteps = kSteps + 32;
    static constexpr int64_t kPackGrain = 16 << 10;   // elements: about 10 microseconds
    static constexpr int64_t kTileGrain = 128 << 10;  // steps of one sum: about 10 microseconds

    const Matmul &p;
    int64_t kc, steps, mc, nc, threads, group;
    int64_t last_block;  // the last block of k; -1 if k is 0
    bool by_columns, direct, biased, runs;
};

}  // namespace infini::cpu
