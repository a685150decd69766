// Matrix products of the CPU back end: one implementation for every dtype, layout and size.
//
//     Matmul product;                     // what to compute; shapes and dtypes are enough to plan
//     product.m = ..., product.a = {data, dtype, row_stride, col_stride}, ...
//     size_t bytes = matmul_workspace(product);
//     matmul(product, workspace);
//
// The summation order over k depends only on the sizes, never on the threads, so results are
// bitwise reproducible; for a batch-invariant product it depends only on k and the layouts. 16-bit
// and 8-bit floats are multiplied and summed in F32 and rounded once, when c is stored; F64 stays
// F64; I8 times I8 sums in I32 and is exact. Products of integers whose c has the same type wrap
// around.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

// Strides are in elements and arbitrary; with a stride of 1 all accesses are vectorised.
struct Matrix {
    const void *data = nullptr;
    int dtype =
        0;  // infiniDtype_t: F8, F16, BF16, F32; F64 with F64; I8, I16, I32, I64 with itself
    int64_t row_stride = 0, col_stride = 1;
    int64_t batch_stride = 0;
};

struct Output {
    void *data = nullptr;
    int dtype =
        0;  // F16, BF16, F32; F64; for I8 products also I32; for integers their own: without
            // alpha, beta and epilogue
    int64_t row_stride = 0, col_stride = 1;
    int64_t batch_stride = 0;
};

// Weights w [k, n] in a custom format: 4-bit codes with scales, repacked tiles, gathered experts.
// The engine requests blocks that fit in L1, so they are never completely expanded. Several threads
// call the methods concurrently.
class Weights {
public:
    // panel[i * stride + j] = w[k0 + i, n0 + j] for i < k, j < n. Blocks begin at a multiple of 32
    // in k and at a multiple of 16 in n, counted from the first column of the product.
    virtual void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                        int64_t stride) const = 0;

    // For few rows (m <= kFewRows): y[i * n + j] = sum over p of x[i * k + p] * w[p, n0 + j], for
    // all k. Returns false if nothing is faster than unpacking.
    virtual bool multiply(int64_t m, const float *x, int64_t k, int64_t n0, int64_t n,
                          float *y) const {
        (void)m, (void)x, (void)k, (void)n0, (void)n, (void)y;
        return false;
    }

    // Whether unpack() supports full-k panels of a few columns, written directly to their
    // destination.
    virtual bool fills_panels() const { return false; }

    // multiply() is called for columns that begin at a multiple of this.
    virtual int64_t column_grain() const { return 16; }

protected:
    ~Weights() = default;
};

inline constexpr int64_t kFewRows = 8;

// The epilogue of a sum before it is stored:
//     value = alpha * sum * row_scale[i] * col_scale[j] + bias[j] + beta * c[i, j], then finish().
struct Epilogue {
    const float *row_scale = nullptr;  // [m]
    const float *col_scale = nullptr;  // [n]
    const void *bias = nullptr;        // [n], dense
    int bias_dtype = 0;
    // The last step: processes values of row `row`, columns [col, col + n), in F32. Called by
    // several threads.
    void (*finish)(const void *context, float *values, int64_t row, int64_t col,
                   int64_t n) = nullptr;
    // Like finish(), but also stores the values, anywhere. `member` is the index in the batch.
    void (*store)(const void *context, const float *values, int64_t member, int64_t row,
                  int64_t col, int64_t n) = nullptr;
    const void *context = nullptr;
    // If its dtype is not 0, finish() only adds this vector [m]; then no runs of sums are needed.
    const void *row_bias = nullptr;
    int row_bias_dtype = 0;
};

// c = alpha * a @ b + beta * c, for every matrix of the batch. beta == 0 does not read c.
struct Matmul {
    int64_t batch = 1, m = 0, n = 0, k = 0;
    Matrix a, b;
    const Weights *weights = nullptr;  // instead of b; the same for the whole batch
    Output c;
    double alpha = 1, beta = 0;
    const Epilogue *epilogue = nullptr;  // not for F64; scales and bias are the same for the batch
    bool threads = true;                 // false: runs on the calling thread only
    bool invariant = false;  // a row's bits do not depend on m: see INFINI_MODE_BATCH_INVARIANT
    int64_t member = 0;      // the index of this product in a batch
};

// Bytes that matmul() needs, 64-byte aligned. Depends on sizes, dtypes, strides, flags and whether
// there are weights and an epilogue (or a row_bias_dtype), not on pointers, alpha or beta.
size_t matmul_workspace(const Matmul &product);

// The product is complete on return.
void matmul(const Matmul &product, void *workspace);

}  // namespace infini::cpu
