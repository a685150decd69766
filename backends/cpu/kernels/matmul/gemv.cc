#include "gemv.h"

#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "pack.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kMostColumns = 512;  // sums of a thread: 16 KiB for 8 rows
constexpr int kLineBytes = 64;

// ---- b[j, :] lies along k: dot products ----------------------------------------------------------

// y[i][j] for m rows of x and `count` columns of b, whose elements along k follow each other.
template <class T, int m, int count>
INFINI_SIMD void dot(const float *x, int64_t x_stride, int64_t k, const T *b, int64_t stride,
                     float *y, int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<float>);
    constexpr int unroll = m * count >= 8 ? 1 : 8 / (m * count);
    F32 sums[m][count][unroll] = {};
    int64_t p = 0;
    for (; p + unroll * width <= k; p += unroll * width) {
#pragma GCC unroll 8
        for (int u = 0; u < unroll; ++u) {
            F32 w[count];
#pragma GCC unroll 8
            for (int j = 0; j < count; ++j) w[j] = widen_f32(b + j * stride + p + u * width);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) {
                F32 xv = load<F32>(x + i * x_stride + p + u * width);
#pragma GCC unroll 8
                for (int j = 0; j < count; ++j) sums[i][j][u] = fma(xv, w[j], sums[i][j][u]);
            }
        }
    }
    float rest[m][count] = {};
    for (; p < k; ++p)
        for (int i = 0; i < m; ++i)
            for (int j = 0; j < count; ++j)
                rest[i][j] += x[i * x_stride + p] * load_element<float>(b[j * stride + p]);
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
        for (int j = 0; j < count; ++j) {
            F32 sum = sums[i][j][0];
#pragma GCC unroll 8
            for (int u = 1; u < unroll; ++u) sum = sum + sums[i][j][u];
            y[i * y_stride + j] = reduce_add(sum) + rest[i][j];
        }
}

template <class T, int m>
[[gnu::noinline]] void dot_columns(const float *x, int64_t x_stride, int64_t k, const T *b,
                                   int64_t stride, int64_t n, float *y) {
    constexpr int count = m <= 4 ? 4 : 2;
    int64_t j = 0;
    for (; j + count <= n; j += count)
        dot<T, m, count>(x, x_stride, k, b + j * stride, stride, y + j, n);
    for (; j < n; ++j) dot<T, m, 1>(x, x_stride, k, b + j * stride, stride, y + j, n);
}

// ---- b[p, :] lies along n: rows of b times numbers of x -----------------------------------------

// A number of x, times vectors: by lane where there are such instructions, else from memory.
template <int m, int count>
struct Numbers {
#if defined(__aarch64__)
    F32 lanes[m][count / 4];
    INFINI_SIMD Numbers(const float *x, int64_t stride) {
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
            for (int q = 0; q < count / 4; ++q) lanes[i][q] = load<F32>(x + i * stride + 4 * q);
    }
    template <int q>
    INFINI_SIMD F32 add(F32 sum, F32 w, int i) const {
        return vfmaq_laneq_f32(sum, w, lanes[i][q / 4], q % 4);
    }
#else
    const float *x;
    int64_t stride;
    INFINI_SIMD Numbers(const float *x, int64_t stride) : x(x), stride(stride) {}
    template <int q>
    INFINI_SIMD F32 add(F32 sum, F32 w, int i) const {
        return fma(broadcast<F32>(x[i * stride + q]), w, sum);
    }
#endif
};

// y[i, j] += sum over p of x[i, p] * b[p, j]; x and y have strides of their own.
template <class T, int m>
[[gnu::noinline]] void add_rows(const float *x, int64_t x_stride, int64_t k, const T *b,
                                int64_t stride, int64_t n, float *y, int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<float>);
    constexpr int at_once = m <= 2 ? 8 : 4;
    // Vectors side by side: a whole line of a row is used before the next row's, which may want the
    // same place in the first cache; sums of all rows must fit the registers.
    constexpr int line = int(std::max<int64_t>(kLineBytes / sizeof(T), width));
    constexpr int side = std::min(line / int(width), m <= 4 ? 4 : 2);
    int64_t p = 0;
    for (; p + at_once <= k; p += at_once) {
        const T *rows = b + p * stride;
        // The rows that come next: the hardware does not see across the gap between them.
        const T *ahead = p + 2 * at_once <= k ? rows + at_once * stride : rows;
        const Numbers<m, at_once> numbers(x + p, x_stride);
        auto vectors = [&]<int count>(std::integral_constant<int, count>, int64_t j) {
            F32 sums[m][count];
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v)
                    sums[i][v] = load<F32>(y + i * y_stride + j + v * width);
            auto row = [&]<int q>(std::integral_constant<int, q>) {
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v) {
                    F32 w = widen_f32(rows + q * stride + j + v * width);
#pragma GCC unroll 8
                    for (int i = 0; i < m; ++i)
                        sums[i][v] = numbers.template add<q>(sums[i][v], w, i);
                }
            };
            [&]<int... q>(std::integer_sequence<int, q...>) {
                (row(std::integral_constant<int, q>{}), ...);
            }(std::make_integer_sequence<int, at_once>{});
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i)
#pragma GCC unroll 8
                for (int v = 0; v < count; ++v) store(y + i * y_stride + j + v * width, sums[i][v]);
        };
        int64_t j = 0;
        for (; j + line <= n; j += line) {
#pragma GCC unroll 8
            for (int q = 0; q < at_once; ++q) __builtin_prefetch(ahead + q * stride + j, 0, 2);
#pragma GCC unroll 8
            for (int64_t v = 0; v < line; v += side * width)
                vectors(std::integral_constant<int, side>{}, j + v);
        }
        for (; j + width <= n; j += width) vectors(std::integral_constant<int, 1>{}, j);
        for (; j < n; ++j)
            for (int i = 0; i < m; ++i)
                for (int q = 0; q < at_once; ++q)
                    y[i * y_stride + j] +=
                        x[i * x_stride + p + q] * load_element<float>(rows[q * stride + j]);
    }
    for (; p < k; ++p)
        for (int i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
                y[i * y_stride + j] += x[i * x_stride + p] * load_element<float>(b[p * stride + j]);
}

// Weights that can only be unpacked: block by block into the first cache.
template <int m>
[[gnu::noinline]] void add_unpacked(const Weights &weights, const float *x, int64_t k, int64_t n0,
                                    int64_t n, float *y) {
    constexpr int64_t depth = 128, columns = 64;
    alignas(64) float panel[depth * columns];
    for (int64_t j = 0; j < n; j += columns)
        for (int64_t p = 0; p < k; p += depth) {
            const int64_t kb = std::min(depth, k - p), nb = std::min(columns, n - j);
            weights.unpack(p, kb, n0 + j, nb, panel, columns);
            add_rows<float, m>(x + p, k, kb, panel, columns, nb, y + j, n);
        }
}

bool is_float(int dtype) {
    return dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F16 ||
           dtype == INFINI_DTYPE_F8;
}

// Rows of x, in F32, lie this far apart. Not at a power of two, or they would all want the same place
// in the first cache.
int64_t row_distance(const Matmul &p) {
    return p.weights || p.m == 1 ? p.k : round_up(p.k, 16) + 16;
}

bool is_dense(const Matmul &p) {
    return p.a.dtype == INFINI_DTYPE_F32 && (p.a.col_stride == 1 || p.k <= 1) &&
           (p.a.row_stride == row_distance(p) || p.m == 1);
}

}  // namespace

bool gemv_takes(const Matmul &p) {
    if (p.m > kFewRows || !is_float(p.a.dtype)) return false;
    if (p.weights) return true;
    return is_float(p.b.dtype) && (p.b.row_stride == 1 || p.b.col_stride == 1);
}

size_t gemv_workspace(const Matmul &p) {
    return is_dense(p) ? 0 : size_t(round_up(p.m * row_distance(p) * 4, 64));
}

void gemv(const Matmul &p, void *workspace) {
    const auto *x = static_cast<const float *>(p.a.data);
    const int64_t x_stride = row_distance(p);
    if (!is_dense(p)) {
        auto *wide = static_cast<float *>(workspace);
        const int64_t bytes = p.a.dtype == INFINI_DTYPE_F32  ? 4
                              : p.a.dtype == INFINI_DTYPE_F8 ? 1
                                                             : 2;
        for (int64_t i = 0; i < p.m; ++i)
            to_f32(wide + i * x_stride,
                   static_cast<const char *>(p.a.data) + i * p.a.row_stride * bytes, p.a.dtype,
                   size_t(p.k), p.a.col_stride);
        x = wide;
    }
    const int64_t align = p.weights ? p.weights->column_grain() : 16;
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    // Pieces of some 32 Ki elements at least, and some for each thread.
    int64_t columns =
        std::max(divide_up(p.n, threads * 4), divide_up(32 << 10, std::max<int64_t>(p.k, 1)));
    columns = std::max(align, std::min(round_up(columns, align), kMostColumns / align * align));
    maybe_parallel(p.threads, divide_up(p.n, columns), 1, [&](size_t begin, size_t end) {
        alignas(64) float y[kFewRows * kMostColumns];
        for (int64_t piece = int64_t(begin); piece < int64_t(end); ++piece) {
            const int64_t column = piece * columns, n = std::min(columns, p.n - column);
            with_rows(p.m, [&]<int m>(std::integral_constant<int, m>) {
                if (p.weights) {
                    if (p.weights->multiply(m, x, p.k, column, n, y)) return;
                    std::fill(y, y + m * n, 0.0f);
                    add_unpacked<m>(*p.weights, x, p.k, column, n, y);
                    return;
                }
                visit_operand<DotF32>(p.b.dtype, [&]<class T>(Type<T>) {
                    const T *b = static_cast<const T *>(p.b.data) + column * p.b.col_stride;
                    if (p.b.row_stride == 1) {
                        dot_columns<T, m>(x, x_stride, p.k, b, p.b.col_stride, n, y);
                    } else {
                        std::fill(y, y + m * n, 0.0f);
                        add_rows<T, m>(x, x_stride, p.k, b, p.b.row_stride, n, y, n);
                    }
                });
            });
            finish_tile(p, y, n, 0, column, p.m, n);
        }
    });
}

}  // namespace infini::cpu
