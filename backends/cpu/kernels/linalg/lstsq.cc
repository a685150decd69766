// lstsq: least squares by QR with exchanged columns, as LAPACK's gelsy, in double precision. The
// factorisation ends where the rank is reached.
#include "linalg/lapack.h"
#include "linalg/qr.h"

namespace infini::cpu {
namespace {

// Threads for `columns` of this many elements.
size_t columns_for_thread(int64_t elements) {
    return size_t(std::max<int64_t>(1, 32768 / std::max<int64_t>(elements, 1)));
}

// `length` and `make_reflection` of contiguous elements.
double norm(const double *x, int64_t n) {
    const double square = dot(x, x, n);
    return square > 1e-200 && square < 1e200 ? std::sqrt(square) : length(x, n, 1);
}

double make_reflection(double *x, int64_t n) {
    const double below = n > 1 ? norm(x + 1, n - 1) : 0;
    if (!(below > 1e-100)) return infini::cpu::make_reflection(x, n, 1);
    const double first = x[0], result = -std::copysign(std::hypot(first, below), first);
    for (int64_t i = 1; i < n; ++i) x[i] /= first - result;
    x[0] = result;
    return (result - first) / result;
}

// The largest or smallest singular value of a growing upper triangle R, and the left singular
// vector x, by incremental condition estimation.
struct SingularValue {
    double value, *x;
    double s = 0, c = 1;  // the vector of the next triangle is (s x, c)

    // The value for R with one more column, (w, gamma), where w has n elements.
    double next(const double *w, double gamma, int64_t n, bool largest) {
        // A singular value of [[value, alpha], [0, gamma]], without overflow or cancellation.
        const double alpha = dot(x, w, n);
        const double scale = std::max({value, std::abs(alpha), std::abs(gamma)});
        if (scale == 0) return 0;
        const double f = value / scale, g = alpha / scale, h = gamma / scale, size = std::abs(h);
        const double most = (std::hypot(f + size, g) + std::hypot(f - size, g)) / 2;
        const double angle = std::atan2(2 * g * h, (f - size) * (f + size) + g * g) / 2;
        s = largest ? std::cos(angle) : -std::sin(angle);
        c = largest ? std::sin(angle) : std::cos(angle);
        return scale * (largest ? most : f * size / most);
    }
    void extend(double to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) x[i] *= s;
        x[n] = c, value = to;
    }
};

struct LeastSquares {
    int64_t m, n, sides;
    double rcond;
    double *a, *b, *solution;  // columns of m, m and n elements
    double *norms, *first_norms, *most_vector, *least_vector, *rows;
    int64_t *order;

    static int64_t doubles(int64_t m, int64_t n, int64_t sides) {
        return m * n + (m + n) * sides + std::min(m, n) * (n + 2) + 3 * n;
    }
    LeastSquares(double *room, int64_t m, int64_t n, int64_t sides, double rcond)
        : m(m), n(n), sides(sides), rcond(rcond), a(room), b(a + m * n), solution(b + m * sides) {
        const int64_t count = std::min(m, n);
        norms = solution + n * sides, first_norms = norms + n;
        most_vector = first_norms + n, least_vector = most_vector + count;
        rows = least_vector + count;
        order = reinterpret_cast<int64_t *>(rows + count * n);
    }

    // Returns the rank; -1, and no solution, if it is more than `most`.
    int64_t run(int64_t most) const {
        const int64_t rank = factor(most);
        if (rank < 0) return rank;
        double *tau = norms;
        for (int64_t i = 0; i < rank; ++i)
            for (int64_t j = i; j < n; ++j) rows[i * n + j] = a[j * m + i];
        for (int64_t i = rank - 1; i >= 0; --i) tau[i] = clear_row(i, rank);
        parallel_for(size_t(sides), columns_for_thread(n * rank), [&](size_t begin, size_t end) {
            for (int64_t k = int64_t(begin); k < int64_t(end); ++k)
                substitute(b + k * m, solution + k * n, tau, rank);
        });
        for (int64_t k = 0; k < sides; ++k) {
            double *x = solution + k * n;
            for (int64_t j = 0; j < n; ++j) first_norms[order[j]] = x[j];
            std::copy(first_norms, first_norms + n, x);
        }
        return rank;
    }

private:
    // The columns of a, exchanged, become those of R; b is multiplied by Q^T.
    int64_t factor(int64_t most_rank) const {
        const int64_t count = std::min(m, n);
        for (int64_t j = 0; j < n; ++j) {
            order[j] = j;
            norms[j] = first_norms[j] = norm(a + j * m, m);
        }
        SingularValue most = {0, most_vector}, least = {0, least_vector};
        for (int64_t k = 0; k < count; ++k) {
            exchange(k, std::max_element(norms + k, norms + n) - norms);
            double *column = a + k * m, *v = column + k;
            const double tau = make_reflection(v, m - k), gamma = v[0];
            const double above = k ? most.next(column, gamma, k, true) : std::abs(gamma);
            const double below = k ? least.next(column, gamma, k, false) : above;
            if (!(above * rcond <= below) || below == 0) return k;
            if (k == most_rank) return -1;
            if (k == 0) most.c = least.c = 1;
            most.extend(above, k), least.extend(below, k);
            reflect_columns(v, k, tau);
        }
        return count;
    }

    void exchange(int64_t k, int64_t other) const {
        if (other == k) return;
        std::swap_ranges(a + k * m, a + (k + 1) * m, a + other * m);
        std::swap(order[k], order[other]);
        norms[other] = norms[k], first_norms[other] = first_norms[k];
    }

    void reflect_columns(const double *v, int64_t k, double tau) const {
        const int64_t rest = m - k - 1, later = n - k - 1;
        auto body = [=, this](size_t begin, size_t end) {
            for (int64_t j = int64_t(begin); j < int64_t(end); ++j) {
                double *c = j < later ? a + (k + 1 + j) * m + k : b + (j - later) * m + k;
                if (tau != 0) {
                    const double sum = tau * (c[0] + dot(c + 1, v + 1, rest));
                    c[0] -= sum;
                    add_scaled(c + 1, v + 1, -sum, rest);
                }
                if (j < later) shorten(k + 1 + j, c);
            }
        };
        parallel_for(size_t(later + sides), columns_for_thread(m - k), body);
    }

    // The norm of a column without its element c[0], again from the elements where the difference
    // of the squares has lost half of the digits.
    void shorten(int64_t j, const double *c) const {
        if (norms[j] == 0) return;
        const double part = std::abs(c[0]) / norms[j];
        const double left = std::max(0.0, (1 - part) * (1 + part));
        const double share = norms[j] / first_norms[j];
        if (left * share * share > 1.5e-8)
            norms[j] *= std::sqrt(left);
        else
            norms[j] = first_norms[j] = norm(c + 1, m - 1 - (c - a - j * m));
    }

    // Reflects row i of R so that its elements from column `rank` on become 0. They are replaced by
    // the vector of the reflection. Returns tau.
    double clear_row(int64_t i, int64_t rank) const {
        double *v = rows + i * n + rank, &first = rows[i * n + i];
        const int64_t width = n - rank;
        const double size = width ? norm(v, width) : 0;
        if (size == 0) return 0;
        const double result = -std::copysign(std::hypot(first, size), first);
        const double tau = (result - first) / result;
        for (int64_t j = 0; j < width; ++j) v[j] /= first - result;
        first = result;
        parallel_for(size_t(i), columns_for_thread(width), [=, this](size_t begin, size_t end) {
            for (int64_t p = int64_t(begin); p < int64_t(end); ++p)
                reflect_row(rows[p * n + i], rows + p * n + rank, v, tau, width);
        });
        return tau;
    }
    static void reflect_row(double &first, double *rest, const double *v, double tau,
                            int64_t width) {
        const double sum = tau * (first + dot(rest, v, width));
        first -= sum;
        add_scaled(rest, v, -sum, width);
    }

    void substitute(const double *c, double *x, const double *tau, int64_t rank) const {
        for (int64_t i = rank - 1; i >= 0; --i)
            x[i] = (c[i] - dot(rows + i * n + i + 1, x + i + 1, rank - i - 1)) / rows[i * n + i];
        std::fill(x + rank, x + n, 0.0);
        for (int64_t i = 0; i < rank && rank < n; ++i)
            reflect_row(x[i], x + rank, rows + i * n + rank, tau[i], n - rank);
    }
};

std::unique_ptr<Plan> plan_lstsq(const Operation &operation) {
    const Matrices x = Matrices(operation.tensor(0), 2).transposed(), rank(operation.tensor(1), 0);
    const Matrices a = Matrices(operation.tensor(2), 2).transposed();
    const Matrices b = Matrices(operation.tensor(3), 2).transposed();
    const int64_t m = a.columns, n = a.rows, sides = b.rows;
    const double rcond = operation.number(0);
    const int64_t count = std::min(m, n), most = std::max(m, n);
    // False if the rank is more than most_rank.
    auto solve = [=](const Arguments &arguments, int64_t i, double *room, int64_t most_rank) {
        const LeastSquares problem(room, m, n, sides, rcond);
        a.load(problem.a, arguments.pointer<void>(2), i);
        b.load(problem.b, arguments.pointer<void>(3), i);
        int64_t found = 0;
        if (is_finite(problem.a, m * n))
            found = problem.run(most_rank);
        else
            std::fill(problem.solution, problem.solution + n * sides,
                      std::numeric_limits<double>::quiet_NaN());
        if (found < 0) return false;
        x.store(arguments.pointer<void>(0), i, problem.solution);
        rank.store(arguments.pointer<void>(1), i, &found);
        return true;
    };
    auto body = [=](const Arguments &arguments, int64_t i, double *room) {
        solve(arguments, i, room, count);
    };
    const int64_t lwork = std::max(count + 3 * n + 1, 2 * count + sides) * kLapackBlock;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &arguments, int64_t i,
                         double *room) {
        // LAPACK factors all columns, whatever the rank.
        constexpr int64_t kLowRank = 4;
        if (solve(arguments, i, room, kLowRank)) return true;
        return in_type_of(a, [&]<class T>(T) {
            T *matrix = reinterpret_cast<T *>(room), *right = matrix + m * n;
            T *work = right + most * sides;
            int *order = reinterpret_cast<int *>(work + lwork), found = 0, info = 0;
            a.load(matrix, arguments.pointer<void>(2), i);
            b.load(right, arguments.pointer<void>(3), i);
            if (!is_finite(matrix, m * n) || !is_finite(right, m * sides)) return false;
            // LAPACK's columns have room for those of the problem and of the solution.
            for (int64_t k = sides - 1; k > 0 && most > m; --k)
                std::copy_backward(right + k * m, right + (k + 1) * m, right + k * most + m);
            std::fill(order, order + n, 0);
            const int rows = int(m), columns = int(n), right_sides = int(sides);
            const int pitch = int(most), lsize = int(lwork);
            const T limit = T(rcond);
            typed<T>(lapack.sgelsy, lapack.dgelsy)(&rows, &columns, &right_sides, matrix, &rows,
                                                   right, &pitch, order, &limit, &found, work,
                                                   &lsize, &info);
            if (info != 0) return false;
            for (int64_t k = 1; k < sides && most > n; ++k)
                std::copy(right + k * most, right + k * most + n, right + k * n);
            const int64_t result = found;
            x.store(arguments.pointer<void>(0), i, right);
            rank.store(arguments.pointer<void>(1), i, &result);
            return true;
        });
    };
    const int64_t work = m * n * (count + sides + 8);
    return plan_with_lapack(a, kLapackLstsq, m * n + most * sides + lwork + n, by_lapack,
                            LeastSquares::doubles(m, n, sides), work, body);
}

INFINI_KERNEL("lstsq", plan_lstsq);

}  // namespace
}  // namespace infini::cpu
