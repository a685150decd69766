// An NCCL look-alike for ranks of one process: the state shared by their streams.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "infinirt_runtime_api.h"

namespace simulated::nccl {

enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kRecv };

struct Operation {
    Kind kind;
    const void *send;
    void *recv;
    size_t count;
    int type, op, peer;  // peer: or root
    infinirtStream_t stream;

    bool is_message() const { return kind == Kind::kSend || kind == Kind::kRecv; }
    bool fits(const Operation &other) const {
        return kind == other.kind && count == other.count && type == other.type && op == other.op &&
               peer == other.peer;
    }
};

struct World;

// The operations of a communicator from one GroupEnd, or from one call outside a group.
struct Batch {
    struct Communicator *communicator;
    std::vector<Operation> operations;
    bool captured = false;  // runs repeatedly, and is kept
};

struct Communicator {
    std::shared_ptr<World> world;
    int rank = 0, device = 0;
    bool blocking = true;
    infinirtStream_t stream = nullptr;  // its operations are done here, one after the other
    bool finalized = false;
    // Of the world's lock:
    bool aborted = false;
    bool connected = false;
    bool connecting = false;
    uint64_t met = 0;                             // collectives that it has done
    std::vector<std::unique_ptr<Batch>> waiting;  // until all ranks are connected
    std::vector<std::unique_ptr<Batch>> kept;
};

struct Meeting {
    std::map<int, const Operation *> come;
    bool done = false;
    int left = 0;
};

struct Message {
    const Operation *operation;
    bool taken = false;
};

struct World {
    explicit World(int ranks) : ranks(ranks), members(size_t(ranks), nullptr) {}

    std::mutex lock;
    std::condition_variable changed;
    const int ranks;
    std::vector<Communicator *> members;
    int joined = 0;
    std::map<uint64_t, Meeting> meetings;
    std::map<std::pair<int, int>, std::deque<Message *>> messages;  // by sender and receiver
};

// The body of a host function: runs a Batch, together with the other ranks'.
void run_batch(void *batch);

// Also prints errors to stderr that hardware would not report.
void complain(const std::string &sentence);

}  // namespace simulated::nccl
