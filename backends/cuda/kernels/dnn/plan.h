// The choice of an engine for a graph.
#pragma once

#include <string>
#include <vector>

#include "kernels/dnn/graph.h"

namespace infini::cuda::dnn {

// A plan for a graph of these operations, which belongs to the session's handle: the first engine
// that respects the limits. Further objects have to live as long. `text` describes the graph, as a
// cache key. Throws Declined.
std::vector<Object> make_plan_of(const std::vector<void *> &operations, const std::string &text,
                                 const Limits &limits, Session &session);

}  // namespace infini::cuda::dnn
