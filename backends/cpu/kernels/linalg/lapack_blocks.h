// Factorisations by LAPACK on all threads. LAPACK factors panels of columns, and the columns behind
// a panel are updated in blocks, each by one thread. The next panel is factored meanwhile.
#pragma once

#include "linalg/lapack.h"
#include "linalg/substitution.h"

namespace infini::cpu {

constexpr int kLapackPanel = 64;      // columns of a panel or a block
constexpr int kLapackParallel = 192;  // columns from which threads pay off

// Whether a matrix of a batch is worth several threads.
inline bool has_blocks(const Matrices &x) {
    return std::min(x.rows, x.columns) >= kLapackParallel && thread_count() > 1 &&
           x.count() < int64_t(thread_count());
}

// Calls body(first, last) for blocks of the columns in [begin, end), on all threads.
template <class Body>
void for_column_blocks(int begin, int end, const Body &body) {
    const int count = (end - begin + kLapackPanel - 1) / kLapackPanel;
    parallel_for(size_t(std::max(count, 0)), 1, [&](size_t from, size_t to) {
        if (!enter_lapack()) return;
        for (int i = int(from); i < int(to); ++i)
            body(begin + i * kLapackPanel, std::min(end, begin + (i + 1) * kLapackPanel));
        leave_lapack();
    });
}

template <class T>
struct LapackBlocks {
    const Lapack &lapack;
    bool parallel;  // has_blocks

    void solve_triangle(const char *triangle, const char *transposed, const char *unit, int n,
                        int columns, const T *a, int lda, T *b, int ldb) const {
        const T one = 1;
        typed<T>(lapack.strsm, lapack.dtrsm)("L", triangle, transposed, unit, &n, &columns, &one, a,
                                             &lda, b, &ldb, 1, 1, 1, 1);
    }
    // Replaces the columns of b by the solutions for a row-major lower triangle; at most
    // kLapackPanel rows and columns, for which LAPACK is slower.
    void solve_lower(const T *m, int64_t pitch, int64_t n, int64_t columns, T *b,
                     int64_t ldb) const {
        constexpr int64_t kStep = int64_t(kWidth<T>);
        T rows[kLapackPanel * kLapackPanel];
        const int64_t width = (columns + kStep - 1) / kStep * kStep;
        for (int64_t i = 0; i < n; ++i)
            std::fill(rows + i * width + columns, rows + (i + 1) * width, T(0));
        auto turn = [](T *to, int64_t to_row, const T *from, int64_t from_row, int64_t height,
                       int64_t count) {
            Matrices::transpose<T>(reinterpret_cast<char *>(to), to_row,
                                   reinterpret_cast<const char *>(from), from_row, height, count);
        };
        turn(rows, width, b, ldb, columns, n);
        int64_t at = 0;
        for (; at + 2 * kStep <= width; at += 2 * kStep)
            substitute<Vec<T>, 2>(m, pitch, n, false, rows + at, width);
        if (at < width) substitute<Vec<T>, 1>(m, pitch, n, false, rows + at, width);
        turn(b, ldb, rows, width, n, columns);
    }
    // The same for a column-major lower triangle with ones on its diagonal.
    void solve_unit_lower(const T *a, int64_t lda, int64_t n, int64_t columns, T *b,
                          int64_t ldb) const {
        T rows[kLapackPanel * kLapackPanel];
        Matrices::transpose<T>(reinterpret_cast<char *>(rows), n, reinterpret_cast<const char *>(a),
                               lda, n, n);
        for (int64_t i = 0; i < n; ++i) rows[i * n + i] = 1;
        solve_lower(rows, n, n, columns, b, ldb);
    }
    // c += factor a b, with the transpose of a if requested.
    void add_product(T factor, const char *transposed, int m, int n, int k, const T *a, int lda,
                     const T *b, int ldb, T *c, int ldc) const {
        const T one = 1;
        typed<T>(lapack.sgemm, lapack.dgemm)(transposed, "N", &m, &n, &k, &factor, a, &lda, b, &ldb,
                                             &one, c, &ldc, 1, 1);
    }
    void swap_rows(T *a, int lda, int columns, int first, int last, const int *swaps) const {
        const int from = first + 1, step = 1;
        typed<T>(lapack.slaswp, lapack.dlaswp)(&columns, a, &lda, &from, &last, swaps, &step);
    }

    // getrf. Swaps are counted from 1.
    void factor_lu(T *a, int m, int n, int *swaps) const {
        const int count = std::min(m, n);
        auto factor_panel = [&](int first, int last) {
            const int rows = m - first, columns = last - first;
            int info = 0;  // a pivot of 0 is not an error
            typed<T>(lapack.sgetrf, lapack.dgetrf)(&rows, &columns, a + first * int64_t(m) + first,
                                                   &m, swaps + first, &info);
            for (int k = first; k < std::min(last, count); ++k) swaps[k] += first;
        };
        if (!parallel) return factor_panel(0, n);
        factor_panel(0, std::min(kLapackPanel, count));
        for (int first = 0; first < count; first += kLapackPanel) {
            const int last = std::min(first + kLapackPanel, count);
            const T *panel = a + first * int64_t(m) + first;
            for_column_blocks(last, n, [&](int begin, int end) {
                T *block = a + begin * int64_t(m);
                swap_rows(block, m, end - begin, first, last, swaps);
                solve_unit_lower(panel, m, last - first, end - begin, block + first, m);
                add_product(-1, "N", m - last, end - begin, last - first, panel + last - first, m,
                            block + first, m, block + last, m);
                if (begin == last && last < count)
                    factor_panel(last, std::min(last + kLapackPanel, count));
            });
        }
        for_column_blocks(0, count, [&](int begin, int end) {
            if (end < count) swap_rows(a + begin * int64_t(m), m, end - begin, end, count, swaps);
        });
    }

    // Replaces b by the solution, given the results of factor_lu.
    void solve_lu(const T *a, int n, const int *swaps, T *b, int columns) const {
        for_column_blocks(0, columns, [&](int begin, int end) {
            int info = 0;
            const int count = end - begin;
            typed<T>(lapack.sgetrs, lapack.dgetrs)("N", &n, &count, a, &n, swaps,
                                                   b + begin * int64_t(n), &n, &info, 1);
        });
    }

    // The inverse, given the results of factor_lu.
    void invert_lu(const T *a, int n, const int *swaps, T *inverse) const {
        for_column_blocks(0, n, [&](int begin, int end) {
            T *block = inverse + begin * int64_t(n);
            std::fill(block, block + (end - begin) * int64_t(n), T(0));
            for (int k = begin; k < end; ++k) block[(k - begin) * int64_t(n) + k] = 1;
            // The columns of L's inverse begin with zeros.
            solve_triangle("L", "N", "U", n - begin, end - begin, a + begin * int64_t(n) + begin, n,
                           block + begin, n);
            solve_triangle("U", "N", "N", n, end - begin, a, n, block, n);
        });
        for (int k = n - 1; k >= 0; --k)
            if (const int other = swaps[k] - 1; other != k)
                std::swap_ranges(inverse + k * int64_t(n), inverse + (k + 1) * int64_t(n),
                                 inverse + other * int64_t(n));
    }

    // potrf of the upper triangle. False if the matrix is not positive definite.
    bool factor_cholesky(T *a, int n) const {
        const int step = parallel ? kLapackPanel : std::max(n, 1);
        for (int first = 0; first < n; first += step) {
            const int last = std::min(first + step, n), size = last - first;
            T *panel = a + first * int64_t(n) + first;
            int info = 0;
            typed<T>(lapack.spotrf, lapack.dpotrf)("U", &size, panel, &n, &info, 1);
            if (info != 0) return false;
            for_column_blocks(last, n, [&](int begin, int end) {
                solve_lower(panel, n, size, end - begin, a + begin * int64_t(n) + first, n);
            });
            for_column_blocks(last, n, [&](int begin, int end) {
                const T *right = a + begin * int64_t(n) + first;
                add_product(-1, "T", end - last, end - begin, size, a + last * int64_t(n) + first,
                            n, right, n, a + begin * int64_t(n) + last, n);
            });
        }
        return true;
    }

    // Replaces c [m, columns] by Q c, or Q^T c with "T", for k reflectors. At most kLapackPanel
    // columns.
    void reflect(const char *transposed, int m, int columns, int k, const T *a, int lda,
                 const T *tau, T *c, int ldc) const {
        constexpr int kWork = kLapackPanel * kLapackPanel + 4160;  // LAPACK's own triangle
        T work[kWork];
        int info = 0;
        typed<T>(lapack.sormqr, lapack.dormqr)("L", transposed, &m, &columns, &k, a, &lda, tau, c,
                                               &ldc, work, &kWork, &info, 1, 1);
    }

    // geqrf, with room for kLapackBlock * n elements.
    void factor_qr(T *a, int m, int n, T *tau, T *work) const {
        const int count = std::min(m, n);
        auto factor_panel = [&](int first, int last) {
            const int rows = m - first, columns = last - first;
            const int size = std::max(1, int(kLapackBlock) * columns);
            int info = 0;
            typed<T>(lapack.sgeqrf, lapack.dgeqrf)(&rows, &columns, a + first * int64_t(m) + first,
                                                   &m, tau + first, work, &size, &info);
        };
        if (!parallel) return factor_panel(0, n);
        factor_panel(0, std::min(kLapackPanel, count));
        for (int first = 0; first < count; first += kLapackPanel) {
            const int last = std::min(first + kLapackPanel, count);
            for_column_blocks(last, n, [&](int begin, int end) {
                reflect("T", m - first, end - begin, last - first, a + first * int64_t(m) + first,
                        m, tau + first, a + begin * int64_t(m) + first, m);
                if (begin == last && last < count)
                    factor_panel(last, std::min(last + kLapackPanel, count));
            });
        }
    }

    // The first columns of the product of k reflectors.
    void make_q(T *q, int m, int columns, const T *a, int k, const T *tau) const {
        for_column_blocks(0, columns, [&](int begin, int end) {
            T *block = q + begin * int64_t(m);
            std::fill(block, block + (end - begin) * int64_t(m), T(0));
            for (int i = begin; i < end; ++i) block[(i - begin) * int64_t(m) + i] = 1;
            // Later reflectors leave these columns as they are, earlier ones their first rows.
            if (begin < k)
                subtract_reflections(block + begin, m, m - begin, end - begin,
                                     a + begin * int64_t(m) + begin, m, std::min(k, end) - begin,
                                     tau + begin);
            for (int last = std::min(begin, k); last > 0;) {
                const int first = (last - 1) / kLapackPanel * kLapackPanel;
                reflect("N", m - first, end - begin, last - first, a + first * int64_t(m) + first,
                        m, tau + first, block + first, m);
                last = first;
            }
        });
    }

    // Replaces the first columns of the identity, [m, columns], by those of 1 - V S V^T, the product
    // of `count` reflections, at most as many as columns.
    void subtract_reflections(T *q, int ldq, int m, int columns, const T *a, int lda, int count,
                              const T *tau) const {
        constexpr int kMost = kLapackPanel * kLapackPanel;
        T top[kMost], products[kMost], s[kMost] = {}, moved[kMost] = {};
        const T *rest = a + columns;
        const int rows = m - columns;
        for (int i = 0; i < count; ++i)
            for (int j = 0; j < columns; ++j)
                top[i * columns + j] = j < i ? T(0) : j == i ? T(1) : a[i * int64_t(lda) + j];
        std::fill(products, products + count * count, T(0));
        add_product(1, "T", count, count, columns, top, columns, top, columns, products, count);
        if (rows) add_product(1, "T", count, count, rows, rest, lda, rest, lda, products, count);
        auto add_column = [](T *to, const T *from, T factor, int n) {
            for (int i = 0; i < n; ++i) to[i] += factor * from[i];
        };
        for (int i = 0; i < count; ++i) {
            T *column = s + i * count;
            for (int k = 0; k < i; ++k)
                add_column(column, s + k * count, -tau[i] * products[i * count + k], k + 1);
            column[i] = tau[i];
        }
        for (int j = 0; j < columns; ++j)
            for (int k = 0; k <= std::min(j, count - 1); ++k)
                add_column(moved + j * count, s + k * count, top[k * columns + j], k + 1);
        add_product(-1, "N", columns, columns, count, top, columns, moved, count, q, ldq);
        if (rows)
            add_product(-1, "N", rows, columns, count, rest, lda, moved, count, q + columns, ldq);
    }
};

}  // namespace infini::cpu
