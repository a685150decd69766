// The engine of gather programs, as generated planners see it. See
// spec/operators/language/gather.py.
#pragma once

#include <iterator>

#include "device/window/gather_params.h"
#include "gather_case.h"
#include "kernel.h"

namespace infini::cuda {

// A way through a definition.
struct GatherForm {
    int rank;          // named dimensions of the output
    int coordinates;   // as many, or more when dimensions are split
    const char *text;  // what the attribute of the case must be; null or kAnyCase: anything
    int64_t value;
    void (*split)(const Gather &, int64_t *sizes, int *dims);
    bool moves, exact;    // elements are only moved; F32 may be computed in F32
    const char *element;  // device code
};

std::unique_ptr<Plan> plan_gather(const Operation &operation, Device &device,
                                  const GatherInfo &info, const GatherForm *forms, size_t count);

}  // namespace infini::cuda
