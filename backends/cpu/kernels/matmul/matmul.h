// Matrix products of the CPU back end: one engine for every dtype, layout and size.
//
//     Matmul product;                     // what to compute; shapes and dtypes are enough to plan
//     product.m = ..., product.a = {data, dtype, row_stride, col_stride}, ...
//     size_t bytes = matmul_workspace(product);
//     matmul(product, workspace);
//
// Sums run over k in an order that depends on the sizes only, never on the threads: same input,
// same bits; of an invariant product on k and the layouts only. Floats of 16 and 8 bits are
// multiplied and summed in F32 and rounded once, when c is stored; F64 stays F64; I8 times I8 sums
// in I32 and is exact. Products of integers whose c has their type wrap around.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

// Strides are in elements and arbitrary; with a stride of 1 all accesses are vectors.
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
// The engine requests blocks that fit in L1, so they are never completely expanded. The methods are
// called concurrently by several threads.
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

    // Whether unpack() supports all k of a few columns, written directly to their destination.
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
    // The last step: values of row `row`, columns [col, col + n), in F32. Called by several
    // threads.
    void (*finish)(const void *context, float *values, int64_t row, int64_t col,
                   int64_t n) = nullptr;
    // Or it also stores them, anywhere. `member` is the index in the batch.
    void (*store)(const void *context, const float *values, int64_t member, int64_t row,
                  int64_t col, int64_t n) = nullptr;
    const void *context = nullptr;
    // finish() only adds these, [m] of a dtype that is not 0: then sums need no runs.
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
    bool threads = true;                 // false: all on the calling thread
    bool invariant = false;  // a row's bits do not depend on m: see INFINI_MODE_BATCH_INVARIANT
    int64_t member = 0;      // of a batch, which this product is
};

// Bytes that matmul() needs, 64-byte aligned. Looks at sizes, dtypes, strides, flags and whether
// there are weights and an epilogue (or a row_bias_dtype), not at pointers or alpha and beta.
size_t matmul_workspace(const Matmul &product);

// Complete when it returns.
void matmul(const Matmul &product, void *workspace);

}  // namespace infini::cpu
