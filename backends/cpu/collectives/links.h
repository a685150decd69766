// Messages between ranks that share no memory, over TCP (tcp.h) or MPI (mpi.h).
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

// One pending message. The object must not move until the message is done, or tell() has been
// called.
struct Transfer {
    int peer = 0;  // the rank that it goes to or comes from, never this one
    bool sends = false;
    void *data = nullptr;
    size_t bytes = 0;   // of the message; for a receive: the maximum
    bool done = false;  // set by the links, with the number of bytes received
    size_t came = 0;
    uint64_t private_[3] = {};  // for use by the links
};

class Links {
public:
    virtual ~Links() = default;

    // Starts sending or receiving. Never blocks and never fails: errors are reported by gone() and
    // told().
    virtual void begin(Transfer &transfer) = 0;
    // Makes progress. If none is possible, waits for an event, at most `milliseconds`. True: there
    // was progress.
    virtual bool progress(int milliseconds) = 0;
    // Makes a progress() of another thread return soon.
    virtual void wake() = 0;

    // Tells all others that the communicator failed, or, without a reason, that this rank leaves
    // it. Pending messages are cancelled: neither transfers nor their memory are accessed after
    // this, and no more are begun. It may block briefly, and is lost if the receiver has gone.
    virtual void tell(const std::string &reason) = 0;
    // Whether the memory of a cancelled send may still be read.
    virtual bool reads_late() const = 0;

    // The reason why a rank will send nothing more: "rank 3 (process 17) has died", "rank 3 has
    // left the communicator"; empty: none is known. Everything that it sent before has arrived.
    virtual std::string gone(int peer) = 0;
    // The failure that another rank reported; empty: none did.
    virtual std::string told() = 0;
};

// What the ranks of a communicator know of each other before they connect.
struct Member {
    uint64_t host = 0;  // ranks of the same host share memory
    int32_t process = 0;
    int32_t world_rank = -1;  // in the MPI world, where it is used
    enum Wish : uint32_t { kAny, kShared, kTcp, kMpi };
    uint32_t wish = kAny;            // INFINI_CCL_TRANSPORT
    unsigned char address[28] = {};  // of TCP: a sockaddr_in or sockaddr_in6
};

}  // namespace infini::cpu::collectives
