// The epilogue of a product, from sums to stored values: alpha, scales, bias, beta, the caller's
// epilogue, and one rounding.
#pragma once

#include "../convert.h"
#include "matmul.h"

namespace infini::cpu {

// Whether sums can be written directly to c (except for alpha and beta).
template <class Sum>
bool stores_sums(const Matmul &product) {
    int dtype = std::is_same_v<Sum, float>     ? INFINI_DTYPE_F32
                : std::is_same_v<Sum, double>  ? INFINI_DTYPE_F64
                : std::is_same_v<Sum, int16_t> ? INFINI_DTYPE_I16
                : std::is_same_v<Sum, int64_t> ? INFINI_DTYPE_I64
                                               : INFINI_DTYPE_I32;
    return product.c.dtype == dtype && product.c.col_stride == 1 && !product.epilogue;
}

// Whether sums can be written directly to c with a bias added to each row.
template <class Sum>
bool adds_rows(const Matmul &product) {
    return std::is_same_v<Sum, float> && product.c.dtype == INFINI_DTYPE_F32 &&
           product.c.col_stride == 1 && product.epilogue && product.epilogue->row_bias_dtype;
}

// Whether the epilogue should be applied to long runs of sums.
inline bool stores_runs(const Matmul &product) {
    return product.epilogue && product.epilogue->store;
}

inline constexpr int64_t kFinishRun = 128;

// Finishes columns [col, col + n) of row `row`, n <= kFinishRun.
template <class Sum>
inline void finish_run(const Matmul &product, const Sum *sums, int64_t row, int64_t col,
                       int64_t n) {
    using Value = std::conditional_t<std::is_same_v<Sum, double>, double, float>;
    const Output &c = product.c;
    const Epilogue *e = product.epilogue;
    char *to = static_cast<char *>(c.data);
    auto address = [&](auto size) { return to + (row * c.row_stride + col * c.col_stride) * size; };
    Value values[kFinishRun], other[kFinishRun];
    Value alpha = Value(product.alpha);
    if constexpr (std::is_integral_v<Sum>) {
        const auto wrap = [&]<class T>(Type<T>) {
            T *at = reinterpret_cast<T *>(address(int64_t(sizeof(T))));
            for (int64_t j = 0; j < n; ++j) at[j * c.col_stride] = T(sums[j]);
        };
        if (c.dtype == INFINI_DTYPE_I32) return wrap(Type<int32_t>{});
        if (c.dtype == INFINI_DTYPE_I8) return wrap(Type<int8_t>{});
        if (c.dtype == INFINI_DTYPE_I16) return wrap(Type<int16_t>{});
        if (c.dtype == INFINI_DTYPE_I64) return wrap(Type<int64_t>{});
    }
    if constexpr (std::is_same_v<Value, float>)
        if (e && e->row_scale) alpha *= e->row_scale[row];
    for (int64_t j = 0; j < n; ++j) values[j] = Value(sums[j]) * alpha;
    int size = c.dtype == INFINI_DTYPE_F64 ? 8 : c.dtype == INFINI_DTYPE_F32 ? 4 : 2;
    if constexpr (std::is_same_v<Value, float>) {
        if (e && e->col_scale)
            for (int64_t j = 0; j < n; ++j) values[j] *= e->col_scale[col + j];
        if (e && e->bias) {
            int bytes = e->bias_dtype == INFINI_DTYPE_F32 ? 4 : 2;
            to_f32(other, static_cast<const char *>(e->bias) + col * bytes, e->bias_dtype,
                   size_t(n));
            for (int64_t j = 0; j < n; ++j) values[j] += other[j];
        }
    }
    if (product.beta != 0) {
        const Value beta = Value(product.beta);
        load_dtype<Value>(other, address(size), c.dtype, size_t(n), c.col_stride);
        for (int64_t j = 0; j < n; ++j) values[j] += beta * other[j];
    }
    if constexpr (std::is_same_v<Value, float>) {
        if (e && e->finish) e->finish(e->context, values, row, col, n);
        if (e && e->store) return e->store(e->context, values, product.member, row, col, n);
    }
    store_dtype<Value>(address(size), c.dtype, values, size_t(n), c.col_stride);
}

// Finishes a strided tile of sums, [rows, columns].
template <class Sum>
void finish_tile(const Matmul &product, const Sum *sums, int64_t stride, int64_t row, int64_t col,
                 int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; j += kFinishRun) {
            int64_t n = columns - j < kFinishRun ? columns - j : kFinishRun;
            finish_run(product, sums + i * stride + j, row + i, col + j, n);
        }
}

}  // namespace infini::cpu
