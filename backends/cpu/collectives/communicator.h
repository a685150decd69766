// One rank of a communicator, and what it does with the others.
#pragma once

#include <infini/collectives.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reduce.h"
#include "world.h"

namespace infini::cpu::collectives {

// The memory of a world, and the ranks of this process that use it.
struct Ground {
    Ground(void *memory, size_t bytes, int ranks, bool shared)
        : world(memory, ranks, shared), memory(memory), bytes(bytes) {}
    ~Ground();

    World world;
    void *memory;
    size_t bytes;
};

class Communicator {
public:
    Communicator(std::shared_ptr<Ground> ground, int rank, double timeout);
    ~Communicator();

    // Waits for all ranks to have joined.
    bool assemble();
    // Does a group. One at a time.
    bool run(const InfiniCollective *work, size_t count);

    World &world() { return ground_->world; }
    int rank() const { return rank_; }
    void set_timeout(double seconds) { timeout_.store(seconds); }

private:
    friend class Exchange;
    bool collective(const InfiniCollective &work);

    std::shared_ptr<Ground> ground_;
    const int rank_;
    std::atomic<double> timeout_;
    bool direct_ = false;  // all ranks are in this process: they read each other's memory
    std::mutex lock_;
    uint32_t phase_ = 0;
    uint64_t number_ = 0;  // of operations so far
    unsigned turn_ = 0;    // of the pieces that were put down
};

// All sends and receives of a group, side by side.
bool exchange_messages(World &world, int rank, double timeout, bool direct,
                       const std::vector<const InfiniCollective *> &messages);

const char *kind_name(int kind);
size_t element_bytes(int dtype);

}  // namespace infini::cpu::collectives
