// Messages between ranks that share no memory. TCP and MPI are the two ways: tcp.h and mpi.h.
//
// Only the thread that works for a communicator calls these, one at a time; wake() may be called
// by any. Messages from one rank to another arrive whole, and in the order in which they were
// begun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace infini::cpu::collectives {

// One message on its way. It stays where it is until it is done, or tell() has been called.
struct Transfer {
    int peer = 0;  // the rank that it goes to or comes from, never this one
    bool sends = false;
    void *data = nullptr;
    size_t bytes = 0;   // of the message; for one that comes: the most that it may have
    bool done = false;  // the links set it, and how many bytes came
    size_t came = 0;
    uint64_t private_[3] = {};  // the links' own
};

class Links {
public:
    virtual ~Links() = default;

    // Starts sending or receiving. Never blocks, never fails: what is wrong shows in gone() and
    // told().
    virtual void begin(Transfer &transfer) = 0;
    // Moves what can be moved. When nothing can, waits for something to happen, `milliseconds` at
    // most. True: something moved.
    virtual bool progress(int milliseconds) = 0;
    // Lets a progress() of another thread return soon.
    virtual void wake() = 0;

    // Tells all others that the communicator failed, or, without a reason, that this rank leaves
    // it. What is on its way is over: neither transfers nor their memory are touched after this,
    // and no more are begun. It may take a moment, and is lost where nobody listens any more.
    virtual void tell(const std::string &reason) = 0;
    // Whether it may read the memory of a send that was given up.
    virtual bool reads_late() const = 0;

    // Why nothing more will come from a rank: "rank 3 (process 17) has died", "rank 3 has left the
    // communicator"; empty: nothing is known against it. What it sent before has come.
    virtual std::string gone(int peer) = 0;
    // The reason that another rank reported; empty: none did.
    virtual std::string told() = 0;
};

// What the ranks of a communicator know of each other before they can talk.
struct Member {
    uint64_t host = 0;  // ranks of the same host share memory
    int32_t process = 0;
    int32_t world_rank = -1;  // in the MPI world, where it is used
    enum Wish : uint32_t { kAny, kShared, kTcp, kMpi };
    uint32_t wish = kAny;            // INFINI_CCL_TRANSPORT
    unsigned char address[28] = {};  // of TCP: a sockaddr_in or sockaddr_in6
};

}  // namespace infini::cpu::collectives
