// Householder reflections of tall matrices with few columns, in their own precision. The rows are
// divided into tiles of whole columns that stay in L1; each reflection is one pass over them.
#pragma once

#include <limits>

#include "linalg/dense.h"

namespace infini::cpu {

constexpr int64_t kThin = 16;  // columns

inline bool is_thin(int64_t rows, int64_t columns) {
    return columns > 0 && columns <= kThin && rows >= 32 && rows >= 2 * columns;
}

// Sums of products of x with `count` vectors y. n is a multiple of the lanes.
template <int count, class T>
inline void dots_of(const T *x, const T *y, int64_t pitch, int64_t n, double *sums) {
    using V = Vec<T>;
    constexpr int64_t kStep = int64_t(kWidth<T>);
    V sum[count][2];
    for (int j = 0; j < count; ++j) sum[j][0] = sum[j][1] = broadcast<V>(0);
    int64_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep) {
        const V one = load<V>(x + i), two = load<V>(x + i + kStep);
#pragma GCC unroll 4
        for (int j = 0; j < count; ++j) {
            sum[j][0] = fma(one, load<V>(y + j * pitch + i), sum[j][0]);
            sum[j][1] = fma(two, load<V>(y + j * pitch + i + kStep), sum[j][1]);
        }
    }
    for (int j = 0; j < count; ++j) {
        if (i < n) sum[j][0] = fma(load<V>(x + i), load<V>(y + j * pitch + i), sum[j][0]);
        sums[j] = double(reduce_add(V(sum[j][0] + sum[j][1])));
    }
}

// y[j] += factors[l * step + j] x[l], summed over `terms` vectors x, for `count` vectors y.
template <int count, class T>
inline void combine_of(T *y, const T *x, int64_t pitch, int64_t n, int64_t terms, const T *factors,
                       int64_t step) {
    using V = Vec<T>;
    constexpr int64_t kStep = int64_t(kWidth<T>);
    auto add = [&]<int vectors>(std::integral_constant<int, vectors>, int64_t i) {
        V sum[count][vectors];
#pragma GCC unroll 8
        for (int j = 0; j < count * vectors; ++j)
            sum[j / vectors][j % vectors] =
                load<V>(y + j / vectors * pitch + i + j % vectors * kStep);
        for (int64_t l = 0; l < terms; ++l) {
            V line[vectors];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) line[v] = load<V>(x + l * pitch + i + v * kStep);
#pragma GCC unroll 4
            for (int j = 0; j < count; ++j) {
                const V factor = broadcast<V>(factors[l * step + j]);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; ++v) sum[j][v] = fma(factor, line[v], sum[j][v]);
            }
        }
#pragma GCC unroll 8
        for (int j = 0; j < count * vectors; ++j)
            store(y + j / vectors * pitch + i + j % vectors * kStep, sum[j / vectors][j % vectors]);
    };
    int64_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep) add(std::integral_constant<int, 2>(), i);
    if (i < n) add(std::integral_constant<int, 1>(), i);
}

// Columns in tiles, and products of reflections 1 - V T V^T, whose vectors V are the first columns.
template <class T>
struct ThinTiles {
    static constexpr int64_t kStep = int64_t(kWidth<T>), kElements = (32 << 10) / sizeof(T);

    int64_t rows, columns, height, count;
    double *sums;  // columns * columns for each tile, and for all
    T *data;

    static int64_t height_for(int64_t rows, int64_t columns) {
        // An odd number of vectors, so that columns do not compete for the same cache lines.
        const int64_t vectors = (kElements / columns / kStep - 1) | 1;
        return std::min(vectors, (rows + kStep - 1) / kStep) * kStep;
    }
    static int64_t doubles(int64_t rows, int64_t columns) {
        const int64_t height = height_for(rows, columns), count = (rows + height - 1) / height;
        return (count + 1) * columns * columns +
               (count * columns * height * int64_t(sizeof(T)) + 7) / 8;
    }
    ThinTiles(double *room, int64_t rows, int64_t columns)
        : rows(rows),
          columns(columns),
          height(height_for(rows, columns)),
          count((rows + height - 1) / height),
          sums(room),
          data(reinterpret_cast<T *>(room + (count + 1) * columns * columns)) {}

    T *column(int64_t tile, int64_t j) const { return data + (tile * columns + j) * height; }
    double *sums_of(int64_t tile) const { return sums + (tile + 1) * columns * columns; }
    int64_t rows_of(int64_t tile) const { return std::min(height, rows - tile * height); }
    // With rows of zeros to whole vectors.
    int64_t length_of(int64_t tile) const { return (rows_of(tile) + kStep - 1) / kStep * kStep; }

    template <class Body>
    void for_tiles(const Body &body) const {
        parallel_for(size_t(count), 4, [&](size_t begin, size_t end) {
            for (int64_t tile = int64_t(begin); tile < int64_t(end); ++tile) body(tile);
        });
    }

    // The columns of a matrix, given its transpose, become columns [first, ...).
    void load_columns(int64_t tile, int64_t first, Matrices m, const void *from,
                      int64_t index) const {
        m.columns = rows_of(tile);
        const char *at =
            static_cast<const char *>(from) + tile * height * m.column_step * int64_t(sizeof(T));
        m.load(column(tile, first), at, index, height);
        for (int64_t j = first; j < first + m.rows; ++j)
            std::fill(column(tile, j) + m.columns, column(tile, j) + length_of(tile), T(0));
    }
    void store_columns(int64_t tile, const T *made, Matrices m, void *to, int64_t index) const {
        m.columns = rows_of(tile);
        m.store(static_cast<char *>(to) + tile * height * m.column_step * int64_t(sizeof(T)), index,
                made, height);
    }

    // Sums of products of a tile's column i with columns [first, last).
    void dots(int64_t tile, int64_t i, int64_t first, int64_t last, double *made) const {
        const int64_t n = length_of(tile);
        const T *x = column(tile, i);
        int64_t j = first;
        for (; j + 4 <= last; j += 4) dots_of<4>(x, column(tile, j), height, n, made + j);
        for (; j < last; ++j) dots_of<1>(x, column(tile, j), height, n, made + j);
    }
    // y += x factors, for `many` columns y.
    void combine(int64_t tile, T *y, int64_t many, const T *x, int64_t terms, const T *factors,
                 int64_t step) const {
        const int64_t n = length_of(tile);
        int64_t j = 0;
        for (; j + 4 <= many; j += 4)
            combine_of<4>(y + j * height, x, height, n, terms, factors + j, step);
        for (; j < many; ++j) combine_of<1>(y + j * height, x, height, n, terms, factors + j, step);
    }
    // The first `many` of the sums of all tiles.
    const double *total(int64_t many) const {
        std::fill(sums, sums + many, 0.0);
        for (int64_t tile = 0; tile < count; ++tile)
            for (int64_t j = 0; j < many; ++j) sums[j] += sums_of(tile)[j];
        return sums;
    }
};

// The workspace of tiles of a matrix's rows, and as many columns.
inline int64_t thin_doubles(const Matrices &x, int64_t columns) {
    return x.dtype == INFINI_DTYPE_F32 ? ThinTiles<float>::doubles(x.rows, columns)
                                       : ThinTiles<double>::doubles(x.rows, columns);
}

// `count` reflections: T, from V^T V above its diagonal and the factors tau.
struct ThinProduct {
    int64_t count;
    double t[kThin * kThin];

    ThinProduct(int64_t count, const double *products, int64_t pitch, const double *tau)
        : count(count) {
        for (int64_t k = 0; k < count; ++k)
            for (int64_t i = 0; i < count; ++i) {
                double sum = 0;
                for (int64_t l = i; l < k; ++l) sum += t[i * kThin + l] * products[l * pitch + k];
                t[i * kThin + k] = i < k ? -tau[k] * sum : i == k ? tau[k] : 0;
            }
    }

    // factors [count, columns] = -T m, or -T^T m.
    template <class T>
    void apply(const double *m, int64_t columns, bool transpose, T *factors) const {
        for (int64_t k = 0; k < count; ++k)
            for (int64_t j = 0; j < columns; ++j) {
                double sum = 0;
                for (int64_t l = 0; l < count; ++l)
                    sum += t[transpose ? l * kThin + k : k * kThin + l] * m[l * columns + j];
                factors[k * columns + j] = T(-sum);
            }
    }
};

// The factors of a matrix of at least 2 * columns rows.
template <class T>
struct ThinQr : ThinTiles<T> {
    using Tiles = ThinTiles<T>;
    using Tiles::columns;

    double r[kThin * kThin], tau[kThin], products[kThin * kThin];

    ThinQr(double *room, int64_t rows, int64_t columns) : Tiles(room, rows, columns) {}

    // Makes R and the columns of V, which begin with zeros and 1. `x`: the transpose. False if the
    // matrix has elements for which the precision is too small: too large ones, for example.
    bool factor(const Matrices &x, const void *from, int64_t index) {
        this->for_tiles([&](int64_t tile) {
            this->load_columns(tile, 0, x, from, index);
            start(tile, 0);
        });
        for (int64_t k = 0; k < columns; ++k) {
            T scale = 0, factors[kThin] = {};
            if (!make_reflection(k, scale, factors)) return false;
            this->for_tiles([&](int64_t tile) {
                T *v = this->column(tile, k);
                for (int64_t i = 0; i < this->length_of(tile); ++i) v[i] *= scale;
                if (k + 1 < columns)
                    this->combine(tile, this->column(tile, k + 1), columns - k - 1, v, 1,
                                  factors + k + 1, 0);
                if (tile == 0) v[k] = 1;
                if (k + 1 < columns) start(tile, k + 1);
            });
        }
        return true;
    }

    // R, with zeros below its diagonal.
    void copy_r(double *to) const {
        for (int64_t i = 0; i < columns; ++i)
            for (int64_t j = 0; j < columns; ++j)
                to[i * columns + j] = j < i ? 0 : r[i * kThin + j];
    }

    ThinProduct product() const { return {columns, products, kThin, tau}; }

    // Stores Q times m [columns, columns], or Q if m is null. `q`: the transpose.
    void store_q(const Matrices &q, const double *m, void *to, int64_t index) const {
        double top[kThin * kThin];
        T factors[kThin * kThin];
        for (int64_t l = 0; l < columns; ++l)
            for (int64_t j = 0; j < columns; ++j) {
                double sum = m ? 0 : double(this->column(0, l)[j]);
                for (int64_t i = 0; m && i < columns; ++i)
                    sum += double(this->column(0, l)[i]) * m[i * columns + j];
                top[l * columns + j] = sum;
            }
        product().apply(top, columns, false, factors);
        this->for_tiles([&](int64_t tile) {
            T made[Tiles::kElements];
            std::fill(made, made + columns * this->height, T(0));
            for (int64_t i = 0; tile == 0 && i < columns; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    made[j * this->height + i] = m ? T(m[i * columns + j]) : T(i == j);
            this->combine(tile, made, columns, this->column(tile, 0), columns, factors, columns);
            this->store_columns(tile, made, q, to, index);
        });
    }

private:
    // Moves row k of the later columns to R, and sums the products of column k with all columns.
    void start(int64_t tile, int64_t k) {
        for (int64_t j = k; tile == 0 && j < columns; ++j) {
            T &element = this->column(0, j)[k];
            r[k * kThin + j] = double(element);
            element = 0;
        }
        this->dots(tile, k, 0, columns, this->sums_of(tile));
    }

    bool make_reflection(int64_t k, T &scale, T *factors) {
        constexpr double kMost = std::is_same_v<T, float> ? 1e+30 : 1e+280;
        const double *sums = this->total(columns), square = sums[k];
        double *row = r + k * kThin;
        const double first = row[k];
        if (!(square <= kMost) || !(std::abs(first) <= kMost)) return false;
        double inverse = 0;
        tau[k] = 0;
        if (square >= 1 / kMost) {
            row[k] = -std::copysign(std::hypot(first, std::sqrt(square)), first);
            tau[k] = (row[k] - first) / row[k];
            inverse = 1 / (first - row[k]);
        } else if (square != 0 || !is_zero(k)) {
            return false;
        }
        for (int64_t j = k + 1; j < columns; ++j) {
            const double factor = tau[k] * (row[j] + inverse * sums[j]);
            row[j] -= factor;
            factors[j] = T(-factor);
        }
        for (int64_t i = 0; i < k; ++i)
            products[i * kThin + k] = inverse * sums[i] + double(this->column(0, i)[k]);
        scale = T(inverse);
        return true;
    }

    bool is_zero(int64_t k) const {
        for (int64_t tile = 0; tile < this->count; ++tile)
            for (int64_t i = 0; i < this->length_of(tile); ++i)
                if (this->column(tile, k)[i] != 0) return false;
        return true;
    }
};

// Q c, or Q^T c with `transpose`, for the first `count` columns of m as reflections; without c the
// first columns of Q. All matrices are given by their transposes.
template <class T>
struct ThinReflections : ThinTiles<T> {
    using Tiles = ThinTiles<T>;
    int64_t count, made_columns;

    ThinReflections(double *room, int64_t rows, int64_t count, int64_t columns)
        : Tiles(room, rows, count + columns), count(count), made_columns(columns) {}

    void run(const Matrices &m, const void *from, const double *tau, const Matrices *c,
             const void *sides, bool transpose, const Matrices &y, void *to, int64_t index) const {
        const int64_t all = this->columns;
        this->for_tiles([&](int64_t tile) {
            this->load_columns(tile, 0, m, from, index);
            if (c) {
                this->load_columns(tile, count, *c, sides, index);
            } else {
                T *made = this->column(tile, count);
                std::fill(made, made + made_columns * this->height, T(0));
            }
            for (int64_t k = 0; tile == 0 && k < count; ++k) {
                T *v = this->column(0, k);
                std::fill(v, v + k, T(0));
                v[k] = 1;
            }
            for (int64_t j = 0; tile == 0 && !c && j < made_columns; ++j)
                this->column(0, count + j)[j] = 1;
            for (int64_t k = 0; k < count; ++k)
                this->dots(tile, k, k + 1, all, this->sums_of(tile) + k * all);
            for (int64_t k = 0; k < count; ++k)
                std::fill_n(this->sums_of(tile) + k * all, k + 1, 0.0);
        });
        const double *products = this->total(count * all);
        double right[kThin * kThin];
        T factors[kThin * kThin];
        for (int64_t k = 0; k < count; ++k)
            std::copy_n(products + k * all + count, made_columns, right + k * made_columns);
        ThinProduct(count, products, all, tau).apply(right, made_columns, transpose, factors);
        this->for_tiles([&](int64_t tile) {
            T *made = this->column(tile, count);
            this->combine(tile, made, made_columns, this->column(tile, 0), count, factors,
                          made_columns);
            this->store_columns(tile, made, y, to, index);
        });
    }
};

}  // namespace infini::cpu
