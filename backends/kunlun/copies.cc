#include "backends/kunlun/copies.h"

#include "backends/vendor_runtime/cache_plan.h"

namespace infini::vendor_runtime::kunlun {
namespace {

constexpr int64_t kMostRuns = 65536;

// A strided tensor and its copy as runs of elements that are contiguous in both.
struct Runs {
    Runs(const Shape &to, const Shape &from)
        : to(to), from(from), element(int64_t(infiniSizeOf(infiniDtype_t(to.dtype)))) {
        outer = to.ndim;
        while (outer > 0 && to.stride[outer - 1] == run && from.stride[outer - 1] == run)
            run *= to.size[--outer];
        for (int i = 0; i < outer; ++i) count *= to.size[i];
        if (run * count == 0) count = 0;
    }

    int copy(void *stream, void *target, const void *source, const char **called) const {
        *called = "xpu_memcpy_async";
        Values values;
        values.stream = stream;
        values.bytes = size_t(run * element);
        values.direction = vendor.directions.device_to_device;
        for (int64_t i = 0; i < count; ++i) {
            int64_t rest = i, there = 0, here = 0;
            for (int d = outer - 1; d >= 0; --d) {
                there += rest % to.size[d] * to.stride[d];
                here += rest % to.size[d] * from.stride[d];
                rest /= to.size[d];
            }
            values.dst = static_cast<char *>(target) + there * element;
            values.src = static_cast<const char *>(source) + here * element;
            if (int code = call(Word::kMemcpyAsync, values)) return code;
        }
        return 0;
    }

    Shape to, from;
    int64_t element;
    int outer = 0;
    int64_t run = 1, count = 1;  // elements of a run, and the number of runs
};

void need_copies(const Operation &operation) {
    if (!has(Word::kMemcpyAsync))
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                      std::string(operation.name()) + ": the XPU runtime has no xpu_memcpy_async"};
}

class Rearrange final : public LibraryPlan {
public:
    explicit Rearrange(const Operation &operation)
        : runs_(operation.tensor(0), operation.tensor(1)) {
        need_copies(operation);
        if (runs_.count > kMostRuns)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED,
                          "rearrange: xpu_memcpy_async takes elements that lie side by side, and "
                          "these are in " +
                              std::to_string(runs_.count) +
                              " places: " + std::to_string(kMostRuns) + " at most"};
    }

    int run(void *stream, const Arguments &arguments, const char **called) const override {
        return runs_.copy(stream, arguments.pointer<void>(0), arguments.pointer<void>(1), called);
    }

private:
    const Runs runs_;
};

}  // namespace

std::unique_ptr<LibraryPlan> plan_rearrange(const Operation &operation) {
    return std::make_unique<Rearrange>(operation);
}

std::unique_ptr<LibraryPlan> plan_write(int device, const Operation &operation) {
    need_copies(operation);
    return plan_cache_write(
        device, operation,
        [](void *stream, const Shape &to, void *to_data, const Shape &from, const void *from_data,
           void *,
           const char **called) { return Runs(to, from).copy(stream, to_data, from_data, called); },
        0);
}

}  // namespace infini::vendor_runtime::kunlun
