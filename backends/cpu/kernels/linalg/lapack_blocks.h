// Factorisations by LAPACK on all threads. LAPACK factors panels of columns, and the columns behind
// a panel are updated in blocks, each by one thread. The next panel is factored meanwhile.
#pragma once

#include "linalg/lapack.h"

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

    // c += factor a b, with the transpose of a if requested.
    void add_product(T factor, const char *transposed, int m, int n, int k, const T *a, int lda,
                     const T *b, int ldb, T *c, int ldc) const {
        const T one = 1;
        typed<T>(lapack.sgemm, lapack.dgemm)(transposed, "N", &m, &n, &k, &factor, a, &lda, b, &ldb,
                                             &one, c, &ldc, 1, 1);
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
