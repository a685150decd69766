#include "backends/kunlun/copies.h"

namespace infini::vendor_runtime::kunlun {
namespace {

constexpr int64_t kMostRuns = 65536;

class Rearrange final : public LibraryPlan {
public:
    explicit Rearrange(const Operation &operation)
        : to_(operation.tensor(0)),
          from_(operation.tensor(1)),
          element_(int64_t(infiniSizeOf(infiniDtype_t(to_.dtype)))) {
        // Dimensions at the end that lie side by side in both tensors are one run.
        outer_ = to_.ndim;
        while (outer_ > 0 && to_.stride[outer_ - 1] == run_ && from_.stride[outer_ - 1] == run_)
            run_ *= to_.size[--outer_];
        for (int i = 0; i < outer_; ++i) runs_ *= to_.size[i];
        if (run_ * runs_ == 0) runs_ = 0;
        if (runs_ > kMostRuns)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          "rearrange: xpu_memcpy_async takes elements that lie side by side, and "
                          "these are in " +
                              std::to_string(runs_) + " places: " + std::to_string(kMostRuns) +
                              " at most"};
        if (!has(Word::kMemcpyAsync))
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          "rearrange: the XPU runtime has no xpu_memcpy_async"};
    }

    int run(void *stream, const Arguments &arguments, const char **called) const override {
        *called = "xpu_memcpy_async";
        Values values;
        values.stream = stream;
        values.bytes = size_t(run_ * element_);
        values.direction = vendor.directions.device_to_device;
        for (int64_t i = 0; i < runs_; ++i) {
            int64_t rest = i, to = 0, from = 0;
            for (int d = outer_ - 1; d >= 0; --d) {
                to += rest % to_.size[d] * to_.stride[d];
                from += rest % to_.size[d] * from_.stride[d];
                rest /= to_.size[d];
            }
            values.dst = arguments.pointer<char>(0) + to * element_;
            values.src = arguments.pointer<char>(1) + from * element_;
            if (int code = call(Word::kMemcpyAsync, values)) return code;
        }
        return 0;
    }

private:
    const Shape to_, from_;
    const int64_t element_;
    int outer_ = 0;
    int64_t run_ = 1, runs_ = 1;  // elements of a run, and how many there are
};

}  // namespace

std::unique_ptr<LibraryPlan> plan_rearrange(const Operation &operation) {
    return std::make_unique<Rearrange>(operation);
}

}  // namespace infini::vendor_runtime::kunlun
