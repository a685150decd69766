// Singular values of tall matrices: those of the triangular factor R. Blocks of rows that stay in
// the cache are factored on all threads, then the triangles of all of them as one matrix.
#pragma once

#include <atomic>

#include "linalg/lapack.h"

namespace infini::cpu {

// Whether the triangle is so much smaller that the two steps pay off.
inline bool is_tall(int64_t rows, int64_t columns) {
    constexpr int64_t kMost = 256, kElements = 32 << 10;
    return columns > 0 && columns <= kMost && rows >= 8 * columns && rows * columns >= kElements;
}

template <class T>
struct TallSvd {
    const Lapack &lapack;
    int rows, columns, count, stacked;  // `count` blocks, and the rows of their triangles
    T *matrix, *made, *stack, *tau, *triangle, *values, *u, *vh, *work;
    int lwork;

    static int64_t blocks(int64_t rows, int64_t columns) {
        const int64_t least = std::max<int64_t>(4 * columns, (256 << 10) / sizeof(T) / columns);
        return std::max<int64_t>(1, rows / least);
    }
    static int64_t elements(int64_t rows, int64_t columns) {
        const int64_t count = blocks(rows, columns), square = columns * columns;
        return 2 * rows * columns + 2 * count * square + (count + 1) * columns + 3 * square +
               columns +
               std::max((count + 1) * kLapackBlock * columns, (4 * columns + 7) * columns) +
               8 * columns;
    }
    TallSvd(const Lapack &lapack, T *room, int64_t m, int64_t n)
        : lapack(lapack),
          rows(int(m)),
          columns(int(n)),
          count(int(blocks(m, n))),
          stacked(count * columns) {
        matrix = room, made = matrix + m * n, stack = made + m * n;
        tau = stack + 2 * int64_t(stacked) * n, triangle = tau + (count + 1) * n;
        u = triangle + n * n, vh = u + n * n, values = vh + n * n, work = values + n;
        lwork = int(std::max((count + 1) * kLapackBlock * n, (4 * n + 7) * n));
    }

    int64_t first_row(int block) const { return int64_t(rows) * block / count; }
    int rows_of(int block) const { return int(first_row(block + 1) - first_row(block)); }

    template <class Body>
    void for_blocks(const Body &body) const {
        parallel_for(size_t(count), 1, [&](size_t begin, size_t end) {
            if (!enter_lapack()) return;
            for (int block = int(begin); block < int(end); ++block) body(block);
            leave_lapack();
        });
    }
    Matrices part(Matrices m, int block) const {
        m.columns = rows_of(block);
        return m;
    }
    int64_t offset(const Matrices &m, int block) const {
        return first_row(block) * m.column_step * int64_t(sizeof(T));
    }
    void factor(T *a, int m, T *factors, T *room, int size) const {
        int info = 0;
        typed<T>(lapack.sgeqrf, lapack.dgeqrf)(&m, &columns, a, &m, factors, room, &size, &info);
    }

    // The values, with the vectors of R if requested. `x`: the transpose. False if an element is not
    // finite, or LAPACK fails.
    bool run(const Matrices &x, const void *from, int64_t index, bool vectors) const {
        const int n = columns;
        std::atomic<int> done = 0;
        for_blocks([&](int block) {
            T *a = matrix + first_row(block) * n;
            const int m = rows_of(block), size = kLapackBlock * n;
            part(x, block).load(a, static_cast<const char *>(from) + offset(x, block), index);
            if (!is_finite(a, int64_t(m) * n)) return;
            factor(a, m, tau + block * n, work + block * size, size);
            for (int j = 0; j < n; ++j) {
                T *to = stack + j * int64_t(stacked) + block * n;
                std::copy_n(a + j * int64_t(m), j + 1, to);
                std::fill(to + j + 1, to + n, T(0));
            }
            ++done;
        });
        if (done != count) return false;
        factor(stack, stacked, tau + count * n, work, lwork);
        for (int j = 0; j < n; ++j) {
            std::copy_n(stack + j * int64_t(stacked), j + 1, triangle + j * n);
            std::fill(triangle + j * n + j + 1, triangle + (j + 1) * n, T(0));
        }
        int info = 0;
        int *integers = reinterpret_cast<int *>(work + lwork);
        typed<T>(lapack.sgesdd, lapack.dgesdd)(vectors ? "S" : "N", &n, &n, triangle, &n, values, u,
                                               &n, vh, &n, work, &lwork, integers, &info, 1);
        return info == 0;
    }

    // Stores U, given by its transpose, after run(). V^T is in vh, by columns.
    void store_u(const Matrices &y, void *to, int64_t index) const {
        const int n = columns;
        T *top = stack + int64_t(stacked) * n;
        auto reflect = [&](int m, const T *a, const T *factors, T *c) {
            constexpr int kPanel = int(kLapackBlock), kWork = kPanel * kPanel + 4160;
            T room[kWork];  // with LAPACK's own triangle
            for (int begin = 0, info = 0; begin < n; begin += kPanel) {
                const int count = std::min(kPanel, n - begin);
                typed<T>(lapack.sormqr, lapack.dormqr)("L", "N", &m, &count, &n, a, &m, factors,
                                                       c + begin * int64_t(m), &m, room, &kWork,
                                                       &info, 1, 1);
            }
        };
        std::fill(top, top + int64_t(stacked) * n, T(0));
        for (int j = 0; j < n; ++j) std::copy_n(u + j * n, n, top + j * int64_t(stacked));
        reflect(stacked, stack, tau + count * n, top);
        for_blocks([&](int block) {
            const int m = rows_of(block);
            T *q = made + first_row(block) * n;
            std::fill(q, q + int64_t(m) * n, T(0));
            for (int j = 0; j < n; ++j)
                std::copy_n(top + j * int64_t(stacked) + block * n, n, q + j * int64_t(m));
            reflect(m, matrix + first_row(block) * n, tau + block * n, q);
            part(y, block).store(static_cast<char *>(to) + offset(y, block), index, q);
        });
    }
};

}  // namespace infini::cpu
