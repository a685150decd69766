// What the library does not combine, or not rightly: the elements of all ranks are brought
// together, and a kernel of ours combines them.
#pragma once

#include "collectives/communicator.h"
#include "kernel.h"

namespace infini::cuda::collectives {

class Gathered {
public:
    Gathered(const Communicator &communicator, const InfiniCollective &work);
    Gathered(const Gathered &) = delete;
    ~Gathered();  // gives the memory back, in the stream

    // Memory for them, in the stream, and the kernel. Comes before the group.
    infiniStatus_t begin();
    // Inside the group: the library's code.
    int call(Handle handle) const;
    // Behind it.
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
