// Common code of the linear algebra kernels: matrices of a batch as dense doubles, products, and a
// loop over the batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "convert.h"
#include "copy/transpose.h"
#include "index/offsets.h"
#include "kernel.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {

// ---- Batches ------------------------------------------------------------------------------------

// A tensor as a batch of matrices, of vectors (one row) or of scalars: `trailing` dimensions.
struct Matrices {
    Offsets batch;  // in bytes
    int dtype = 0;
    int64_t rows = 1, columns = 1, row_step = 0, column_step = 1;  // in elements

    Matrices(const Tensor &tensor, int trailing)
        : batch(tensor, 0, tensor.ndim - trailing,
                int64_t(infiniSizeOf(infiniDtype_t(tensor.dtype)))),
          dtype(tensor.dtype) {
        if (trailing > 0) columns = tensor.size(-1), column_step = tensor.stride(-1);
        if (trailing > 1) rows = tensor.size(-2), row_step = tensor.stride(-2);
    }
    Matrices transposed() const {
        Matrices other = *this;
        std::swap(other.rows, other.columns);
        std::swap(other.row_step, other.column_step);
        return other;
    }
    int64_t count() const { return batch.count(); }
    int64_t size() const { return rows * columns; }

    // Whether the rows are columns of a row-major matrix of elements of type C.
    template <class C>
    bool is_transposed() const {
        constexpr int kDtype = std::is_same_v<C, float>    ? int(INFINI_DTYPE_F32)
                               : std::is_same_v<C, double> ? int(INFINI_DTYPE_F64)
                                                           : -1;
        return dtype == kDtype && row_step == 1 && column_step > 1 && rows > 1;
    }

    // Transposes of so few contiguous columns or rows that a register holds only parts of several:
    // with a known number compilers shuffle whole registers.
    template <class C, int count>
    static void split(char *to, int64_t to_row, const char *from, int64_t rows) {
        C *__restrict made = reinterpret_cast<C *>(to);
        const C *__restrict given = reinterpret_cast<const C *>(from);
        for (int64_t i = 0; i < rows; ++i)
            for (int j = 0; j < count; ++j) made[j * to_row + i] = given[i * count + j];
    }
    template <class C, int count>
    static void join(char *to, const char *from, int64_t from_row, int64_t columns) {
        C *__restrict made = reinterpret_cast<C *>(to);
        const C *__restrict given = reinterpret_cast<const C *>(from);
        for (int64_t i = 0; i < columns; ++i)
            for (int j = 0; j < count; ++j) made[i * count + j] = given[j * from_row + i];
    }

    // Not inline: for single elements compilers would warn of accesses that are never made.
    template <class C>
    [[gnu::noinline]] static void transpose(char *to, int64_t to_row, const char *from,
                                            int64_t from_row, int64_t rows, int64_t columns) {
        constexpr int64_t kBytes = sizeof(C);
        if (columns < 4 && from_row == columns) {
            if (columns == 2) return split<C, 2>(to, to_row, from, rows);
            if (columns == 3) return split<C, 3>(to, to_row, from, rows);
        }
        if (rows < 4 && to_row == rows) {
            if (rows == 2) return join<C, 2>(to, from, from_row, columns);
            if (rows == 3) return join<C, 3>(to, from, from_row, columns);
        }
        constexpr int64_t kLanes = 16 / kBytes, kTall = 4 * kLanes;
        if (rows < kTall || columns < kLanes)
            return transpose_block<C>(to, to_row * kBytes, from, from_row * kBytes, rows, columns);
        // The last blocks overlap those before them.
        for (int64_t i = 0; i < rows; i += kTall)
            for (int64_t j = 0; j < columns; j += kLanes) {
                const int64_t row = std::min(i, rows - kTall),
                              column = std::min(j, columns - kLanes);
                transpose_lines<C>(to + (column * to_row + row) * kBytes, to_row * kBytes,
                                   from + (row * from_row + column) * kBytes, from_row * kBytes,
                                   false);
            }
    }

    // Calls body(row, rows, column, columns) for tiles of a matrix, of at most kTile^2 elements.
    static constexpr int64_t kTile = 32;
    template <class Body>
    void for_tiles(const Body &body) const {
        for (int64_t i = 0; i < rows; i += kTile)
            for (int64_t j = 0; j < columns; j += kTile)
                body(i, std::min(kTile, rows - i), j, std::min(kTile, columns - j));
    }
    // Transposed elements of F32 as doubles.
    [[gnu::noinline]] void load_turned(double *to, const float *from, int64_t to_row) const {
        for_tiles([&](int64_t i, int64_t height, int64_t j, int64_t width) {
            float tile[kTile * kTile];
            transpose<float>(reinterpret_cast<char *>(tile), kTile,
                             reinterpret_cast<const char *>(from + j * column_step + i),
                             column_step, width, height);
            for (int64_t k = 0; k < height; ++k)
                std::copy_n(tile + k * kTile, width, to + (i + k) * to_row + j);
        });
    }
    [[gnu::noinline]] void store_turned(float *to, const double *from, int64_t from_row) const {
        for_tiles([&](int64_t i, int64_t height, int64_t j, int64_t width) {
            float tile[kTile * kTile];
            for (int64_t k = 0; k < height; ++k)
                for (int64_t l = 0; l < width; ++l)
                    tile[k * kTile + l] = float(from[(i + k) * from_row + j + l]);
            transpose<float>(reinterpret_cast<char *>(to + j * column_step + i), column_step,
                             reinterpret_cast<const char *>(tile), kTile, height, width);
        });
    }

    // All elements as one row, if they are equally spaced here and in a dense matrix with that pitch.
    Matrices joined(int64_t dense_row) const {
        Matrices row = *this;
        if (dense_row == columns && (columns == 1 || row_step == columns * column_step)) {
            row.rows = 1, row.columns = size();
            row.column_step = columns == 1 ? row_step : column_step;
        }
        return row;
    }
    // Contiguous rows, or rows with the given pitch.
    template <class C>
    void load(C *to, const void *data, int64_t index, int64_t to_row = 0) const {
        if (to_row == 0) to_row = columns;
        const char *from = static_cast<const char *>(data) + batch(index);
        const int64_t pitch = row_step * int64_t(infiniSizeOf(infiniDtype_t(dtype)));
        if (is_transposed<C>())
            return transpose<C>(reinterpret_cast<char *>(to), to_row, from, column_step, columns,
                                rows);
        if constexpr (std::is_same_v<C, double>)
            if (is_transposed<float>())
                return load_turned(to, reinterpret_cast<const float *>(from), to_row);
        const Matrices m = joined(to_row);
        for (int64_t i = 0; i < m.rows; ++i)
            load_dtype(to + i * to_row, from + i * pitch, dtype, size_t(m.columns), m.column_step);
    }
    template <class C>
    void store(void *data, int64_t index, const C *from, int64_t from_row = 0) const {
        if (from_row == 0) from_row = columns;
        char *to = static_cast<char *>(data) + batch(index);
        const int64_t pitch = row_step * int64_t(infiniSizeOf(infiniDtype_t(dtype)));
        if (is_transposed<C>())
            return transpose<C>(to, column_step, reinterpret_cast<const char *>(from), from_row,
                                rows, columns);
        if constexpr (std::is_same_v<C, double>)
            if (is_transposed<float>())
                return store_turned(reinterpret_cast<float *>(to), from, from_row);
        const Matrices m = joined(from_row);
        for (int64_t i = 0; i < m.rows; ++i)
            store_dtype(to + i * pitch, dtype, from + i * from_row, size_t(m.columns),
                        m.column_step);
    }
};

// A plan that calls body(arguments, index, room) for every matrix of a batch, where room holds the
// given number of doubles. A few threads divide the matrices; the remaining threads are used
// inside.
template <class Body>
std::unique_ptr<Plan> plan_batch(int64_t count, int64_t doubles, int64_t work, const Body &body) {
    const int64_t worth = std::max<int64_t>(1, count * std::max<int64_t>(work, 1) / 32768);
    const int64_t slots = std::min({count, worth, int64_t(thread_count())});
    const size_t bytes = (size_t(doubles) * sizeof(double) + 63) / 64 * 64;
    auto run = [=](const Arguments &a) {
        parallel_for(size_t(slots), 1, [&](size_t first, size_t last) {
            for (int64_t slot = int64_t(first); slot < int64_t(last); ++slot) {
                double *room = reinterpret_cast<double *>(a.workspace() + size_t(slot) * bytes);
                for (int64_t i = count * slot / slots; i < count * (slot + 1) / slots; ++i)
                    body(a, i, room);
            }
        });
    };
    return make_plan(run, size_t(slots) * bytes);
}

// Calls body(T()) with the type in which matrices like x are factored: their own.
template <class Body>
auto in_type_of(const Matrices &x, const Body &body) {
    return x.dtype == INFINI_DTYPE_F32 ? body(float()) : body(double());
}

template <class T>
bool is_finite(const T *x, int64_t n) {
    bool finite = true;
    for (int64_t i = 0; i < n; ++i) finite &= std::abs(x[i]) <= std::numeric_limits<T>::max();
    return finite;
}

// ---- Rows ---------------------------------------------------------------------------------------

template <class T>
T dot(const T *a, const T *b, int64_t n) {
    using V = Vec<T>;
    constexpr int64_t kStep = int64_t(kWidth<T>);
    V sum = broadcast<V>(T(0)), more = sum;
    int64_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep) {
        sum = fma(load<V>(a + i), load<V>(b + i), sum);
        more = fma(load<V>(a + i + kStep), load<V>(b + i + kStep), more);
    }
    T result = reduce_add(V(sum + more));
    for (; i < n; ++i) result += a[i] * b[i];
    return result;
}

// y += factor x
template <class T>
void add_scaled(T *__restrict y, const T *__restrict x, std::type_identity_t<T> factor, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// (a, b) = (c a - s b, s a + c b)
inline void rotate(double *__restrict a, double *__restrict b, double c, double s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

inline void set_identity(double *m, int64_t rows, int64_t columns) {
    std::fill(m, m + rows * columns, 0.0);
    for (int64_t i = 0; i < std::min(rows, columns); ++i) m[i * columns + i] = 1;
}

// ---- Products -----------------------------------------------------------------------------------

// A submatrix, with the distance between its rows.
struct Block {
    double *data;
    int64_t pitch;
};
struct ConstBlock {
    const double *data;
    int64_t pitch;

    ConstBlock(const double *data, int64_t pitch) : data(data), pitch(pitch) {}
    ConstBlock(const Block &block) : data(block.data), pitch(block.pitch) {}
};

// c += sign f p for kRows rows: f has `width` columns, p as many rows. kPlain: the sign is 1.
template <int kRows, bool kPlain = false>
inline void add_product_rows(Block c, ConstBlock f, ConstBlock p, int64_t width, int64_t columns,
                             double sign) {
    auto tile = [&]<class V, int kCount>(V, std::integral_constant<int, kCount>, int64_t j) {
        constexpr int64_t kStep = kLanes<V>;
        V sum[kRows][kCount];
        for (int i = 0; i < kRows; ++i)
            for (int k = 0; k < kCount; ++k)
                sum[i][k] = load<V>(c.data + i * c.pitch + j + k * kStep);
        for (int64_t w = 0; w < width; ++w)
            for (int k = 0; k < kCount; ++k) {
                const V line = load<V>(p.data + w * p.pitch + j + k * kStep);
                for (int i = 0; i < kRows; ++i) {
                    const double factor = f.data[i * f.pitch + w];
                    sum[i][k] = fma(broadcast<V>(kPlain ? factor : sign * factor), line, sum[i][k]);
                }
            }
        for (int i = 0; i < kRows; ++i)
            for (int k = 0; k < kCount; ++k) store(c.data + i * c.pitch + j + k * kStep, sum[i][k]);
    };
    constexpr int64_t kWide = 2 * kWidth<double>;
    int64_t j = 0;
    for (; j + kWide <= columns; j += kWide) tile(F64(), std::integral_constant<int, 2>(), j);
    for (; j < columns; ++j) tile(double(), std::integral_constant<int, 1>(), j);
}

constexpr int64_t kDepth = 64;  // rows of p that stay in the cache

inline void add_product_range(Block c, ConstBlock f, ConstBlock p, int64_t rows, int64_t width,
                              int64_t columns, double sign) {
    auto add_columns = [=]<bool kPlain>(std::bool_constant<kPlain>, Block to, ConstBlock from,
                                        int64_t count) {
        int64_t i = 0;
        auto at = [&](auto block) {
            block.data += i * block.pitch;
            return block;
        };
        for (; i + 4 <= rows; i += 4)
            add_product_rows<4, kPlain>(at(to), at(f), from, width, count, sign);
        for (; i < rows; ++i) add_product_rows<1, kPlain>(at(to), at(f), from, width, count, sign);
    };
    constexpr int64_t kFewRows = 8, kWide = 2 * kWidth<double>;
    if (rows < kFewRows || width > kDepth) return add_columns(std::false_type(), c, p, columns);
    // Tiles of p, times the sign, are copied, so that all rows find them in L1.
    double tile[kDepth * kWide];
    int64_t j = 0;
    for (; j + kWide <= columns; j += kWide) {
        for (int64_t w = 0; w < width; ++w)
            for (int64_t k = 0; k < kWide; ++k)
                tile[w * kWide + k] = sign * p.data[w * p.pitch + j + k];
        add_columns(std::true_type(), {c.data + j, c.pitch}, {tile, kWide}, kWide);
    }
    add_columns(std::false_type(), {c.data + j, c.pitch}, {p.data + j, p.pitch}, columns - j);
}

// c += sign f p, on several threads if it pays off.
inline void add_product(Block c, ConstBlock f, ConstBlock p, int64_t rows, int64_t width,
                        int64_t columns, double sign) {
    if (rows <= 0 || columns <= 0) return;
    const int64_t each = std::max<int64_t>(1, width * columns);
    const size_t grain = size_t(std::max<int64_t>(4, 65536 / each));
    parallel_for(size_t(rows), grain, [=](size_t begin, size_t end) {
        const int64_t first = int64_t(begin), count = int64_t(end - begin);
        for (int64_t w = 0; w < width; w += kDepth)
            add_product_range(
                {c.data + first * c.pitch, c.pitch}, {f.data + first * f.pitch + w, f.pitch},
                {p.data + w * p.pitch, p.pitch}, count, std::min(kDepth, width - w), columns, sign);
    });
}

}  // namespace infini::cpu
