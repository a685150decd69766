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

class Communicator {
public:
    virtual ~Communicator() = default;

    // Does a group. One at a time.
    virtual bool run(const InfiniCollective *work, size_t count) = 0;
    // Makes everything that waits in it fail soon, here and on other ranks. Any thread.
    virtual void fail(const std::string &reason) = 0;
    // Why it can't be used any more; empty: it can.
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

// The memory of a name, which whoever comes first makes: fresh memory is all zero, which is how a
// world begins.
std::shared_ptr<Ground> open_ground(const std::string &name, int ranks, std::string *problem);
// In one process.
std::shared_ptr<Ground> make_ground(int ranks);
bool take_seat(World &world, int rank, std::string *problem);

class SharedCommunicator final : public Communicator {
public:
    SharedCommunicator(std::shared_ptr<Ground> ground, int rank, double timeout);
    ~SharedCommunicator() override;

    // Waits for all ranks to have joined. Some may be elsewhere: then *elsewhere is set instead.
    bool assemble(bool *elsewhere);
    // One collective, which is a part of what was announced.
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
    unsigned turn_ = 0;    // of the pieces that were put down
};

// All sends and receives of a group, side by side.
bool exchange_messages(World &world, int rank, double timeout, bool direct,
                       const std::vector<const InfiniCollective *> &messages);

// ---- For all ------------------------------------------------------------------------------------

const char *kind_name(int kind);
size_t element_bytes(int dtype);

// The announcement of an operation, and how to say that two of them differ.
Announcement announcement_of(const InfiniCollective &work, int ranks, uint64_t number);
std::string description(const Announcement &announced);
std::string difference(int low, const Announcement &one, int high, const Announcement &other);

}  // namespace infini::cpu::collectives
