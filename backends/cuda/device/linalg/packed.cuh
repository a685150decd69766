// Factors in LAPACK's packed forms, and equations solved with them. One block per matrix.
#pragma once

#ifdef INFINI_KERNEL_PACKED_REFLECTORS
#include "reflections.cuh"

// kResult: 0 geqrf, 1 householder_product, 2 ormqr, with the transpose if kTranspose.
using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t rows = p.x.rows, columns = p.x.columns;
    double *m = block_room<kSharedRoom>(p), *tau = m + rows * columns;
    for (int64_t item = blockIdx.x; item < p.count * p.parts; item += gridDim.x) {
        const int64_t index = item / p.parts, part = item - index * p.parts;
        load_matrix(m, p.x, index);
        if constexpr (kResult == 0) {
            factor_qr(m, rows, columns, tau);
            store_matrix(p.y, index, m);
            store_matrix(p.z, index, tau);
        } else {
            const MatrixParams y = part_of(p.y, part);
            const int64_t count = p.b.columns, width = y.columns;
            double *made = tau + count;
            load_matrix(tau, p.b, index);
            if constexpr (kResult == 1) {
                INFINI_ROLLED
                for (int64_t i = thread(); i < rows * width; i += kThreads)
                    made[i] = i / width == part * kThreads + i % width ? 1.0 : 0.0;
            } else {
                load_matrix(made, part_of(p.z, part), index);
            }
            __syncthreads();
            INFINI_ROLLED
            for (int64_t step = 0; step < count; ++step) {
                const int64_t k = kTranspose ? step : count - 1 - step;
                reflect(made + k * width, width, rows - k, width, m + k * columns + k, columns,
                        tau[k]);
            }
            __syncthreads();
            store_matrix(y, index, made);
        }
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_PACKED_TRIANGULAR
#include "dense.cuh"

// kResult: 0 solve_triangular, 1 lu_solve, whose pivots are in z.
namespace infini {

// One thread per right-hand side.
INFINI_CALLED void substitute(const double *m, int64_t n, bool transposed, bool upper, bool unit,
                              double *x, int64_t columns) {
    const int64_t row = transposed ? 1 : n, column = transposed ? n : 1;
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads)
        for (int64_t r = 0; r < n; ++r) {
            const int64_t i = upper ? n - 1 - r : r;
            double sum = x[i * columns + j];
            for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k)
                sum -= m[i * row + k * column] * x[k * columns + j];
            x[i * columns + j] = unit ? sum : sum / m[i * n + i];
        }
}

INFINI_CALLED void exchange(const MatrixParams &pivots, int64_t index, double *x, int64_t columns,
                            bool backwards) {
    const int *from = static_cast<const int *>(pivots.data) + pivots.batch(index);
    const int64_t n = pivots.columns;
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads)
        for (int64_t i = 0; i < n; ++i) {
            const int64_t k = backwards ? n - 1 - i : i;
            const int64_t other = from[k * pivots.column_step] - 1;
            if (other < 0 || other >= n) continue;
            const double kept = x[k * columns + j];
            x[k * columns + j] = x[other * columns + j];
            x[other * columns + j] = kept;
        }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t n = p.x.rows;
    double *m = block_room<kSharedRoom>(p), *x = m + n * n;
    for (int64_t item = blockIdx.x; item < p.count * p.parts; item += gridDim.x) {
        const int64_t index = item / p.parts, part = item - index * p.parts;
        const MatrixParams b = part_of(p.b, part), y = part_of(p.y, part);
        const int64_t columns = b.columns;
        load_matrix(m, p.x, index);
        load_matrix(x, b, index);
        __syncthreads();
        if constexpr (kResult == 0) {
            substitute(m, n, false, kUpper, kUnit, x, columns);
        } else if constexpr (kUpper) {  // with the transpose
            substitute(m, n, true, false, false, x, columns);
            substitute(m, n, true, true, true, x, columns);
            exchange(p.z, index, x, columns, true);
        } else {
            exchange(p.z, index, x, columns, false);
            substitute(m, n, false, false, true, x, columns);
            substitute(m, n, false, true, false, x, columns);
        }
        __syncthreads();
        store_matrix(y, index, x);
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_PACKED_LDL
#include "dense.cuh"

// kResult: 0 ldl_factor, 1 ldl_solve, as LAPACK's sytrf and sytrs for lower triangles.
namespace infini {

// What thread 0 finds at a step: the size of the block, the row exchanged with its last one, and
// whether the column is 0.
struct Choice {
    int64_t size, other, zero;
};

INFINI_CALLED void choose(const double *m, int64_t n, int64_t k, Choice *choice) {
    constexpr double kAlpha = 0.6403882032022076;  // limits the growth of elements
    *choice = {1, k, 0};
    double most = 0;
    int64_t at = k;
    for (int64_t i = k + 1; i < n; ++i)
        if (fabs(m[i * n + k]) > most) most = fabs(m[i * n + k]), at = i;
    const double here = fabs(m[k * n + k]);
    if ((here == 0 && most == 0) || here != here) {
        choice->zero = 1;
    } else if (here < kAlpha * most) {
        double row = 0;
        for (int64_t j = k; j < at; ++j) row = fmax(row, fabs(m[at * n + j]));
        for (int64_t i = at + 1; i < n; ++i) row = fmax(row, fabs(m[i * n + at]));
        if (here < kAlpha * most * (most / row))
            *choice = {fabs(m[at * n + at]) >= kAlpha * row ? 1 : 2, at, 0};
    }
}

// Exchanges rows and columns `one` and `other` of the trailing matrix from k on, by thread 0.
INFINI_CALLED void exchange(double *m, int64_t n, int64_t k, int64_t one, int64_t other) {
    auto swap = [=](int64_t a, int64_t b) {
        const double kept = m[a];
        m[a] = m[b], m[b] = kept;
    };
    for (int64_t i = other + 1; i < n; ++i) swap(i * n + one, i * n + other);
    for (int64_t j = one + 1; j < other; ++j) swap(j * n + one, other * n + j);
    swap(one * n + one, other * n + other);
    if (one != k) swap(one * n + k, other * n + k);
}

// Replaces the lower triangle of m. `lines` has room for two rows. Returns the first zero of D.
INFINI_CALLED int factor_ldl(double *m, int64_t n, double *lines, int *pivots, int64_t step,
                             Choice *choice) {
    int zero = 0;
    INFINI_ROLLED
    for (int64_t k = 0; k < n;) {
        if (thread() == 0) {
            choose(m, n, k, choice);
            const int64_t last = k + choice->size - 1;
            if (choice->other != last) exchange(m, n, k, last, choice->other);
        }
        __syncthreads();
        const Choice found = *choice;
        const int64_t next = k + found.size;
        if (found.zero && !zero) zero = int(k) + 1;
        const double a = m[k * n + k], b = found.size == 2 ? m[(k + 1) * n + k] : 1;
        const double first = found.size == 2 ? m[(k + 1) * n + k + 1] / b : 0, second = a / b;
        const double scale = 1 / (first * second - 1) / b;
        INFINI_ROLLED
        for (int64_t i = next + thread(); i < n; i += kThreads) {
            const double x = m[i * n + k], y = found.size == 2 ? m[i * n + k + 1] : 0;
            lines[i] = found.size == 1 ? x * (1 / a) : scale * (first * x - y);
            lines[n + i] = scale * (second * y - x);
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t at = thread(); at < (n - next) * (n - next) && !found.zero; at += kThreads) {
            const int64_t i = next + at / (n - next), j = next + at % (n - next);
            if (j > i) continue;
            m[i * n + j] -= m[i * n + k] * lines[j];
            if (found.size == 2) m[i * n + j] -= m[i * n + k + 1] * lines[n + j];
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = next + thread(); i < n && !found.zero; i += kThreads) {
            m[i * n + k] = lines[i];
            if (found.size == 2) m[i * n + k + 1] = lines[n + i];
        }
        if (thread() == 0)
            for (int64_t i = k; i < next; ++i)
                pivots[i * step] = int(found.size == 1 ? found.other + 1 : -found.other - 1);
        __syncthreads();
        k = next;
    }
    return zero;
}

// One thread per right-hand side.
INFINI_CALLED void solve_ldl(const double *m, int64_t n, const int *pivots, int64_t step, double *x,
                             int64_t columns) {
    auto exchange = [=](int64_t k, int pivot) {
        const int64_t other = (pivot < 0 ? -int64_t(pivot) : pivot) - 1;
        if (other < 0 || other >= n) return;
        const double kept = x[k * columns];
        x[k * columns] = x[other * columns], x[other * columns] = kept;
    };
    for (int64_t k = 0; k < n;) {
        const int pivot = pivots[k * step];
        const bool pair = pivot <= 0 && k + 1 < n;
        const int64_t next = k + 1 + pair;
        exchange(next - 1, pivot);
        const double one = x[k * columns], two = pair ? x[(k + 1) * columns] : 0;
        for (int64_t i = next; i < n; ++i) {
            x[i * columns] -= m[i * n + k] * one;
            if (pair) x[i * columns] -= m[i * n + k + 1] * two;
        }
        if (!pair) {
            x[k * columns] = one * (1 / m[k * n + k]);
        } else {
            const double b = m[(k + 1) * n + k];
            const double first = m[k * n + k] / b, second = m[(k + 1) * n + k + 1] / b;
            const double scale = first * second - 1;
            x[k * columns] = (second * (one / b) - two / b) / scale;
            x[(k + 1) * columns] = (first * (two / b) - one / b) / scale;
        }
        k = next;
    }
    for (int64_t k = n - 1; k >= 0;) {
        const int pivot = pivots[k * step];
        const int64_t size = pivot <= 0 && k > 0 ? 2 : 1;
        for (int64_t i = k; i > k - size; --i) {
            double sum = x[i * columns];
            for (int64_t j = k + 1; j < n; ++j) sum -= m[j * n + i] * x[j * columns];
            x[i * columns] = sum;
        }
        exchange(k, pivot);
        k -= size;
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t n = p.x.rows;
    double *m = block_room<kSharedRoom>(p), *rest = m + n * n;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        int *pivots = static_cast<int *>(p.z.data) + p.z.batch(index);
        load_matrix(m, p.x, index);
        if constexpr (kResult == 0) {
            __syncthreads();
            Choice *choice = reinterpret_cast<Choice *>(rest + 2 * n);
            const int zero = factor_ldl(m, n, rest, pivots, p.z.column_step, choice);
            if (thread() == 0) static_cast<int *>(p.w.data)[p.w.batch(index)] = zero;
            INFINI_ROLLED
            for (int64_t i = thread(); i < n * n; i += kThreads)
                if (i / n < i % n) m[i] = 0;
            __syncthreads();
            store_matrix(p.y, index, m);
        } else {
            load_matrix(rest, p.b, index);
            __syncthreads();
            INFINI_ROLLED
            for (int64_t j = thread(); j < p.b.columns; j += kThreads)
                solve_ldl(m, n, pivots, p.z.column_step, rest + j, p.b.columns);
            __syncthreads();
            store_matrix(p.y, index, rest);
        }
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_PACKED_UNPACK
#include "dense.cuh"

// lu_unpack: p in y, l in z, u in w, from packed factors in x and pivots in b.
using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t m = p.x.rows, n = p.x.columns, count = p.b.columns;
    int64_t *order = reinterpret_cast<int64_t *>(block_room<kSharedRoom>(p));
    auto write = [](const MatrixParams &to, int64_t index, auto value) {
        T *data = static_cast<T *>(to.data) + to.batch(index);
        INFINI_ROLLED
        for (int64_t e = thread(); e < to.rows * to.columns; e += kThreads) {
            const int64_t i = e / to.columns, k = e - i * to.columns;
            data[i * to.row_step + k * to.column_step] = value(i, k);
        }
    };
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        const T *lu = static_cast<const T *>(p.x.data) + p.x.batch(index);
        const int *pivots = static_cast<const int *>(p.b.data) + p.b.batch(index);
        if (thread() == 0) {
            for (int64_t i = 0; i < m; ++i) order[i] = i;
            for (int64_t k = 0; k < count; ++k) {
                const int64_t other = pivots[k * p.b.column_step] - 1, kept = order[k];
                if (other < 0 || other >= m) continue;
                order[k] = order[other], order[other] = kept;
            }
        }
        __syncthreads();
        const T none = convert<T>(0.0), one = convert<T>(1.0);
        auto at = [=, &p](int64_t i, int64_t k) {
            return lu[i * p.x.row_step + k * p.x.column_step];
        };
        write(p.y, index, [=](int64_t i, int64_t k) { return order[k] == i ? one : none; });
        write(p.z, index, [=](int64_t i, int64_t k) {
            return i < k ? none : i == k ? one : at(i, k);
        });
        write(p.w, index, [=](int64_t i, int64_t k) { return i > k ? none : at(i, k); });
        __syncthreads();
    }
}
#endif
