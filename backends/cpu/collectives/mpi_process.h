// This process as one of an MPI job.
//
// MPI is started, and ended, by a thread of its own: starting waits for all processes of the job,
// which is given up after a time, and the thread that starts MPI has to be the one that ends it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "mpi_library.h"

namespace infini::cpu::collectives {

class MpiProcess {
public:
    using Handle = MpiLibrary::Handle;
    // Tags: for tables, for broadcasts, and two for each communicator.
    static constexpr int kTableTag = 0, kBroadcastTag = 1, kFirstTag = 2;
    static constexpr size_t kMostBytes = 4096;  // of a small message

    // Starts MPI unless that has been done; null with the reason when it can't be used. Zero
    // seconds: for ever.
    static MpiProcess *start(double timeout, std::string *problem);

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    const MpiLibrary &library() const { return library_; }
    Handle comm() const { return comm_; }
    // Held during each call of MPI: it does not end meanwhile, and some allow only one call at a
    // time. False when it has ended.
    struct Turn {
        std::shared_lock<std::shared_mutex> open;
        std::unique_lock<std::mutex> only;
        bool usable;
        explicit operator bool() const { return usable; }
    };
    Turn turn();
    // False: the program has ended MPI, or this is a fork of the process that has it.
    bool is_usable() { return bool(turn()); }

    // A number that no two communicators have that this process begins: see tag_of.
    int new_channel();
    static int tag_of(int channel) { return kFirstTag + 2 * channel; }

    // Sends a small message, without waiting for anything.
    void post(int to, int tag, const void *data, size_t bytes);
    // Takes a small message, if one has come: false where none has.
    bool take(int from, int tag, void *data, size_t bytes);

    // Small messages that will come although nobody waits for them: they are taken at some time,
    // because MPI does not like to end with messages that were never received.
    void expect(int tag, int messages);
    void collect();

    // Something is broken: at the end, others are not waited for long.
    void note_failure() { failed_ = true; }
    // A process of the job is dead: at the end, others are not waited for at all.
    void note_loss() { has_lost_ = true; }
    // What is posted to others when this process ends, unless it is withdrawn before.
    struct Farewell {
        int tag;
        std::vector<int> to;
        std::vector<unsigned char> message;
    };
    void add_farewell(const Farewell *farewell);
    void remove_farewell(const Farewell *farewell);

private:
    MpiProcess() = default;
    static MpiProcess &get();
    void keep();                       // the thread that starts and ends MPI
    bool begin(std::string *problem);  // collective in all processes of the job
    void end(int status);              // at the end of the process
    void take_leave();
    bool is_alive() const;  // neither ended by the program nor in a fork
    void sweep();           // forgets messages that are sent

    MpiLibrary library_;
    Handle comm_ = nullptr;
    int rank_ = 0, ranks_ = 1, channels_ = 1, next_channel_ = 0;
    bool one_at_a_time_ = false, is_ours_ = false;
    std::atomic<bool> failed_ = false, has_lost_ = false, is_fork_ = false;

    enum State { kNew, kStarting, kReady, kBroken, kEnding, kEnded };
    std::mutex lock_;  // of what follows
    std::condition_variable changed_;
    State state_ = kNew;
    std::string problem_;

    std::shared_mutex open_;  // exclusively: MPI ends
    bool is_over_ = false;
    std::mutex turn_;

    struct Posted {
        Handle request;
        std::vector<unsigned char> data;
    };
    std::mutex posted_lock_;
    std::vector<std::unique_ptr<Posted>> posted_;
    std::vector<const Farewell *> farewells_;
    std::map<int, int> expected_;  // messages by tag
};

// Pauses that grow: a core is not burned for long while nothing happens.
class Idling {
public:
    void pause();
    void reset() { rounds_ = 0; }

private:
    unsigned rounds_ = 0;
    int64_t began_ = 0;
};

}  // namespace infini::cpu::collectives
