// Few integer rows times a matrix: every element of the matrix is read once, in memory order.
// Threads divide the columns or, if there are few of them, k.
#include <algorithm>

#include "../threads.h"
#include "gemv.h"
#include "integers.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kPieceBytes = 64 << 10;  // of the matrix, per thread: 5 microseconds or more
constexpr int64_t kLine = 64;

// Multiplies with wraparound: 16-bit integers would be promoted to int, whose overflow is
// undefined.
template <class T>
INFINI_SIMD T times(T a, T b) {
    return T(std::common_type_t<T, uint32_t>(a) * b);
}

template <class T>
INFINI_SIMD T total(Vec<T> v) {
    T sum = 0;
    for (size_t i = 0; i < kWidth<T>; ++i) sum = T(sum + v[i]);
    return sum;
}

// y[i * y_stride] = x[i, :] . w for `count` strided vectors w.
template <class T, int m, int count>
INFINI_SIMD void dot(const T *x, int64_t x_stride, int64_t k, const T *w, int64_t stride, T *y,
                     int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<T>);
    constexpr int unroll = m * count >= 4 ? 1 : 4 / (m * count);
    Vec<T> sums[m][count][unroll] = {};
    int64_t p = 0;
    for (; p + unroll * width <= k; p += unroll * width) {
#pragma GCC unroll 4
        for (int u = 0; u < unroll; ++u) {
            Vec<T> wv[count];
#pragma GCC unroll 4
            for (int j = 0; j < count; ++j) wv[j] = load(w + j * stride + p + u * width);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) {
                const Vec<T> xv = load(x + i * x_stride + p + u * width);
#pragma GCC unroll 4
                for (int j = 0; j < count; ++j)
                    sums[i][j][u] = multiply_add(sums[i][j][u], wv[j], xv);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < count; ++j) {
            Vec<T> sum = sums[i][j][0];
#pragma GCC unroll 4
            for (int u = 1; u < unroll; ++u) sum = sum + sums[i][j][u];
            T one = total<T>(sum);
            for (int64_t q = p; q < k; ++q)
                one = T(one + times(x[i * x_stride + q], w[j * stride + q]));
            y[i * y_stride + j] = one;
        }
}

// y[i, j] = the sums over k, for columns that are contiguous along k.
template <class T, int m>
[[gnu::noinline]] void along(const T *x, int64_t x_stride, int64_t k, const T *w, int64_t stride,
                             int64_t n, T *y, int64_t y_stride) {
    constexpr int count = side_by_side(m);
    int64_t j = 0;
    for (; j + count <= n; j += count)
        dot<T, m, count>(x, x_stride, k, w + j * stride, stride, y + j, y_stride);
    for (; j < n; ++j) dot<T, m, 1>(x, x_stride, k, w + j * stride, stride, y + j, y_stride);
}

// The same for rows of w that are contiguous: four at a time are added to y, which stays in L1.
template <class T, int m>
[[gnu::noinline]] void across(const T *x, int64_t x_stride, int64_t k, const T *w, int64_t stride,
                              int64_t n, T *y, int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<T>);
    for (int i = 0; i < m; ++i) std::fill_n(y + i * y_stride, n, T(0));
    const auto add = [&]<int rows>(std::integral_constant<int, rows>, int64_t p) {
        const T *at = w + p * stride;
        Vec<T> xv[m][rows];
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i)
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) xv[i][r] = Vec<T>{} + x[i * x_stride + p + r];
        int64_t j = 0;
        for (; j + width <= n; j += width) {
            Vec<T> wv[rows];
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r) wv[r] = load(at + r * stride + j);
#pragma GCC unroll 8
            for (int i = 0; i < m; ++i) {
                Vec<T> sum = load(y + i * y_stride + j);
#pragma GCC unroll 4
                for (int r = 0; r < rows; ++r) sum = multiply_add(sum, wv[r], xv[i][r]);
                store(y + i * y_stride + j, sum);
            }
        }
        for (; j < n; ++j)
            for (int i = 0; i < m; ++i)
                for (int r = 0; r < rows; ++r)
                    y[i * y_stride + j] =
                        T(y[i * y_stride + j] + times(x[i * x_stride + p + r], at[r * stride + j]));
    };
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) add(std::integral_constant<int, 4>{}, p);
    for (; p < k; ++p) add(std::integral_constant<int, 1>{}, p);
}

// How a product is divided: k into `parts`, the columns into `pieces`.
struct Shares {
    int64_t parts = 1, each_k, pieces = 1, columns;
};

Shares divide(const Matmul &p, int64_t bytes) {
    constexpr int64_t kMostColumnBytes = 8 << 10;  // sums of a row stay in L1
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    const int64_t grain = kLine / bytes, size = p.n * p.k * bytes;
    const int64_t wanted = std::clamp<int64_t>(size / kPieceBytes, 1, threads);
    Shares s{1, p.k, 1, p.n};
    if (wanted > 1 && p.n < wanted * 4 * grain)
        s.parts = wanted, s.each_k = round_up(divide_up(p.k, wanted), grain);
    else
        s.columns = std::min(round_up(divide_up(p.n, wanted), grain), kMostColumnBytes / bytes);
    s.columns = std::max<int64_t>(s.columns, 1);
    s.parts = s.parts > 1 ? divide_up(p.k, s.each_k) : 1;
    s.pieces = divide_up(p.n, s.columns);
    return s;
}

int64_t element_bytes(int dtype) {
    return dtype == INFINI_DTYPE_I8    ? 1
           : dtype == INFINI_DTYPE_I16 ? 2
           : dtype == INFINI_DTYPE_I32 ? 4
                                       : 8;
}

// The bytes of contiguous copies of rows of a.
int64_t copied_bytes(const Matmul &p) {
    return p.a.col_stride == 1 ? 0 : round_up(p.m * p.k * element_bytes(p.a.dtype), kLine);
}

template <class T>
void run(const Matmul &p, char *workspace) {
    const Shares s = divide(p, int64_t(sizeof(T)));
    const T *x = static_cast<const T *>(p.a.data);
    int64_t x_stride = p.a.row_stride;
    if (p.a.col_stride != 1) {
        T *copy = reinterpret_cast<T *>(workspace);
        for (int64_t i = 0; i < p.m; ++i)
            for (int64_t q = 0; q < p.k; ++q)
                copy[i * p.k + q] = x[i * p.a.row_stride + q * p.a.col_stride];
        x = copy, x_stride = p.k;
    }
    const T *w = static_cast<const T *>(p.b.data);
    T *c = static_cast<T *>(p.c.data);
    T *sums = reinterpret_cast<T *>(workspace + copied_bytes(p));  // [parts, m, n]
    const bool direct = s.parts == 1 && p.c.col_stride == 1;
    maybe_parallel(p.threads, s.parts * s.pieces, 1, [&](size_t begin, size_t end) {
        for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
            const int64_t part = at / s.pieces, column = at % s.pieces * s.columns;
            const int64_t n = std::min(s.columns, p.n - column), k0 = part * s.each_k;
            const int64_t k = std::min(s.each_k, p.k - k0);
            T *y = direct ? c + column : sums + part * p.m * p.n + column;
            const int64_t y_stride = direct ? p.c.row_stride : p.n;
            const T *from = w + k0 * p.b.row_stride + column * p.b.col_stride;
            with_rows(p.m, [&]<int m>(std::integral_constant<int, m>) {
                if (p.b.row_stride == 1)
                    along<T, m>(x + k0, x_stride, k, from, p.b.col_stride, n, y, y_stride);
                else
                    across<T, m>(x + k0, x_stride, k, from, p.b.row_stride, n, y, y_stride);
            });
            if (direct || s.parts > 1) continue;
            for (int64_t i = 0; i < p.m; ++i)
                for (int64_t j = 0; j < n; ++j)
                    c[i * p.c.row_stride + (column + j) * p.c.col_stride] = y[i * y_stride + j];
        }
    });
    if (s.parts == 1) return;
    for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
            T sum = 0;
            for (int64_t part = 0; part < s.parts; ++part)
                sum = T(sum + sums[(part * p.m + i) * p.n + j]);
            c[i * p.c.row_stride + j * p.c.col_stride] = sum;
        }
}

}  // namespace

bool integer_rows_take(const Matmul &p) {
    return p.m <= kFewRows && !p.weights && is_integer(p.c.dtype) && p.a.dtype == p.c.dtype &&
           p.b.dtype == p.c.dtype && (p.b.row_stride == 1 || p.b.col_stride == 1);
}

size_t integer_rows_workspace(const Matmul &p) {
    const int64_t bytes = element_bytes(p.c.dtype), parts = divide(p, bytes).parts;
    const bool keeps_sums = parts > 1 || p.c.col_stride != 1;
    return size_t(copied_bytes(p) + (keeps_sums ? parts * p.m * p.n * bytes : 0));
}

void integer_rows(const Matmul &p, void *workspace) {
    auto *space = static_cast<char *>(workspace);
    switch (p.c.dtype) {
        case INFINI_DTYPE_I8:
            return run<uint8_t>(p, space);
        case INFINI_DTYPE_I16:
            return run<uint16_t>(p, space);
        case INFINI_DTYPE_I32:
            return run<uint32_t>(p, space);
        default:
            return run<uint64_t>(p, space);
    }
}

}  // namespace infini::cpu
