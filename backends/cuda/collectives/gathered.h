// Reductions that the library does not support, or computes incorrectly: the elements of all ranks
// are gathered, and our own kernel reduces them.
#pragma once

#include "collectives/communicator.h"
#include "kernel.h"

namespace infini::cuda::collectives {

class Gathered {
public:
    Gathered(const Communicator &communicator, const InfiniCollective &work);
    Gathered(const Gathered &) = delete;
    ~Gathered();  // frees the memory, in the stream

    // Allocates memory in the stream, and loads the kernel. Called before the group.
    infiniStatus_t begin();
    // Called inside the group; returns the library's code.
    int call(Handle handle) const;
    // Called after the group.
    infiniStatus_t end();

private:
    infinirtStream_t stream() const { return static_cast<infinirtStream_t>(work_.stream); }

    const int device_, ranks_, rank_;
    const InfiniCollective work_;
    const size_t bytes_;  // bytes per rank
    std::shared_ptr<const Kernel> kernel_;
    void *memory_ = nullptr;
};

}  // namespace infini::cuda::collectives
