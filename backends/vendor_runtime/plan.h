// Plans: of the vendor's library, or of the plain engine with operands staged to the host.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/null/interpreter.h"
#include "table.h"

struct InfiniPlan {
    // The bytes that an operand covers, relative to its pointer.
    struct Operand {
        int pointer;
        int64_t begin, end;
        bool written;
        infini::Shape shape;
        size_t element;
        bool dense;  // every byte between begin and end belongs to it
    };

    std::atomic<int> holders{1};
    int device = 0;
    std::unique_ptr<infini::vendor_runtime::LibraryPlan> library;
    // Else:
    std::unique_ptr<infini::plain::Plan> program;
    std::vector<Operand> operands;

    // Evaluates the program: copies operands to the host, and results back. Blocks.
    infinirtError_t run_on_host(void *const *pointers, size_t pointer_count,
                                const InfiniScalar *scalars, size_t scalar_count) const;
};

namespace infini::vendor_runtime {

extern const InfiniOperators operators;
void drop(InfiniPlan *plan);
inline std::shared_ptr<InfiniPlan> hold(InfiniPlan *plan) {
    ++plan->holders;
    return {plan, drop};
}

}  // namespace infini::vendor_runtime
