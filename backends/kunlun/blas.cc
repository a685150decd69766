#include "backends/kunlun/blas.h"

#include <algorithm>
#include <climits>
#include <mutex>

#include "backends/kunlun/copies.h"
#include "backends/vendor_runtime/cache_plan.h"
#include "backends/vendor_runtime/refusals.h"

namespace infini::vendor_runtime::kunlun {
namespace {

using Handle = void *;
constexpr int kPlain = 0, kTransposed = 1, kCompute32F = 68, kDefaultAlgorithm = -1;

// cudaDataType, or -1. BF16 is left out: the library's callers convert it first.
int type_of(int dtype) {
    return dtype == INFINI_DTYPE_F32 ? 0 : dtype == INFINI_DTYPE_F16 ? 2 : -1;
}

template <class F>
F need(const char *symbol, const char *other = nullptr) {
    if (auto found = function<F>(Part::kOperators, symbol)) return found;
    if (auto found = other ? function<F>(Part::kOperators, other) : nullptr) return found;
    throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                  std::string("gemm: ") + symbol + " is not in " + path(Part::kOperators)};
}

struct Functions {
    int (*create)(Handle *) = need<int (*)(Handle *)>("cublasCreate_v2", "cublasCreate");
    int (*set_stream)(Handle, void *) = need<int (*)(Handle, void *)>("cublasSetStream_v2",
                                                                      "cublasSetStream");
    using Multiply = int (*)(Handle, int, int, int, int, int, const void *, const void *, int, int,
                             long long, const void *, int, int, long long, const void *, void *,
                             int, int, long long, int, int, int);
    Multiply multiply = need<Multiply>("cublasGemmStridedBatchedEx");
};

const Functions &functions() {
    static const Functions &found = *new Functions;
    return found;
}

// A handle of the library for each device; calls through it are serialized.
struct Shared {
    std::mutex lock;
    Handle handle = nullptr;

    static Shared &of(int device) {
        constexpr int kMost = 64;
        static auto *all = new Shared[kMost];
        return all[device % kMost];
    }
};

int narrow(int64_t value) {
    if (value < 0 || value > INT_MAX)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      "gemm: XPU BLAS takes sizes and strides of 32 bits, and one is " +
                          std::to_string(value)};
    return int(value);
}

// A row-major matrix, or a transposed one, in the library's column-major form.
struct Matrix {
    int transposed;
    int leading;
    int64_t batch_stride;
};

Matrix matrix_of(const Shape &shape, int64_t rows, int64_t columns, const char *which) {
    const int64_t row = shape.stride[shape.ndim - 2], column = shape.stride[shape.ndim - 1];
    const int64_t batch = shape.ndim == 3 && shape.size[0] > 1 ? shape.stride[0] : 0;
    if (column == 1 || columns == 1) {
        if (row >= columns || rows == 1)
            return {kPlain, narrow(rows == 1 ? std::max(columns, int64_t(1)) : row), batch};
    }
    if (row == 1 || rows == 1) {
        if (column >= rows || columns == 1)
            return {kTransposed, narrow(columns == 1 ? std::max(rows, int64_t(1)) : column), batch};
    }
    throw Refusal{
        INFINI_STATUS_NOT_IMPLEMENTED,
        std::string("gemm: XPU BLAS takes matrices whose rows or columns are packed, and ") +
            which + " is neither; make it contiguous"};
}

// ---- Products: c = alpha * a @ b + beta * c -----------------------------------------------------

class Gemm final : public LibraryPlan {
public:
    Gemm(int device, const Operation &operation) : shared_(Shared::of(device)), f_(functions()) {
        const Shape c = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
        type_ = type_of(c.dtype);
        if (type_ < 0)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "gemm: XPU BLAS takes F16 and F32 only"};
        batch_ = c.ndim == 3 ? narrow(c.size[0]) : 1;
        m_ = narrow(c.size[c.ndim - 2]), n_ = narrow(c.size[c.ndim - 1]);
        k_ = narrow(a.size[a.ndim - 1]);
        a_ = matrix_of(a, m_, k_, "a"), b_ = matrix_of(b, k_, n_, "b");
        c_ = matrix_of(c, m_, n_, "c");
        std::lock_guard guard(shared_.lock);
        if (!shared_.handle)
            if (int code = f_.create(&shared_.handle))
                throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                              "gemm: cublasCreate returned " + std::to_string(code)};
    }

    // The library is column-major, so the transpose of c is computed as b' @ a'.
    int run(void *stream, const Arguments &arguments, const char **call) const override {
        const float alpha = float(arguments.number(0)), beta = float(arguments.number(1));
        void *c = arguments.pointer<void>(0);
        const void *a = arguments.pointer<void>(1), *b = arguments.pointer<void>(2);
        *call = "cublasGemmStridedBatchedEx";
        std::lock_guard guard(shared_.lock);
        if (int code = f_.set_stream(shared_.handle, stream)) return code;
        if (c_.transposed == kPlain)
            return f_.multiply(shared_.handle, b_.transposed, a_.transposed, n_, m_, k_, &alpha, b,
                               type_, b_.leading, b_.batch_stride, a, type_, a_.leading,
                               a_.batch_stride, &beta, c, type_, c_.leading, c_.batch_stride,
                               batch_, kCompute32F, kDefaultAlgorithm);
        return f_.multiply(shared_.handle, !a_.transposed, !b_.transposed, m_, n_, k_, &alpha, a,
                           type_, a_.leading, a_.batch_stride, b, type_, b_.leading,
                           b_.batch_stride, &beta, c, type_, c_.leading, c_.batch_stride, batch_,
                           kCompute32F, kDefaultAlgorithm);
    }

private:
    Shared &shared_;
    const Functions &f_;
    int type_ = 0, batch_ = 1, m_ = 0, n_ = 0, k_ = 0;
    Matrix a_{}, b_{}, c_{};
};

[[noreturn]] void refuse(const Operation &operation) {
    const std::string name = operation.name();
    const char *reason = common_reason(name.c_str());
    if (name == "int8_gemm")
        reason =
            "no public source has the types and scales of XPU BLAS's integer products; XDNN has "
            "such products, but its functions are C++ and cannot be found by names";
    throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                  name + ": " +
                      (reason ? reason
                              : "XPU BLAS has matrix products alone; XDNN has other operators, but "
                                "its functions are C++ and cannot be found by names")};
}

}  // namespace

std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation) {
    const std::string name = operation.name();
    if (name == "rearrange") return plan_rearrange(operation);
    if (is_cache_write(operation)) return plan_write(device, operation);
    if (name != "gemm") {
        if (!operation.program()) refuse(operation);
        return nullptr;
    }
    if (const std::string &why = problem(Part::kOperators); !why.empty())
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, name + ": " + why};
    OnDevice here(device);
    return std::make_unique<Gemm>(device, operation);
}

}  // namespace infini::vendor_runtime::kunlun
