// Collectives on tensors: run in the stream of the tensors' device, or recorded while a graph is.
#pragma once

#include <stdexcept>

#include "infini/collectives.h"
#include "infiniccl.h"
#include "tensor.hpp"

namespace infinicore::collectives {

// A collective failed in its stream. Whatever waits for a device of its type throws this, and so
// does every read of a tensor, until the communicator is closed.
class INFINI_EXPORT Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What one rank does. `send` and `recv` may be one tensor, and an empty one is absent: SEND has no
// `recv`, RECEIVE no `send`, and of GATHER and SCATTER only the root has the whole.
struct Collective {
    InfiniCollectiveKind kind;
    Tensor send, recv;
    infinicclComm_t comm;
    infinicclReduceOp_t op = INFINICCL_SUM;
    int root = 0;  // or the other rank of a SEND or RECEIVE
};

//     run({INFINI_ALL_REDUCE, x, x, comm});
// A recorded one is done at every replay, in its place among the operators; all ranks replay graphs
// with the same collectives in the same order. What fails then is reported by the replay that finds
// it, and by infinicclCommGetAsyncError.
INFINI_EXPORT void run(const Collective &collective);

// Collectives of this thread in between are done together: where one thread serves several ranks,
// and for messages that depend on each other. In a recording they are one step.
INFINI_EXPORT void groupStart();
INFINI_EXPORT void groupEnd();

}  // namespace infinicore::collectives
