// A libcublasLt look-alike: matrix products in plain loops, with strict checks. It rejects what the
// library would reject, or compute wrongly.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include "beside.h"
#include "halves.h"

namespace {

constexpr int kSuccess = 0, kInvalid = 7, kUnsupported = 15;

struct Layout {
    int type;
    uint64_t rows, columns;
    int64_t leading;
    int32_t count = 1;
    int64_t stride = 0;
};
struct Description {
    int computation, scale;
    int32_t transpose[2] = {0, 0};
    int32_t epilogue = 1;
    const void *bias = nullptr;
};
struct Preference {
    uint64_t workspace = 0;
    uint32_t alignment[4] = {256, 256, 256, 256};
};
constexpr size_t kWorkspace = 512;
struct Algorithm {
    uint64_t alignment[4], rest[4];
};
struct Candidate {
    Algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

int wrong(const char *sentence) {
    std::fprintf(stderr, "simulated cuBLASLt: %s\n", sentence);
    return kInvalid;
}

double read(int type, const void *data, int64_t i) {
    switch (type) {
        case 0:
            return static_cast<const float *>(data)[i];
        case 1:
            return static_cast<const double *>(data)[i];
        case 2:
            return half_to_double(static_cast<const uint16_t *>(data)[i]);
        case 3:
            return static_cast<const int8_t *>(data)[i];
        case 10:
            return static_cast<const int32_t *>(data)[i];
        default:
            return bfloat_to_double(static_cast<const uint16_t *>(data)[i]);
    }
}
void write(int type, void *data, int64_t i, double value) {
    switch (type) {
        case 0:
            static_cast<float *>(data)[i] = float(value);
            return;
        case 1:
            static_cast<double *>(data)[i] = value;
            return;
        case 2:
            static_cast<uint16_t *>(data)[i] = double_to_half(value);
            return;
        case 10:
            static_cast<int32_t *>(data)[i] = int32_t(value);
            return;
        default:
            static_cast<uint16_t *>(data)[i] = double_to_bfloat(value);
    }
}

// All arguments of a call, by value.
struct Product {
    Description description;
    Layout a, b, c, d;
    const void *pa, *pb, *pc;
    void *pd;
    double alpha, beta;
    void *workspace;

    // With TF32 the last 13 bits of a factor are ignored.
    double factor(double x) const {
        if (description.computation != 77) return x;
        const float given = float(x);
        uint32_t word;
        std::memcpy(&word, &given, 4);
        word &= 0xffffe000u;
        float rounded;
        std::memcpy(&rounded, &word, 4);
        return rounded;
    }

    void run() const {
        std::memset(workspace, 0xcd, kWorkspace);
        const int64_t m = int64_t(d.rows), n = int64_t(d.columns);
        const bool ta = description.transpose[0], tb = description.transpose[1];
        const int64_t k = int64_t(ta ? a.rows : a.columns);
        for (int64_t batch = 0; batch < d.count; ++batch)
            for (int64_t j = 0; j < n; ++j)
                for (int64_t i = 0; i < m; ++i) {
                    double sum = 0;
                    for (int64_t q = 0; q < k; ++q)
                        sum += factor(read(a.type, pa,
                                           batch * a.stride +
                                               (ta ? q + i * a.leading : i + q * a.leading))) *
                               factor(read(b.type, pb,
                                           batch * b.stride +
                                               (tb ? j + q * b.leading : q + j * b.leading)));
                    double value = alpha * sum;
                    if (beta != 0)
                        value += beta * read(c.type, pc, batch * c.stride + i + j * c.leading);
                    if (description.epilogue == 4) value += read(d.type, description.bias, i);
                    write(d.type, pd, batch * d.stride + i + j * d.leading, value);
                }
    }
};

int check(const Description &t, const Layout &a, const Layout &b, const Layout &c,
          const Layout &d) {
    auto size = [](const Layout &l, bool turned, bool rows) {
        return turned == rows ? l.columns : l.rows;
    };
    const bool ta = t.transpose[0], tb = t.transpose[1];
    for (const Layout *l : {&a, &b, &c, &d}) {
        if (uint64_t(l->leading) < l->rows)
            return wrong("a leading dimension is less than the rows");
        if (l->count != d.count) return wrong("batches differ");
    }
    if (size(a, ta, true) != d.rows || size(b, tb, false) != d.columns ||
        size(a, ta, false) != size(b, tb, true) || c.rows != d.rows || c.columns != d.columns)
        return wrong("sizes do not fit");
    if (a.type != b.type || c.type != d.type) return wrong("types do not fit");
    const bool integers = a.type == 3;
    if (integers != (t.computation == 72) || (a.type == 1) != (t.computation == 70))
        return wrong("the type of computation does not fit");
    if (t.computation == 77 && a.type != 0) return wrong("only F32 is rounded to TF32");
    if (d.count > 1 && d.stride == 0) return wrong("results lie on each other");
    return kSuccess;
}

}  // namespace

extern "C" {

int cublasLtCreate(void **handle) {
    static int one;
    *handle = &one;
    return kSuccess;
}
const char *cublasLtGetStatusName(int) { return "CUBLAS_STATUS_SIMULATED"; }

int cublasLtMatmulDescCreate(Description **made, int computation, int scale) {
    *made = new Description{computation, scale};
    return kSuccess;
}
int cublasLtMatmulDescDestroy(Description *d) {
    delete d;
    return kSuccess;
}
int cublasLtMatmulDescSetAttribute(Description *d, int attribute, const void *value, size_t bytes) {
    if (attribute == 8 && bytes == 8) return std::memcpy(&d->bias, value, 8), kSuccess;
    if (bytes != 4) return wrong("an attribute of a product has another size");
    int32_t *to = attribute == 3   ? &d->transpose[0]
                  : attribute == 4 ? &d->transpose[1]
                  : attribute == 7 ? &d->epilogue
                                   : nullptr;
    return to ? std::memcpy(to, value, 4), kSuccess : kUnsupported;
}
int cublasLtMatrixLayoutCreate(Layout **made, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
    *made = new Layout{type, rows, columns, leading};
    return kSuccess;
}
int cublasLtMatrixLayoutDestroy(Layout *l) {
    delete l;
    return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(Layout *l, int attribute, const void *value, size_t bytes) {
    if (attribute == 5 && bytes == 4) return std::memcpy(&l->count, value, 4), kSuccess;
    if (attribute == 6 && bytes == 8) return std::memcpy(&l->stride, value, 8), kSuccess;
    return wrong("an attribute of a layout is unknown, or has another size");
}
int cublasLtMatmulPreferenceCreate(Preference **made) {
    *made = new Preference;
    return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(Preference *p) {
    delete p;
    return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(Preference *p, int attribute, const void *value,
                                         size_t bytes) {
    if (attribute == 1 && bytes == 8) return std::memcpy(&p->workspace, value, 8), kSuccess;
    if (attribute == 3 && bytes == 4) return kSuccess;
    if (attribute >= 5 && attribute <= 8 && bytes == 4)
        return std::memcpy(&p->alignment[attribute - 5], value, 4), kSuccess;
    return wrong("an attribute of a preference is unknown, or has another size");
}
int cublasLtMatmulAlgoGetHeuristic(void *, Description *t, Layout *a, Layout *b, Layout *c,
                                   Layout *d, Preference *p, int wanted, Candidate *found,
                                   int *count) {
    *count = 0;
    if (wanted < 1) return kInvalid;
    if (int status = check(*t, *a, *b, *c, *d)) return status;
    *found = {};
    for (int i = 0; i < 4; ++i) found->algorithm.alignment[i] = p->alignment[i];
    found->workspace = kWorkspace;
    *count = 1;
    return kSuccess;
}
int cublasLtMatmul(void *, Description *t, const void *alpha, const void *pa, Layout *a,
                   const void *pb, Layout *b, const void *beta, const void *pc, Layout *c, void *pd,
                   Layout *d, const Algorithm *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream) {
    if (int status = check(*t, *a, *b, *c, *d)) return status;
    const void *pointers[4] = {pa, pb, pc, pd};
    for (int i = 0; i < 4; ++i)
        if (!pointers[i] || reinterpret_cast<uintptr_t>(pointers[i]) % algorithm->alignment[i])
            return wrong("a pointer is null, or not aligned as the algorithm needs it");
    if (workspace_bytes != kWorkspace || !workspace || reinterpret_cast<uintptr_t>(workspace) % 256)
        return wrong("the workspace is not what the algorithm needs");
    auto *product = new Product{*t, *a, *b, *c, *d, pa, pb, pc, pd, 0, 0, workspace};
    product->alpha = read(t->scale, alpha, 0), product->beta = read(t->scale, beta, 0);
    // Kept: a graph may run it again.
    using Launch = int (*)(void *, void (*)(void *), void *);
    static const auto launch =
        reinterpret_cast<Launch>(dlsym(open_runtime(), "cudaLaunchHostFunc"));
    auto run = [](void *data) { static_cast<Product *>(data)->run(); };
    if (launch) return launch(stream, run, product) == 0 ? kSuccess : kInvalid;
    return wrong("there is no runtime");
}

}  // extern "C"
