// Triangular systems, and LU and Cholesky factorisations, by halves, so that almost all of the work
// is products of matrices.
#pragma once

#include <limits>

#include "linalg/substitution.h"
#include "math_basic.h"
#include "matmul/matmul.h"

namespace infini::cpu {

constexpr int64_t kBlocksFrom = 48;  // rows for which these are faster than the loops over all rows

// A submatrix, with the distances between its rows and, in triangles that are only read, its
// columns.
template <class T>
struct Part {
    T *data;
    int64_t pitch, step = 1;

    Part at(int64_t row, int64_t column) const {
        return {data ? data + row * pitch + column * step : data, pitch, step};
    }
    Part transposed() const { return {data, step, pitch}; }
    T *row(int64_t i) const { return data + i * pitch; }
};

// Parts of a workspace. Without one, `used` becomes the number of bytes that are needed.
struct Room {
    char *data = nullptr;
    size_t used = 0;

    template <class T>
    T *take(int64_t count) {
        char *begin = data ? data + used : data;
        used += (size_t(count) * sizeof(T) + 63) / 64 * 64;
        return reinterpret_cast<T *>(begin);
    }
};

// Without a workspace nothing is computed: the same calls then add up to the size that they need.
template <class T>
class Blocks {
public:
    Blocks(bool threads, void *workspace) : threads_(threads), workspace_(workspace) {}
    size_t bytes() const { return bytes_; }

    // c = factor a b + beta c; a has m rows and k columns.
    void multiply(double factor, Part<T> a, Part<T> b, double beta, Part<T> c, int64_t m, int64_t k,
                  int64_t n) {
        Matmul product;
        const int dtype = sizeof(T) == 4 ? INFINI_DTYPE_F32 : INFINI_DTYPE_F64;
        product.m = m, product.k = k, product.n = n;
        product.a = {a.data, dtype, a.pitch, a.step};
        product.b = {b.data, dtype, b.pitch, b.step};
        product.c = {c.data, dtype, c.pitch, c.step};
        product.alpha = factor, product.beta = beta;
        product.threads = threads_ && m * k * n >= kThreads;
        if (workspace_)
            matmul(product, workspace_);
        else
            needs(matmul_workspace(product));
    }

    // Replaces x, with n rows, by the solution of a x = x.
    template <bool kUnit>
    void solve(Part<T> a, int64_t n, bool upper, Part<T> x, int64_t columns) {
        if (n <= kBase) return solve_base<kUnit>(a, n, upper, x, columns);
        const int64_t half = half_of(n, kBase), rest = n - half;
        if (upper) {
            solve<kUnit>(a.at(half, half), rest, upper, x.at(half, 0), columns);
            multiply(-1, a.at(0, half), x.at(half, 0), 1, x, half, rest, columns);
            solve<kUnit>(a, half, upper, x, columns);
        } else {
            solve<kUnit>(a, half, upper, x, columns);
            multiply(-1, a.at(half, 0), x, 1, x.at(half, 0), rest, half, columns);
            solve<kUnit>(a.at(half, half), rest, upper, x.at(half, 0), columns);
        }
    }

    // Factors a in place, as getrf: row k is exchanged with row swaps[k]; a pivot of 0 is no error.
    void factor(Part<T> a, int64_t rows, int64_t columns, int *swaps) {
        if (columns <= kPanel) return factor_panel(a, rows, columns, swaps);
        const int64_t left = columns > rows ? std::max(rows, kPanel) : half_of(columns, kPanel);
        const int64_t count = std::min(rows, left), rest = columns - left;
        factor(a, rows, left, swaps);
        exchange(a.at(0, left), rest, swaps, 0, count);
        solve<true>(a, count, false, a.at(0, left), rest);
        if (rows <= left) return;
        multiply(-1, a.at(left, 0), a.at(0, left), 1, a.at(left, left), rows - left, left, rest);
        int *more = swaps ? swaps + left : swaps;
        factor(a.at(left, left), rows - left, rest, more);
        exchange(a.at(left, 0), left, more, 0, std::min(rows - left, rest));
        for (int64_t k = 0; workspace_ && k < std::min(rows - left, rest); ++k)
            more[k] += int(left);
    }

    // Exchanges row k with row swaps[k] for k in [first, last).
    void exchange(Part<T> a, int64_t columns, const int *swaps, int64_t first, int64_t last) const {
        for (int64_t k = first; workspace_ && k < last; ++k)
            if (swaps[k] != k) std::swap_ranges(a.row(k), a.row(k) + columns, a.row(swaps[k]));
    }

    // Replaces x by the solution, given the results of factor().
    void solve_lu(Part<T> lu, int64_t n, const int *swaps, Part<T> x, int64_t columns) {
        exchange(x, columns, swaps, 0, n);
        solve<true>(lu, n, false, x, columns);
        solve<false>(lu, n, true, x, columns);
    }

    // Replaces the upper triangle of a by its Cholesky factor U, with a = U^T U. False if a pivot
    // is not positive.
    bool factor_cholesky(Part<T> a, int64_t n) {
        if (n <= kBase) return !workspace_ || factor_small(a, n);
        const int64_t half = half_of(n, kBase), rest = n - half;
        const Part<T> right = a.at(0, half);
        if (!factor_cholesky(a, half)) return false;
        solve<false>(a.transposed(), half, false, right, rest);
        subtract_square(right, a.at(half, half), half, rest);
        return factor_cholesky(a.at(half, half), rest);
    }

    // x = the inverse of a unit lower triangle.
    void invert_lower(Part<T> a, int64_t n, Part<T> x) {
        if (n <= kBase) {
            for (int64_t i = 0; workspace_ && i < n; ++i)
                std::fill_n(x.row(i), n, T(0)), x.row(i)[i] = 1;
            return solve_base<true>(a, n, false, x, n);
        }
        const int64_t half = half_of(n, kBase), rest = n - half;
        invert_lower(a, half, x);
        for (int64_t i = 0; workspace_ && i < half; ++i) std::fill_n(x.row(i) + half, rest, T(0));
        multiply(-1, a.at(half, 0), x, 0, x.at(half, 0), rest, half, half);
        solve<true>(a.at(half, half), rest, false, x.at(half, 0), half);
        invert_lower(a.at(half, half), rest, x.at(half, half));
    }

    // x = the inverse, given the results of factor(). `order` has room for n integers.
    void invert_lu(Part<T> lu, int64_t n, const int *swaps, Part<T> x, int *order) {
        needs(size_t(n) * sizeof(T));
        invert_lower(lu, n, x);
        solve<false>(lu, n, true, x, n);
        if (!workspace_) return;
        for (int64_t k = 0; k < n; ++k) order[k] = int(k);
        for (int64_t k = 0; k < n; ++k) std::swap(order[k], order[swaps[k]]);
        T *row = static_cast<T *>(workspace_);
        for (int64_t i = 0; i < n; ++i) {
            std::copy_n(x.row(i), n, row);
            for (int64_t k = 0; k < n; ++k) x.row(i)[order[k]] = row[k];
        }
    }

private:
    static constexpr int64_t kBase = 32, kPanel = 16, kStep = int64_t(kWidth<T>);
    static constexpr int64_t kSquare = 96;        // rows of squares that are computed whole
    static constexpr int64_t kThreads = 1 << 18;  // multiplications that pay for threads

    static int64_t half_of(int64_t n, int64_t grain) { return (n / 2 + grain - 1) / grain * grain; }
    void needs(size_t bytes) { bytes_ = std::max(bytes_, bytes); }

    // The upper triangle of c -= u^T u; u has k rows. Other elements become undefined.
    void subtract_square(Part<T> u, Part<T> c, int64_t k, int64_t n) {
        if (n <= kSquare) return multiply(-1, u.transposed(), u, 1, c, n, k, n);
        const int64_t half = half_of(n, kBase), rest = n - half;
        subtract_square(u, c, k, half);
        multiply(-1, u.transposed(), u.at(0, half), 1, c.at(0, half), half, k, rest);
        subtract_square(u.at(0, half), c.at(half, half), k, rest);
    }
    static bool factor_small(Part<T> a, int64_t n) {
        for (int64_t k = 0; k < n; ++k) {
            T *top = a.row(k) + k;
            if (!(*top > 0)) return false;
            const T pivot = std::sqrt(*top);
            *top = pivot;
            for (int64_t j = 1; j < n - k; ++j) top[j] /= pivot;
            for (int64_t i = 1; i < n - k; ++i)
                add_scaled(a.row(k + i) + k + i, top + i, -top[i], n - k - i);
        }
        return true;
    }

    template <bool kUnit>
    void solve_base(Part<T> a, int64_t n, bool upper, Part<T> x, int64_t columns) const {
        if (!workspace_) return;
        constexpr int64_t kTile = 2 * kStep;
        T copy[kBase * kBase];
        if (a.step != 1) {  // vectors are not loaded from it, but rows of one line are read faster
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i < n; ++i)
                    copy[i * kBase + j] = a.data[i * a.pitch + j * a.step];
            a = {copy, kBase};
        }
        auto solve_tiles = [=](size_t first, size_t last) {
            for (int64_t at = int64_t(first) * kTile; at < int64_t(last) * kTile; at += kTile) {
                const int64_t count = std::min(kTile, columns - at);
                if (count == kTile) {
                    substitute<Vec<T>, 2, kUnit>(a.data, a.pitch, n, upper, x.data + at, x.pitch);
                    continue;
                }
                T rows[kBase * kTile];
                const int64_t width = count > kStep ? kTile : kStep;
                for (int64_t i = 0; i < n; ++i) {
                    std::copy_n(x.row(i) + at, count, rows + i * width);
                    std::fill_n(rows + i * width + count, width - count, T(0));
                }
                if (width == kTile)
                    substitute<Vec<T>, 2, kUnit>(a.data, a.pitch, n, upper, rows, width);
                else
                    substitute<Vec<T>, 1, kUnit>(a.data, a.pitch, n, upper, rows, width);
                for (int64_t i = 0; i < n; ++i) std::copy_n(rows + i * width, count, x.row(i) + at);
            }
        };
        const size_t tiles = size_t((columns + kTile - 1) / kTile);
        if (threads_)
            parallel_for(tiles, 8, solve_tiles);
        else
            solve_tiles(0, tiles);
    }

    // At most kPanel columns, or at most as many rows. The panel is transposed, so that loops run
    // over rows.
    void factor_panel(Part<T> a, int64_t rows, int64_t columns, int *swaps) {
        const int64_t pitch = (rows + kStep - 1) / kStep * kStep + kStep;
        needs(size_t(pitch * columns) * sizeof(T));
        if (!workspace_) return;
        T *panel = static_cast<T *>(workspace_);
        auto bytes = [](auto *data) { return reinterpret_cast<char *>(data); };
        Matrices::transpose<T>(bytes(panel), pitch, bytes(a.data), a.pitch, rows, columns);
        for (int64_t k = 0; k < std::min(rows, columns); ++k) {
            T *column = panel + k * pitch;
            const int64_t pivot = k + largest(column + k, rows - k);
            swaps[k] = int(pivot);
            for (int64_t j = 0; pivot != k && j < columns; ++j)
                std::swap(panel[j * pitch + k], panel[j * pitch + pivot]);
            const T value = column[k];
            if (value == 0) continue;
            for (int64_t i = k + 1; i < rows; ++i) column[i] /= value;
            for (int64_t j = k + 1; j < columns; ++j)
                add_scaled(panel + j * pitch + k + 1, column + k + 1, -panel[j * pitch + k],
                           rows - k - 1);
        }
        Matrices::transpose<T>(bytes(a.data), a.pitch, bytes(panel), pitch, columns, rows);
    }
    // The index of the first element of the largest size.
    static int64_t largest(const T *x, int64_t n) {
        using V = Vec<T>;
        V most = broadcast<V>(T(0));
        int64_t i = 0;
        for (; i + kStep <= n; i += kStep) {
            const V size = absolute(load<V>(x + i));
            most = size > most ? size : most;
        }
        T best = 0;
        for (int64_t k = 0; k < kStep; ++k) best = std::max(best, most[k]);
        for (; i < n; ++i) best = std::max(best, std::abs(x[i]));
        for (i = 0; i < n; ++i)
            if (std::abs(x[i]) == best) return i;
        return 0;
    }

    bool threads_;
    void *workspace_;
    size_t bytes_ = 0;
};

// Whether the factors of n rows have pivots by which numbers can be divided.
template <class T>
bool has_pivots(Part<T> lu, int64_t n, double least = 0) {
    least = std::max(least, double(std::numeric_limits<T>::min()));
    for (int64_t k = 0; k < n; ++k)
        if (!(std::abs(lu.row(k)[k]) > least)) return false;
    return true;
}

// Whether a matrix of a batch is worth several threads.
inline bool is_worth_threads(const Matrices &x) {
    const int64_t least = std::min(x.rows, x.columns);
    return least >= 48 && least * x.size() >= 1 << 21 && x.count() < int64_t(thread_count());
}

// plan_batch with two ways. If `is_large`, by_blocks(arguments, index, room) is called first; it
// returns false, with nothing stored, to leave a matrix to `body`. It is called without arguments
// to find the size of its room.
template <class ByBlocks, class Body>
std::unique_ptr<Plan> plan_with_blocks(int64_t count, bool is_large, const ByBlocks &by_blocks,
                                       int64_t doubles, int64_t work, const Body &body) {
    if (!is_large) return plan_batch(count, doubles, work, body);
    Room needed;
    by_blocks(nullptr, 0, needed);
    return plan_batch(count, std::max(doubles, int64_t(needed.used / sizeof(double))), work,
                      [=](const Arguments &a, int64_t i, double *data) {
                          Room room = {reinterpret_cast<char *>(data)};
                          if (!by_blocks(&a, i, room)) body(a, i, data);
                      });
}

// by_blocks for the element type of x, from by_blocks(T(), ...).
template <class ByBlocks>
auto by_dtype(const Matrices &x, const ByBlocks &by_blocks) {
    return [=](const Arguments *a, int64_t i, Room &room) {
        return x.dtype == INFINI_DTYPE_F32 ? by_blocks(float(), a, i, room)
                                           : by_blocks(double(), a, i, room);
    };
}

}  // namespace infini::cpu
