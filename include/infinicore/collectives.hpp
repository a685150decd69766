// Collectives on tensors: run in the stream of the tensors' device, or recorded into a graph.
#pragma once

#include <stdexcept>

#include "infini/collectives.h"
#include "infiniccl.h"
#include "tensor.hpp"

namespace infinicore::collectives {

// A collective failed in its stream. Every wait for a device of that type and every read of a
// tensor throws this, until the communicator is closed.
class INFINI_EXPORT Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// One rank's part of an operation. `send` and `recv` may be the same tensor, or empty: SEND has no
// `recv`, RECEIVE no `send`, and only the root of GATHER and SCATTER has the whole tensor.
struct Collective {
    InfiniCollectiveKind kind;
    Tensor send, recv;
    infinicclComm_t comm;
    infinicclReduceOp_t op = INFINICCL_SUM;
    int root = 0;  // or the other rank of a SEND or RECEIVE
};

//     run({INFINI_ALL_REDUCE, x, x, comm});
// A recorded collective runs in every replay, in order with the operators; all ranks must replay
// the same collectives in the same order. Failures are reported by the next replay, and by
// infinicclCommGetAsyncError.
INFINI_EXPORT void run(const Collective &collective);

// Collectives of this thread in between run together: needed if one thread drives several ranks,
// and for messages that depend on each other. In a recording they are one step.
INFINI_EXPORT void groupStart();
INFINI_EXPORT void groupEnd();

}  // namespace infinicore::collectives
