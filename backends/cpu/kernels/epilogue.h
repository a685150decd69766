// The epilogue of a kernel: a map over its result, evaluated on runs of elements while they are in
// registers or L1.
//
// An interface, because instruction sets that only add matrix products have no programs of their
// own: they use those of the best other set.
#pragma once

#include "kernel.h"

namespace infini::cpu {

class EpiloguePlan : public Plan {
public:
    static constexpr int64_t kMost = 128;  // elements in a run

    // State shared by all threads of a launch.
    class Launch {
    public:
        // Takes `n` values of the result, starting at [member, row, column]; a run may continue
        // into the next member. Evaluates the program on them and writes its outputs.
        virtual void operator()(const float *values, int64_t member, int64_t row, int64_t column,
                                int64_t n) const = 0;

    protected:
        ~Launch() = default;
    };

    // Calls `body` with a launch.
    virtual void launch(const Arguments &arguments,
                        void (*body)(const void *context, const Launch &launch),
                        const void *context) const = 0;
    void run(const Arguments &) const override {}
};

Planner find_planner(const char *operation);  // of the best instruction set that has one

// Plans an operation whose program is an epilogue; its tensor 0, of two or three dimensions, is the
// kernel's result. Null if the map has another shape or is not in floating point.
inline std::shared_ptr<const EpiloguePlan> plan_epilogue(const Operation &operation) {
    const Planner planner = find_planner("epilogue");
    std::unique_ptr<Plan> plan = planner ? planner(operation) : nullptr;
    return std::shared_ptr<const EpiloguePlan>(static_cast<const EpiloguePlan *>(plan.release()));
}

}  // namespace infini::cpu
