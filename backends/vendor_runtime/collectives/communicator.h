// One rank of the vendor's communicator.
//
// The core calls run() in the order of the client's streams, on a thread that may block. The
// vendor's functions get a stream that is the communicator's own, and run() waits for it: so a rank
// that never joins blocks neither the client's streams nor the process, even with a library that
// cannot abort.
//
// Ownership: the core's handle holds it. The vendor's communicators of a process are destroyed
// together when the last of them is closed, because in some libraries the first waits for the
// others. After a failure they are aborted if the library can, else leaked.
#pragma once

#include <infini/collectives.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/vendor_runtime/stream.h"
#include "numbers.h"

namespace infini::vendor_runtime::collectives {

class Communicator;

// The ranks of one communicator that are in this process.
struct World {
    std::mutex lock;
    std::vector<std::weak_ptr<Communicator>> ranks;
    std::vector<std::shared_ptr<Communicator>> left;  // that wait for the others

    static std::shared_ptr<World> of(uint64_t nonce);
    std::vector<std::shared_ptr<Communicator>> all();
};

class Communicator {
public:
    Communicator(int device, int ranks, int rank, double timeout, std::shared_ptr<World> world)
        : device(device), ranks(ranks), rank(rank), timeout(timeout), world(std::move(world)) {}

    // Creates the stream, once the vendor's handle exists.
    infiniStatus_t settle();
    // NotImplemented for collectives that the core composes, before anything is enqueued.
    infiniStatus_t run(const InfiniCollective *work, size_t count);
    // Exchanges host bytes of all ranks.
    infiniStatus_t share(const void *mine, void *all, size_t bytes);
    // Records the first failure. Threads that wait in run() return.
    void fail(infiniStatus_t status, const std::string &sentence);
    infiniStatus_t state(std::string *reason);
    // Destroys the vendor's communicator, or leaks it after a failure.
    void end();

    const int device, ranks, rank;
    std::atomic<double> timeout;
    void *handle = nullptr;
    const std::shared_ptr<World> world;

private:
    struct Batch;

    infiniStatus_t issue(Batch &batch);
    infiniStatus_t send_and_receive(const std::vector<InfiniCollective> &messages);
    infiniStatus_t call_vendor(Word word, const InfiniCollective &work, Form form);
    infiniStatus_t wait(const std::string &what);
    infiniStatus_t combine(const InfiniCollective &work, const void *gathered);
    infiniStatus_t failed_call(int code, Word word);
    infiniStatus_t failed_copy();

    std::mutex turn_;
    void *stream_ = nullptr;
    std::mutex lock_;
    infiniStatus_t failure_ = INFINI_STATUS_SUCCESS;
    std::string reason_;
    std::atomic<bool> broken_{false};
};
using CommunicatorPointer = std::shared_ptr<Communicator>;

// Sets the message and returns the error.
infiniStatus_t refuse(infiniStatus_t status, const std::string &sentence);
std::string words(int code, Word word);

}  // namespace infini::vendor_runtime::collectives

struct InfiniCommunicator {
    infini::vendor_runtime::collectives::CommunicatorPointer held;
};
