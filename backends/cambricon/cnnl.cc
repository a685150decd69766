#include "backends/cambricon/cnnl.h"

#include <mutex>
#include <vector>

namespace infini::vendor_runtime::cambricon {
namespace {

using Handle = void *;

// ---- Enumerators of cnnl.h ----------------------------------------------------------------------

// No public header of CNNL has the numbers: these are those of MLU-OPS, which mirrors it.
constexpr int kLayoutArray = 4;
constexpr int kAllowTf32 = 10, kUseStride = 13;  // CNNL_MATMUL_ALLOW_TF32, CNNL_MATMUL_USE_STRIDE

int type_of(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return 1;
        case INFINI_DTYPE_F32:
            return 2;
        case INFINI_DTYPE_BF16:
            return 17;
        default:
            return -1;
    }
}

template <class F>
F need(const char *symbol, const char *older = nullptr) {
    if (auto found = function<F>(Part::kOperators, symbol)) return found;
    if (auto found = older ? function<F>(Part::kOperators, older) : nullptr) return found;
    throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                  std::string("gemm: ") + symbol + " is not in " + path(Part::kOperators)};
}

// The functions of a product, found once; Refusal names the first that is missing.
struct Functions {
    using Make = int (*)(Handle *);
    using Destroy = int (*)(Handle);
    Make create = need<Make>("cnnlCreate");
    int (*set_queue)(Handle, void *) = need<int (*)(Handle, void *)>("cnnlSetQueue");
    Make make_tensor = need<Make>("cnnlCreateTensorDescriptor");
    int (*set_tensor)(Handle, int, int, int, const int *, const int *) =
        need<int (*)(Handle, int, int, int, const int *, const int *)>("cnnlSetTensorDescriptorEx");
    Destroy destroy_tensor = need<Destroy>("cnnlDestroyTensorDescriptor");
    Make make_product = need<Make>("cnnlCreateMatMulDescriptor", "cnnlMatMulDescCreate");
    int (*set_product)(Handle, int, const void *, size_t) =
        need<int (*)(Handle, int, const void *, size_t)>("cnnlSetMatMulDescAttr");
    Destroy destroy_product = need<Destroy>("cnnlDestroyMatMulDescriptor", "cnnlMatMulDescDestroy");
    Make make_algo = need<Make>("cnnlCreateMatMulAlgo", "cnnlMatMulAlgoCreate");
    Destroy destroy_algo = need<Destroy>("cnnlDestroyMatMulAlgo", "cnnlMatMulAlgoDestroy");
    Make make_result = need<Make>("cnnlCreateMatMulHeuristicResult");
    Destroy destroy_result = need<Destroy>("cnnlDestroyMatMulHeuristicResult");
    int (*choose)(Handle, Handle, Handle, Handle, Handle, void *, int, Handle *, int *) =
        need<int (*)(Handle, Handle, Handle, Handle, Handle, void *, int, Handle *, int *)>(
            "cnnlGetBatchMatMulExAlgoHeuristic");
    int (*chosen)(Handle, Handle, size_t *) =
        need<int (*)(Handle, Handle, size_t *)>("cnnlGetBatchMatMulExHeuristicResult");
    using Multiply = int (*)(Handle, Handle, Handle, const void *, Handle, const void *, Handle,
                             const void *, const void *, Handle, void *, void *, size_t);
    Multiply multiply = need<Multiply>("cnnlBatchMatMulEx");
};

const Functions &functions() {
    static const Functions &found = *new Functions;
    return found;
}

// A handle of the library for each device; calls through it are one at a time.
struct Shared {
    std::mutex lock;
    Handle handle = nullptr;

    static Shared &of(int device) {
        constexpr int kMost = 64;
        static auto *all = new Shared[kMost];
        return all[device % kMost];
    }
};

// ---- Products: c = alpha * a @ b + beta * c -----------------------------------------------------

class Gemm final : public LibraryPlan {
public:
    Gemm(int device, const Operation &operation) : shared_(Shared::of(device)), f_(functions()) {
        const Shape c = operation.tensor(0);
        if (type_of(c.dtype) < 0)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                          "gemm: cnnlBatchMatMulEx takes F16, BF16 and F32 only"};
        std::lock_guard guard(shared_.lock);
        if (!shared_.handle) good(f_.create(&shared_.handle), "cnnlCreate");
        good(f_.make_product(&product_), "cnnlCreateMatMulDescriptor");
        const int32_t yes = 1, no = 0;
        good(f_.set_product(product_, kUseStride, &yes, sizeof yes), "cnnlSetMatMulDescAttr");
        // It is on by default, and F32 would lose half of its digits.
        good(f_.set_product(product_, kAllowTf32, &no, sizeof no), "cnnlSetMatMulDescAttr");
        for (int i : {0, 1, 2}) describe(tensors_[i], operation.tensor(i), c);
        good(f_.make_algo(&algo_), "cnnlCreateMatMulAlgo");
        good(f_.make_result(&result_), "cnnlCreateMatMulHeuristicResult");
        int count = 0;
        good(f_.choose(shared_.handle, product_, tensors_[1], tensors_[2], tensors_[0], nullptr, 1,
                       &result_, &count),
             "cnnlGetBatchMatMulExAlgoHeuristic");
        good(f_.chosen(result_, algo_, &workspace), "cnnlGetBatchMatMulExHeuristicResult");
    }

    ~Gemm() override {
        for (Handle tensor : tensors_)
            if (tensor) f_.destroy_tensor(tensor);
        if (result_) f_.destroy_result(result_);
        if (algo_) f_.destroy_algo(algo_);
        if (product_) f_.destroy_product(product_);
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        const float alpha = float(arguments.number(0)), beta = float(arguments.number(1));
        *call = "cnnlBatchMatMulEx";
        std::lock_guard guard(shared_.lock);
        if (int code = f_.set_queue(shared_.handle, stream)) return code;
        return f_.multiply(shared_.handle, product_, algo_, &alpha, tensors_[1],
                           arguments.pointer<void>(1), tensors_[2], arguments.pointer<void>(2),
                           &beta, tensors_[0], arguments.pointer<void>(0), arguments.workspace(),
                           workspace);
    }

private:
    static void good(int code, const char *symbol) {
        if (code)
            throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                          std::string("gemm: ") + symbol + " returned " + std::to_string(code)};
    }

    // Operands without a batch, or with one of 1, are the same for all of it.
    void describe(Handle &descriptor, const Shape &shape, const Shape &c) {
        std::vector<int> size, stride;
        if (c.ndim == 3) {
            const bool many = shape.ndim == 3 && shape.size[0] > 1;
            size.push_back(int(c.size[0]));
            stride.push_back(many || &shape == &c ? int(shape.stride[0]) : 0);
        }
        for (int i = shape.ndim - 2; i < shape.ndim; ++i) {
            size.push_back(int(shape.size[i]));
            stride.push_back(int(shape.stride[i]));
        }
        good(f_.make_tensor(&descriptor), "cnnlCreateTensorDescriptor");
        good(f_.set_tensor(descriptor, kLayoutArray, type_of(shape.dtype), int(size.size()),
                           size.data(), stride.data()),
             "cnnlSetTensorDescriptorEx");
    }

    Shared &shared_;
    const Functions &f_;
    Handle tensors_[3] = {}, product_ = nullptr, algo_ = nullptr, result_ = nullptr;
};

}  // namespace

std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation) {
    const std::string name = operation.name();
    if (name != "gemm") return nullptr;
    if (const std::string &why = problem(Part::kOperators); !why.empty())
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, name + ": " + why};
    OnDevice here(device);
    return std::make_unique<Gemm>(device, operation);
}

}  // namespace infini::vendor_runtime::cambricon
