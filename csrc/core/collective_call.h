// The fast path of a collective, for callers that know their communicator.
#pragma once

#include "infinicore/collectives.hpp"

namespace infinicore::collectives {

constexpr int kNotEnqueued = -1;

// Enqueues it, unless a recording is active or an argument is unusual: then use run(). The status
// is that of the C function.
INFINI_EXPORT int enqueue_at_once(const Collective &collective, int ranks, int rank,
                                  const Device &device);

}  // namespace infinicore::collectives
