// QR factors, and products of their reflections, by panels of columns: 1 - V T V^T of a panel is
// applied by products of matrices. Matrices are column-major.
#pragma once

#include "linalg/blocks.h"

namespace infini::cpu {

// Whether panels are faster than single reflections.
inline bool has_panels(const Matrices &x) {
    return std::min(x.rows, x.columns) > (x.size() < 4096 ? 32 : 1);
}

template <class T>
class Reflections {
public:
    // For matrices of `rows` rows and products with up to `columns` columns. Without data in the
    // room nothing is computed, as for Blocks.
    Reflections(bool threads, int64_t rows, int64_t columns, Room &room)
        : rows_(rows),
          vectors_{room.take<T>(rows * kPanel), 1, rows},
          triangle_{room.take<T>(kPanel * kPanel), kPanel},
          gram_{room.take<T>(kPanel * kPanel), kPanel},
          products_{room.take<T>(kPanel * columns), columns},
          more_{room.take<T>(kPanel * columns), columns},
          is_dry_(!room.data),
          blocks_(threads, room.take<char>(0)) {}
    size_t bytes() const { return blocks_.bytes(); }

    // geqrf: R, and V below the diagonal. False if a column's length over- or underflows.
    bool factor(Part<T> a, int64_t columns, T *tau) {
        const int64_t count = std::min(rows_, columns);
        for (int64_t first = 0; first < count; first += kPanel) {
            const int64_t width = std::min(kPanel, count - first);
            if (!factor_panel(a, first, width, tau)) return false;
            const int64_t last = first + width;
            if (last == columns) break;
            load_panel(a, first, width, tau);
            apply_panel(first, width, true, a.at(first, last), columns - last);
        }
        return true;
    }

    // Replaces c by Q c, or Q^T c, for the first `count` reflections of a. `leaves`: the columns of
    // c before a reflection's own are the identity's, which it leaves as they are.
    void apply(Part<T> a, const T *tau, int64_t count, bool transposed, Part<T> c, int64_t columns,
               bool leaves = false) {
        const int64_t panels = (count + kPanel - 1) / kPanel;
        for (int64_t i = 0; i < panels; ++i) {
            const int64_t first = (transposed ? i : panels - 1 - i) * kPanel;
            const int64_t width = std::min(kPanel, count - first), from = leaves ? first : 0;
            load_panel(a, first, width, tau);
            apply_panel(first, width, transposed, c.at(first, from), columns - from);
        }
    }

    // The first columns of Q.
    void make_q(Part<T> a, const T *tau, int64_t count, Part<T> q, int64_t columns) {
        for (int64_t j = 0; !is_dry_ && j < columns; ++j) {
            std::fill_n(q.data + j * q.step, rows_, T(0));
            q.data[j * q.step + j] = 1;
        }
        apply(a, tau, count, false, q, columns, true);
    }

private:
    static constexpr int64_t kPanel = 32, kNarrow = 8;

    // Halves of panels, of which the first is applied to the second.
    bool factor_panel(Part<T> a, int64_t first, int64_t width, T *tau) {
        if (width <= kNarrow) return is_dry_ || factor_narrow(a, first, width, tau);
        const int64_t half = width > 2 * kNarrow ? 2 * kNarrow : kNarrow;
        if (!factor_panel(a, first, half, tau)) return false;
        load_panel(a, first, half, tau);
        apply_panel(first, half, true, a.at(first, first + half), width - half);
        return factor_panel(a, first + half, width - half, tau);
    }
    // Column by column.
    bool factor_narrow(Part<T> a, int64_t first, int64_t width, T *tau) const {
        for (int64_t k = first; k < first + width; ++k) {
            T *column = a.data + k * a.step + k;
            const int64_t rest = rows_ - k - 1;
            const double head = column[0], square = sum_of_squares(column + 1, rest);
            tau[k] = 0;
            if (square == 0 && is_zero(column + 1, rest)) continue;
            const double length = std::sqrt(head * head + square);
            if (!(length > kLeast && length < kMost)) return false;
            const double beta = head > 0 ? -length : length;
            const T factor = T(1 / (head - beta));
            if (!std::isfinite(factor)) return false;
            tau[k] = T((beta - head) / beta);
            for (int64_t i = 1; i <= rest; ++i) column[i] *= factor;
            column[0] = T(beta);
            for (int64_t j = k + 1; j < first + width; ++j) {
                T *other = a.data + j * a.step + k;
                const T sum = tau[k] * (other[0] + dot(column + 1, other + 1, rest));
                other[0] -= sum;
                add_scaled(other + 1, column + 1, -sum, rest);
            }
        }
        return true;
    }

    // V of a panel with its zeros and ones, and T.
    void load_panel(Part<T> a, int64_t first, int64_t width, const T *tau) {
        const int64_t rows = rows_ - first;
        for (int64_t j = 0; !is_dry_ && j < width; ++j) {
            T *to = vectors_.data + j * vectors_.step;
            const T *from = a.data + (first + j) * a.step + first;
            std::fill_n(to, j, T(0));
            to[j] = 1;
            std::copy(from + j + 1, from + rows, to + j + 1);
        }
        blocks_.multiply(1, vectors_.transposed(), vectors_, 0, gram_, width, rows, width);
        for (int64_t j = 0; !is_dry_ && j < width; ++j)
            for (int64_t i = 0; i < width; ++i) {
                T sum = 0;
                for (int64_t k = i; k < j; ++k) sum += triangle_.row(i)[k] * gram_.row(k)[j];
                triangle_.row(i)[j] = i < j    ? -tau[first + j] * sum
                                      : i == j ? tau[first + j]
                                               : T(0);
            }
    }
    void apply_panel(int64_t first, int64_t width, bool transposed, Part<T> c, int64_t columns) {
        const int64_t rows = rows_ - first;
        blocks_.multiply(1, vectors_.transposed(), c, 0, products_, width, rows, columns);
        blocks_.multiply(-1, transposed ? triangle_.transposed() : triangle_, products_, 0, more_,
                         width, width, columns);
        blocks_.multiply(1, vectors_, more_, 1, c, rows, width, columns);
    }

    // Lengths whose squares are normal numbers.
    static constexpr double kLeast = sizeof(T) == 4 ? 1e-37 : 1e-145;
    static constexpr double kMost = sizeof(T) == 4 ? 1e38 : 1e150;

    static bool is_zero(const T *x, int64_t n) {
        return std::all_of(x, x + n, [](T value) { return value == 0; });
    }
    // In double, so that squares of F32 are exact.
    static double sum_of_squares(const T *x, int64_t n) {
        double sums[8] = {};
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; ++k) sums[k] += double(x[i + k]) * double(x[i + k]);
        for (; i < n; ++i) sums[0] += double(x[i]) * double(x[i]);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
               ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    int64_t rows_;
    Part<T> vectors_, triangle_, gram_, products_, more_;
    bool is_dry_;
    Blocks<T> blocks_;
};

}  // namespace infini::cpu
