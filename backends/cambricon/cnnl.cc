#include "backends/cambricon/cnnl.h"

#include <vector>

#include "backends/cambricon/handle.h"
#include "backends/cambricon/operators.h"
#include "backends/vendor_runtime/cache_plan.h"

namespace infini::vendor_runtime::cambricon {
namespace {

// CNNL_MATMUL_ALLOW_TF32, CNNL_MATMUL_USE_STRIDE: as those of MLU-OPS, which mirrors CNNL.
constexpr int kAllowTf32 = 10, kUseStride = 13;

bool is_taken(int dtype) {
    return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32;
}

// The functions of a product, looked up once; throws a Refusal that names the first missing one.
struct Functions {
    using Make = int (*)(Handle *);
    using Destroy = int (*)(Handle);
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

// An object of the library, which is also destroyed if the plan's constructor throws.
struct Owned {
    ~Owned() {
        if (handle) destroy(handle);
    }
    Functions::Destroy destroy;
    Handle handle = nullptr;
};

// ---- Products: c = alpha * a @ b + beta * c -----------------------------------------------------

class Gemm final : public LibraryPlan {
public:
    Gemm(int device, const Operation &operation) : shared_(Shared::of(device)), f_(functions()) {
        const Shape c = operation.tensor(0);
        if (!is_taken(c.dtype))
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          "gemm: cnnlBatchMatMulEx takes F16, BF16 and F32 only"};
        std::lock_guard guard(shared_.lock);
        good(f_.make_product(&product_.handle), "cnnlCreateMatMulDescriptor");
        const int32_t yes = 1, no = 0;
        good(f_.set_product(product_.handle, kUseStride, &yes, sizeof yes),
             "cnnlSetMatMulDescAttr");
        // On by default, which would lose half of the precision of F32.
        good(f_.set_product(product_.handle, kAllowTf32, &no, sizeof no), "cnnlSetMatMulDescAttr");
        for (int i : {0, 1, 2}) describe(operation.tensor(i), c);
        good(f_.make_algo(&algo_.handle), "cnnlCreateMatMulAlgo");
        good(f_.make_result(&result_.handle), "cnnlCreateMatMulHeuristicResult");
        int count = 0;
        good(f_.choose(shared_.handle, product_.handle, tensors_[1], tensors_[2], tensors_[0],
                       nullptr, 1, &result_.handle, &count),
             "cnnlGetBatchMatMulExAlgoHeuristic");
        good(f_.chosen(result_.handle, algo_.handle, &workspace),
             "cnnlGetBatchMatMulExHeuristicResult");
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        const float alpha = float(arguments.number(0)), beta = float(arguments.number(1));
        *call = "cnnlBatchMatMulEx";
        std::lock_guard guard(shared_.lock);
        if (int code = shared_.use(stream)) return code;
        return f_.multiply(shared_.handle, product_.handle, algo_.handle, &alpha, tensors_[1],
                           arguments.pointer<void>(1), tensors_[2], arguments.pointer<void>(2),
                           &beta, tensors_[0], arguments.pointer<void>(0), arguments.workspace(),
                           workspace);
    }

private:
    // Operands without a batch, or with one of 1, are the same for all of it.
    void describe(const Shape &shape, const Shape &c) {
        Shape made;
        made.dtype = shape.dtype;
        if (c.ndim == 3) {
            const bool many = shape.ndim == 3 && shape.size[0] > 1;
            made.size[0] = c.size[0];
            made.stride[0] = many || &shape == &c ? shape.stride[0] : 0;
            made.ndim = 1;
        }
        for (int i = shape.ndim - 2; i < shape.ndim; ++i, ++made.ndim)
            made.size[made.ndim] = shape.size[i], made.stride[made.ndim] = shape.stride[i];
        tensors_.emplace_back(made);
    }

    Shared &shared_;
    const Functions &f_;
    std::vector<Descriptor> tensors_;
    Owned product_{f_.destroy_product}, algo_{f_.destroy_algo}, result_{f_.destroy_result};
};

std::unique_ptr<LibraryPlan> plan_write(int device, const Operation &operation) {
    using Copy = int (*)(Handle, Handle, const void *, Handle, void *);
    Shared &shared = Shared::of(device);
    const auto copy = need<Copy>("cnnlCopy");
    // Unsupported cases are refused now.
    for (const auto &[to, from] : largest_copies(operation))
        if (to.size[0] * to.size[1] * to.size[2] > 0)
            for (const Shape &shape : {to, from}) static_cast<void>(Descriptor{shape});
    return plan_cache_write(
        device, operation,
        [&shared, copy](void *queue, const Shape &to, void *to_data, const Shape &from,
                        const void *from_data, void *, const char **call) {
            *call = "cnnlCopy";
            std::lock_guard guard(shared.lock);
            if (int code = shared.use(queue)) return code;
            const Descriptor source(from), target(to);
            return copy(shared.handle, source, from_data, target, to_data);
        },
        0);
}

}  // namespace

std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation) {
    const std::string name = operation.name();
    const bool writes_cache = is_cache_write(operation);
    if (name != "gemm" && !writes_cache && !has_row(operation)) return nullptr;
    if (const std::string &why = problem(Part::kOperators); !why.empty())
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, name + ": " + why};
    OnDevice here(device);
    if (writes_cache) return plan_write(device, operation);
    if (name != "gemm") return plan_row(device, operation);
    return std::make_unique<Gemm>(device, operation);
}

}  // namespace infini::vendor_runtime::cambricon
