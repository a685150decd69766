#include "gemv.h"

#include <algorithm>

#include "../threads.h"
#include "finish.h"
#include "gemv_rows.h"
#include "pack.h"
#include "packed.h"

namespace infini::cpu {

namespace {

constexpr int64_t kMostColumns = 512;  // per thread: 16 KiB of sums for 8 rows

// ---- b[:, j] contiguous along k: dot products ---------------------------------------------------

// A matrix that fits in L2 is not prefetched: it is likely to be there.
constexpr int64_t kCachedBytes = 1 << 20;

// y[i][j] for m rows of x and `count` columns of b, which are contiguous along k. If `prefetched`,
// it also prefetches the next columns.
template <class T, int m, int count, bool prefetched>
INFINI_SIMD void dot(const float *x, int64_t x_stride, int64_t k, const T *b, int64_t stride,
                     float *y, int64_t y_stride) {
    constexpr int64_t width = int64_t(kWidth<float>);
    constexpr int each = m * count, unroll = each > 4 ? 1 : each > 2 ? 2 : each > 1 ? 4 : 8;
    F32 sums[m][count][unroll] = {};
    auto add = [&](int64_t p, const F32 *w, int u) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int i = 0; i < m; ++i) {
            F32 xv = load<F32>(x + i * x_stride + p);
#pragma GCC unroll 8
            for (int j = 0; j < count; ++j) sums[i][j][u] = fma(xv, w[j], sums[i][j][u]);
        }
    };
    auto add_one = [&](int64_t p) __attribute__((always_inline)) {
        F32 w[count];
#pragma GCC unroll 8
        for (int j = 0; j < count; ++j) w[j] = widen_f32(b + j * stride + p);
        add(p, w, 0);
    };
    int64_t p = 0;
    if constexpr (unroll > 1)
        for (; p + unroll * width <= k; p += unroll * width) {
#pragma GCC unroll 8
            for (int u = 0; u < unroll; u += 2) {
                const int64_t at = p + u * width;
                F32 first[count], second[count];
#pragma GCC unroll 8
                for (int j = 0; j < count; ++j) {
                    const T *from = b + j * stride + at;
                    if constexpr (kVectorBytes > 16 && prefetched)
                        __builtin_prefetch(from + count * stride, 0, 2);
                    widen_two(from, first[j], second[j]);
                }
                add(at, first, u), add(at + width, second, u + 1);
            }
        }
    for (; p + width <= k; p += width) add_one(p);
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

#if defined(__AVX512F__)
constexpr int64_t kShort = 32;  // columns shorter than this use one lane each

// One row times columns with few elements.
[[gnu::noinline]] void dot_short(const float *x, int64_t k, const float *b, int64_t stride,
                                 int64_t n, float *y) {
    const I32 lanes = iota<I32>() * int32_t(stride);
    for (int64_t j = 0; j < n; j += 16, b += 16 * stride) {
        const auto some = __mmask16(n - j < 16 ? (1u << (n - j)) - 1 : 0xffff);
        F32 sums[2] = {};
        int64_t p = 0;
        const auto add = [&](int64_t at, F32 &sum) {
            const __m512 w = _mm512_mask_i32gather_ps(__m512{}, some, __m512i(lanes), b + at, 4);
            sum = fma(broadcast<F32>(x[at]), F32(w), sum);
        };
        for (; p + 2 <= k; p += 2) add(p, sums[0]), add(p + 1, sums[1]);
        if (p < k) add(p, sums[0]);
        _mm512_mask_storeu_ps(y + j, some, __m512(sums[0] + sums[1]));
    }
}
#endif

template <class T, int m, bool prefetched>
[[gnu::noinline]] void dot_columns(const float *x, int64_t x_stride, int64_t k, const T *b,
                                   int64_t stride, int64_t n, float *y) {
#if defined(__AVX512F__)
    if constexpr (m == 1 && std::is_same_v<T, float>)
        if (k < kShort && stride < 1 << 26) return dot_short(x, k, b, stride, n, y);
#endif
    // A single column is a single memory stream, and with short vectors is no slower to compute.
    constexpr int count = m > 1 ? side_by_side(m) : kVectorBytes == 16 ? 1 : 2;
    int64_t j = 0;
    for (; j + count <= n; j += count)
        dot<T, m, count, prefetched>(x, x_stride, k, b + j * stride, stride, y + j, n);
    for (; j < n; ++j) dot<T, m, 1, prefetched>(x, x_stride, k, b + j * stride, stride, y + j, n);
}

// ---- b contiguous along n: rows of b times scalars of x -----------------------------------------

// The rows are divided into parts, each read sequentially by one thread, and the sums of the parts
// are added. The number of parts depends only on the sizes.
int64_t part_count(const Matmul &p) {
    if (p.weights || p.b.row_stride == 1) return 1;
    constexpr int64_t kPart = 256 << 10, kMost = 32, kMostSums = 1 << 20;
    const int64_t fit = std::max<int64_t>(1, kMostSums / (p.m * p.n));
    return std::clamp<int64_t>(p.k * p.n / kPart, 1, std::min(kMost, fit));
}

// The stride of rows of x and of sums, in F32 elements: not a power of two, which would cause
// conflicts in L1.
int64_t apart(int64_t size) { return round_up(size, 16) + 16; }

template <class T>
void add_parts(const Matmul &p, const float *x, int64_t x_stride, float *sums) {
    const int64_t parts = part_count(p), depth = round_up(divide_up(p.k, parts), 8);
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    int64_t columns = std::min(kFewRows * kMostColumns / p.m, divide_up(p.n * parts, 4 * threads));
    columns = std::max<int64_t>(round_up(columns, 16), 64);
    const int64_t across = divide_up(p.n, columns), distance = apart(p.n);
    auto work = [&](size_t begin, size_t end) {
        alignas(64) float own[kFewRows * (kMostColumns + 96)];
        for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
            const int64_t part = i / across, column = i % across * columns;
            const int64_t n = std::min(columns, p.n - column);
            const int64_t k0 = std::min(part * depth, p.k), k = std::min(depth, p.k - k0);
            float *y = parts == 1 ? own : sums + part * p.m * distance + column;
            const int64_t y_stride = parts == 1 ? n + 16 : distance;
            const T *b = static_cast<const T *>(p.b.data) + k0 * p.b.row_stride + column;
            for (int64_t r = 0; r < p.m; ++r)
                std::fill(y + r * y_stride, y + r * y_stride + n, 0.0f);
            with_rows(p.m, [&]<int m>(std::integral_constant<int, m>) {
                add_rows<T, m>(x + k0, x_stride, k, b, p.b.row_stride, n, y, y_stride);
            });
            if (parts == 1) finish_tile(p, own, n + 16, 0, column, p.m, n);
        }
    };
    const int64_t piece = std::max<int64_t>(1, std::min(columns, p.n) * std::min(depth, p.k));
    maybe_parallel(p.threads, parts * across, divide_up(16 << 10, piece), work);
    if (parts == 1) return;
    auto add = [&](size_t begin, size_t end) {
        for (int64_t run = int64_t(begin); run < int64_t(end); ++run) {
            const int64_t column = run * kFinishRun, n = std::min(kFinishRun, p.n - column);
            for (int64_t r = 0; r < p.m; ++r) {
                float *to = sums + r * distance + column;
                for (int64_t part = 1; part < parts; ++part)
                    for (int64_t j = 0; j < n; ++j) to[j] += to[part * p.m * distance + j];
                finish_run(p, to, r, column, n);
            }
        }
    };
    maybe_parallel(p.threads, divide_up(p.n, kFinishRun), divide_up(256, parts * p.m), add);
}

// Weights that can only be unpacked, block by block into L1.
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

// The stride of rows of x.
int64_t row_distance(const Matmul &p) { return p.weights || p.m == 1 ? p.k : apart(p.k); }

bool is_dense(const Matmul &p) {
    return p.a.dtype == INFINI_DTYPE_F32 && (p.a.col_stride == 1 || p.k <= 1) &&
           (p.a.row_stride == row_distance(p) || p.m == 1);
}

int64_t x_bytes(const Matmul &p) {
    return is_dense(p) ? 0 : round_up(p.m * row_distance(p) * 4, 64);
}

}  // namespace

bool gemv_takes(const Matmul &p) {
    if (p.m > kFewRows || !is_float(p.a.dtype)) return false;
    if (p.weights) return true;
    return is_float(p.b.dtype) && (p.b.row_stride == 1 || p.b.col_stride == 1);
}

size_t gemv_workspace(const Matmul &p) {
    const int64_t parts = part_count(p), sums = parts > 1 ? parts * p.m * apart(p.n) * 4 : 0;
    return size_t(x_bytes(p) + sums);
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
    if (!p.weights && p.b.row_stride != 1) {
        auto *sums = reinterpret_cast<float *>(static_cast<char *>(workspace) + x_bytes(p));
        visit_operand<DotF32>(p.b.dtype,
                              [&]<class T>(Type<T>) { add_parts<T>(p, x, x_stride, sums); });
        return;
    }
    const int64_t align = p.weights ? p.weights->column_grain() : 16;
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    // Chunks of at least about 32 Ki elements, and several per thread.
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
                    if (p.k * p.n * int64_t(sizeof(T)) > kCachedBytes)
                        dot_columns<T, m, true>(x, x_stride, p.k, b, p.b.col_stride, n, y);
                    else
                        dot_columns<T, m, false>(x, x_stride, p.k, b, p.b.col_stride, n, y);
                });
            });
            finish_tile(p, y, n, 0, column, p.m, n);
        }
    });
}

}  // namespace infini::cpu
