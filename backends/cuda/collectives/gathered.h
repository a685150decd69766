// Reductions that the library does not support, or not correctly: the elements of all ranks are
// gathered, and a kernel of ours reduces them.
#pragma once

#include "collectives/communicator.h"
#include "kernel.h"

namespace infini::cuda::collectives {

class Gathered {
public:
    Gathered(const Communicator &communicator, const InfiniCollective &work);
    Gathered(const Gathered &) = delete;
    ~Gathered();  // frees the memory, in the stream

    // Allocates memory in the stream, and loads the kernel. Before the group.
    infiniStatus_t begin();
    // Inside the group; returns the library's code.
    int call(Handle handle) const;
    // After the group.
    infiniStatus_t end();

private:
    infinirtStream_t stream() const { return static_cast<infinirtStream_t>(work_.stream); }

    const int device_, ranks_, rank_;
    const InfiniCollective work_;
    const size_t bytes_;  // of a part
    std::shared_ptr<const Kernel> kernel_;
    void *memory_ = nullptr;
};

}  // namespace infini::cuda::collectives
