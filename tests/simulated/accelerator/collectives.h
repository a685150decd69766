// Simulated collectives: shared by the simulated HCCL, CNCL and BKCL.
//
// Ranks, of one process or of several, meet in a folder of /dev/shm: each posts its data as a file,
// and waits for those of the others. Strict: ranks that call different things, lengths that differ,
// and messages to oneself are reported as misuses.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "core.h"

namespace simulated {

enum class Kind { kAllReduce, kReduce, kBroadcast, kAllGather, kReduceScatter, kSend, kReceive };

struct Collective {
    Kind kind;
    const void *send = nullptr;
    void *recv = nullptr;
    size_t count = 0;
    int dtype = 0;  // infiniDtype_t
    int op = 0;     // infinicclReduceOp_t
    int root = 0;   // or the other rank
};

struct Communicator {
    int device = 0, ranks = 0, rank = 0;
    std::string folder;
    std::atomic<bool> aborted{false};
    long number = 0;                            // number of completed collectives
    std::map<std::pair<int, int>, long> sent;   // of messages, by from and to
    std::map<std::pair<int, int>, long> taken;  // the same, of those that were received
};

// Fills `bytes` of an id, all of which must be transferred.
SIMULATED void make_id(void *id, size_t bytes);
// Waits for all ranks; null: the id is unknown, or a rank did not join.
SIMULATED Communicator *join(const void *id, size_t bytes, int device, int ranks, int rank);
// All ranks of one process.
SIMULATED bool join_all(int ranks, const int *devices, void **communicators);
SIMULATED bool leave(Communicator *communicator);
SIMULATED bool abort(Communicator *communicator);

// A library's numbers of types, reductions and status codes.
struct Numbers {
    std::vector<std::pair<int, int>> types;  // the library's number, infiniDtype_t
    int sum, prod, max, min;
    int wrong, failed;  // codes: of arguments, of anything else
};

// Enqueues into the stream, or into the thread's group, whose operations begin together.
// `function`: the library's, which is counted.
SIMULATED int collect(const Numbers &numbers, const char *function, void *communicator,
                      void *stream, Collective work, int type, int reduction);
SIMULATED void start_group();
SIMULATED int end_group(int failure);

}  // namespace simulated
