// A BLAS look-alike with cuBLAS's older interface, in plain loops: names and numbers of one vendor
// are defined by the build. Strict: constants of other vendors are rejected.
#include <cstdint>
#include <cstring>

#include "../cuda/halves.h"
#include "forward.h"

namespace {

constexpr int kInvalid = 7;

struct Handle {
    void *stream = nullptr;
};

int wrong(const char *sentence, int number) {
    std::fprintf(stderr, "simulated BLAS: %s (%d)\n", sentence, number);
    return kInvalid;
}

double read(int type, const void *data, int64_t i) {
    if (type == GEMM_F32) return static_cast<const float *>(data)[i];
    if (type == GEMM_F64) return static_cast<const double *>(data)[i];
    const uint16_t half = static_cast<const uint16_t *>(data)[i];
    return type == GEMM_F16 ? half_to_double(half) : bfloat_to_double(half);
}

void write(int type, void *data, int64_t i, double value) {
    if (type == GEMM_F32)
        static_cast<float *>(data)[i] = float(value);
    else if (type == GEMM_F64)
        static_cast<double *>(data)[i] = value;
    else
        static_cast<uint16_t *>(data)[i] =
            type == GEMM_F16 ? double_to_half(value) : double_to_bfloat(value);
}

// All arguments of a call, by value.
struct Product {
    bool turned_a, turned_b;
    int m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    int type;
    int64_t leading_a, leading_b, leading_c;
    long long stride_a, stride_b, stride_c;
    int batch;

    void run() const {
        for (int64_t z = 0; z < batch; ++z)
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i < m; ++i) {
                    double sum = 0;
                    for (int64_t q = 0; q < k; ++q)
                        sum +=
                            read(
                                type, a,
                                z * stride_a + (turned_a ? q + i * leading_a : i + q * leading_a)) *
                            read(type, b,
                                 z * stride_b + (turned_b ? j + q * leading_b : q + j * leading_b));
                    const int64_t at = z * stride_c + i + j * leading_c;
                    write(type, c, at, alpha * sum + (beta != 0 ? beta * read(type, c, at) : 0));
                }
    }
};

}  // namespace

// By their expanded names.
#define GEMM_KNOWN(name) SIMULATED_KNOWN(name)
#define GEMM_BEGIN(name) SIMULATED_BEGIN(name)
GEMM_KNOWN(GEMM_CREATE)
GEMM_KNOWN(GEMM_DESTROY)
GEMM_KNOWN(GEMM_SET_STREAM)
GEMM_KNOWN(GEMM_MULTIPLY)

SIMULATED_EXPORT int GEMM_CREATE(Handle **handle) {
    GEMM_BEGIN(GEMM_CREATE);
    return *handle = new Handle, 0;
}
SIMULATED_EXPORT int GEMM_DESTROY(Handle *handle) {
    GEMM_BEGIN(GEMM_DESTROY);
    return delete handle, 0;
}
SIMULATED_EXPORT int GEMM_SET_STREAM(Handle *handle, void *stream) {
    GEMM_BEGIN(GEMM_SET_STREAM);
    return handle->stream = stream, 0;
}

SIMULATED_EXPORT int GEMM_MULTIPLY(Handle *handle, int operation_a, int operation_b, int m, int n,
                                   int k, const void *alpha, const void *a, int type_a,
                                   int leading_a, long long stride_a, const void *b, int type_b,
                                   int leading_b, long long stride_b, const void *beta, void *c,
                                   int type_c, int leading_c, long long stride_c, int batch,
                                   int computation, int algorithm) {
    GEMM_BEGIN(GEMM_MULTIPLY);
    for (int operation : {operation_a, operation_b})
        if (operation != GEMM_AS_IS && operation != GEMM_TRANSPOSED)
            return wrong("an operation is unknown", operation);
    for (int type : {type_a, type_b, type_c})
        if (type != GEMM_F32 && type != GEMM_F64 && type != GEMM_F16 && type != GEMM_BF16)
            return wrong("a type is unknown", type);
    if (type_a != type_b || type_a != type_c) return wrong("types differ", type_c);
    if (algorithm != GEMM_ALGORITHM) return wrong("the algorithm is unknown", algorithm);
    const bool wide = type_a == GEMM_F64;
    bool known = false;
    if (wide)
        for (int number : {GEMM_COMPUTE_F64}) known = known || number == computation;
    else
        for (int number : {GEMM_COMPUTE_F32}) known = known || number == computation;
    if (!known) return wrong("the computation is unknown", computation);
    const bool turned_a = operation_a == GEMM_TRANSPOSED, turned_b = operation_b == GEMM_TRANSPOSED;
    if (leading_a < (turned_a ? k : m) || leading_b < (turned_b ? n : k) || leading_c < m)
        return wrong("a leading dimension is less than the rows", leading_a);
    const int scale = wide ? GEMM_F64 : GEMM_F32;
    // Kept: a graph may run it again.
    auto *product = new Product{turned_a,
                                turned_b,
                                m,
                                n,
                                k,
                                read(scale, alpha, 0),
                                read(scale, beta, 0),
                                a,
                                b,
                                c,
                                type_a,
                                leading_a,
                                leading_b,
                                leading_c,
                                stride_a,
                                stride_b,
                                stride_c,
                                batch};
    static const auto launch = reinterpret_cast<int (*)(void *, void (*)(void *), void *)>(
        simulated::core_symbol("simulated_rt_12", "cudaLaunchHostFunc"));
    auto run = [](void *data) { static_cast<Product *>(data)->run(); };
    return launch(handle->stream, run, product) == 0 ? 0 : kInvalid;
}
