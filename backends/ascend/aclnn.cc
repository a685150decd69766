#include "backends/ascend/aclnn.h"

#include "backends/ascend/cached.h"
#include "backends/ascend/objects.h"
#include "backends/ascend/operators.h"

namespace infini::vendor_runtime::ascend {
namespace {

using SizeOut = uint64_t *;
using ExecutorOut = aclOpExecutor **;

constexpr int8_t kKeepDtype = 0;  // cubeMathType: F32 is not rounded for the cube unit

// A function with two steps. The first is also called when the plan is made, with tensors without
// data, to get the workspace size.
class TwoStepPlan : public LibraryPlan {
public:
    TwoStepPlan(const Operation &operation, std::vector<int> tensors) {
        for (int i : tensors) shapes_.push_back(operation.tensor(i));
        for (const Shape &shape : shapes_)
            if (shape && type_of(shape.dtype) < 0)
                throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                              std::string(operation.name()) +
                                  ": the CANN operator library has no such dtype"};
    }

protected:
    // First step: how much workspace, and an executor for one run.
    struct Prepared {
        uint64_t bytes = 0;
        aclOpExecutor *executor = nullptr;
        int code = 0;
    };
    int finish(const Prepared &prepared, Run run, void *given, void *stream) const {
        if (prepared.code) return prepared.code;
        return run(given, prepared.bytes, prepared.executor, stream);
    }
    std::vector<Shape> shapes_;
};

// ---- Products: c = alpha * a @ b + beta * c -----------------------------------------------------

class Gemm final : public TwoStepPlan {
public:
    explicit Gemm(const Operation &operation) : TwoStepPlan(operation, {0, 1, 2}) {
        const int dtype = shapes_[0].dtype;
        if (dtype != INFINI_DTYPE_F16 && dtype != INFINI_DTYPE_BF16 && dtype != INFINI_DTYPE_F32)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          "gemm: aclnnMatmul takes F16, BF16 and F32 only"};
        batched_ = shapes_[0].ndim == 3;
        // Operands without a batch, or with one of 1, are the same for all of it.
        for (Shape *shape : {&shapes_[1], &shapes_[2]}) expand(*shape, shapes_[0]);
        find_functions();
        size_t most = 0;
        for (bool plain : {true, false}) {
            const Prepared prepared = prepare(nullptr, nullptr, nullptr, 1, plain ? 0 : 1);
            if (prepared.code)
                throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                              "gemm: the workspace of aclnn cannot be asked for: code " +
                                  std::to_string(prepared.code)};
            most = std::max(most, size_t(prepared.bytes));
        }
        workspace = most;
    }

    int run(void *stream, const Arguments &arguments, const char **call) const override {
        void *c = arguments.pointer<void>(0), *a = arguments.pointer<void>(1),
             *b = arguments.pointer<void>(2);
        const float alpha = float(arguments.number(0)), beta = float(arguments.number(1));
        const bool plain = alpha == 1 && beta == 0;
        *call = plain ? "aclnnMatmul" : batched_ ? "aclnnBaddbmm" : "aclnnGemm";
        // The others may read c even if beta is 0.
        if (!plain && beta == 0)
            if (int code = clear(c, stream)) return code;
        const Prepared prepared = prepare(c, a, b, alpha, beta);
        if (prepared.bytes > workspace) return kWorkspaceGrew;
        return finish(prepared,
                      plain      ? matmul_run_
                      : batched_ ? baddbmm_run_
                                 : gemm_run_,
                      arguments.workspace(), stream);
    }

private:
    static constexpr int kWorkspaceGrew = 561103;  // an inner error of aclnn

    static void expand(Shape &shape, const Shape &c) {
        if (c.ndim != 3) return;
        if (shape.ndim == 2) {
            for (int i = 2; i > 0; --i)
                shape.size[i] = shape.size[i - 1], shape.stride[i] = shape.stride[i - 1];
            shape.ndim = 3;
            shape.size[0] = 1;
        }
        if (shape.size[0] == 1) shape.stride[0] = 0;
        shape.size[0] = c.size[0];
    }

    void find_functions() {
        matmul_ = need<Matmul>("aclnnMatmulGetWorkspaceSize");
        matmul_run_ = need<Run>("aclnnMatmul");
        if (batched_) {
            baddbmm_ = need<Baddbmm>("aclnnBaddbmmGetWorkspaceSize");
            baddbmm_run_ = need<Run>("aclnnBaddbmm");
        } else {
            gemm_ = need<GemmSize>("aclnnGemmGetWorkspaceSize");
            gemm_run_ = need<Run>("aclnnGemm");
        }
    }

    Prepared prepare(void *c, void *a, void *b, float alpha, float beta) const {
        Prepared p;
        TensorObject out(shapes_[0], c), left(shapes_[1], a), right(shapes_[2], b);
        if (alpha == 1 && beta == 0) {
            p.code = matmul_(left, right, out, kKeepDtype, &p.bytes, &p.executor);
        } else if (batched_) {
            ScalarObject one(beta), two(alpha);
            p.code = baddbmm_(out, left, right, one, two, out, kKeepDtype, &p.bytes, &p.executor);
        } else {
            p.code =
                gemm_(left, right, out, alpha, beta, 0, 0, out, kKeepDtype, &p.bytes, &p.executor);
        }
        return p;
    }

    int clear(void *c, void *stream) const {
        const Shape &shape = shapes_[0];
        const size_t element = infiniSizeOf(static_cast<infiniDtype_t>(shape.dtype));
        const int64_t batch = batched_ ? shape.size[0] : 1;
        const int64_t batch_stride = batched_ ? shape.stride[0] : 0;
        const int rows = shape.ndim - 2, columns = shape.ndim - 1;
        const bool packed = shape.stride[columns] == 1;
        Values values;
        values.stream = stream;
        values.bytes = element * size_t(packed ? shape.size[columns] : 1);
        for (int64_t i = 0; i < batch; ++i)
            for (int64_t y = 0; y < shape.size[rows]; ++y)
                for (int64_t x = 0; x < (packed ? 1 : shape.size[columns]); ++x) {
                    const int64_t offset =
                        i * batch_stride + y * shape.stride[rows] + x * shape.stride[columns];
                    values.dst = static_cast<char *>(c) + offset * int64_t(element);
                    if (int code = call(Word::kMemsetAsync, values)) return code;
                }
        return 0;
    }

    using Matmul = int (*)(const aclTensor *, const aclTensor *, aclTensor *, int8_t, SizeOut,
                           ExecutorOut);
    using GemmSize = int (*)(const aclTensor *, const aclTensor *, const aclTensor *, float, float,
                             int64_t, int64_t, aclTensor *, int8_t, SizeOut, ExecutorOut);
    using Baddbmm = int (*)(const aclTensor *, const aclTensor *, const aclTensor *,
                            const aclScalar *, const aclScalar *, aclTensor *, int8_t, SizeOut,
                            ExecutorOut);
    bool batched_ = false;
    Matmul matmul_ = nullptr;
    GemmSize gemm_ = nullptr;
    Baddbmm baddbmm_ = nullptr;
    Run matmul_run_ = nullptr, gemm_run_ = nullptr, baddbmm_run_ = nullptr;
};

}  // namespace

std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation) {
    const std::string name = operation.name();
    const bool by_itself = name == "gemm" || is_cached(operation);
    if (!by_itself && !has_row(operation)) return nullptr;
    if (const std::string &why = problem(Part::kOperators); !why.empty())
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, name + ": " + why};
    OnDevice here(device);
    if (is_cached(operation)) return plan_cached(device, operation);
    if (name != "gemm") return plan_row(device, operation);
    return std::make_unique<Gemm>(operation);
}

}  // namespace infini::vendor_runtime::ascend
