// One rank of a communicator, and its operations with the others.
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

class Communicator {
public:
    virtual ~Communicator() = default;

    // Runs a group. Called by one thread at a time.
    virtual bool run(const InfiniCollective *work, size_t count) = 0;
    // Makes all pending operations fail soon, here and on other ranks. Called by any thread.
    virtual void fail(const std::string &reason) = 0;
    // The reason of failure; empty: usable.
    virtual std::string failure() = 0;
    virtual void set_timeout(double seconds) = 0;
};

// ---- Ranks that share memory --------------------------------------------------------------------

// The memory of a world, and the ranks of this process that use it.
struct Ground {
    Ground(void *memory, size_t bytes, int ranks, bool shared)
        : world(memory, ranks, shared), memory(memory), bytes(bytes) {}
    ~Ground();

    World world;
    void *memory;
    size_t bytes;
};

// Opens the memory of a name, or creates it if it does not exist: new memory is all zero, the
// initial state of a world.
std::shared_ptr<Ground> open_ground(const std::string &name, int ranks, std::string *problem);
// In one process.
std::shared_ptr<Ground> make_ground(int ranks);
bool take_seat(World &world, int rank, std::string *problem);

class SharedCommunicator final : public Communicator {
public:
    SharedCommunicator(std::shared_ptr<Ground> ground, int rank, double timeout);
    ~SharedCommunicator() override;

    // Waits until all ranks have joined, or sets *elsewhere if some are on other hosts.
    bool assemble(bool *elsewhere);
    // One collective, as a part of the announced operation.
    bool collective(const InfiniCollective &work, const Announcement &announced);

    bool run(const InfiniCollective *work, size_t count) override;
    void fail(const std::string &reason) override { world().fail(reason); }
    std::string failure() override { return world().reason(); }
    void set_timeout(double seconds) override { timeout_.store(seconds); }

    World &world() { return ground_->world; }
    int rank() const { return rank_; }

private:
    friend class Exchange;

    std::shared_ptr<Ground> ground_;
    const int rank_;
    std::atomic<double> timeout_;
    bool direct_ = false;  // all ranks are in this process: they read each other's memory
    std::mutex lock_;
    uint32_t phase_ = 0;
    uint64_t number_ = 0;  // of operations so far
    unsigned turn_ = 0;    // of the chunks that were written
};

// All sends and receives of a group, side by side.
bool exchange_messages(World &world, int rank, double timeout, bool direct,
                       const std::vector<const InfiniCollective *> &messages);

// ---- All kinds of communicators
// ------------------------------------------------------------------------------------

const char *kind_name(int kind);
size_t element_bytes(int dtype);

// The announcement of an operation, and the message for two that differ.
Announcement announcement_of(const InfiniCollective &work, int ranks, uint64_t number);
std::string description(const Announcement &announced);
std::string difference(int low, const Announcement &one, int high, const Announcement &other);

}  // namespace infini::cpu::collectives
