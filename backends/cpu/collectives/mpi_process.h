// This process as a member of an MPI job.
//
// A separate thread initializes and finalizes MPI: initialization waits for all processes of the
// job, with a time-out, and the thread that initializes MPI must also finalize it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace infini::cpu::collectives {

// MPI's library, opened at run time.
//
// Three ABIs are known: the standard one, MPICH's own, and Open MPI's. Handles are passed as
// pointers in all of them: where they are ints, these are the lower half, which the library reads
// and writes on the supported machines.
struct MpiLibrary {
    using Handle = void *;

    // False with the reason if there is none that matches the launcher of this process.
    bool open(std::string *problem);
    // The library's text for an error.
    std::string error_text(int code) const;

    int (*Initialized)(int *) = nullptr;
    int (*Finalized)(int *) = nullptr;
    int (*Init_thread)(int *, char ***, int, int *) = nullptr;
    int (*Query_thread)(int *) = nullptr;
    int (*Finalize)() = nullptr;
    int (*Comm_rank)(Handle, int *) = nullptr;
    int (*Comm_size)(Handle, int *) = nullptr;
    int (*Comm_dup)(Handle, Handle *) = nullptr;
    int (*Comm_get_attr)(Handle, int, void *, int *) = nullptr;
    int (*Comm_set_errhandler)(Handle, Handle) = nullptr;
    int (*Isend)(const void *, int, Handle, int, int, Handle, Handle *) = nullptr;
    int (*Irecv)(void *, int, Handle, int, int, Handle, Handle *) = nullptr;
    int (*Improbe)(int, int, Handle, int *, Handle *, void *) = nullptr;
    int (*Mrecv)(void *, int, Handle, Handle *, void *) = nullptr;
    int (*Test)(Handle *, int *, void *) = nullptr;
    int (*Get_count)(const void *, Handle, int *) = nullptr;
    int (*Cancel)(Handle *) = nullptr;
    int (*Request_free)(Handle *) = nullptr;
    int (*Error_string)(int, char *, int *) = nullptr;

    Handle world = nullptr, self = nullptr, byte = nullptr, errors_return = nullptr,
           null_request = nullptr;
    void *status_ignore = nullptr;
    int any_source = -1, tag_limit_key = 0;
    int serialized = 2, multiple = 3;  // kinds of thread support
    std::string name;                  // of the file

private:
    bool find_functions(std::string *problem);
    bool find_constants(std::string *problem);

    void *library_ = nullptr;
};

// Whether this process was started by an MPI launcher.
bool mpi_is_launched();
// The number of processes that the launcher started, in all and on this host; 0 if unknown.
int mpi_launched_processes();
int mpi_processes_of_this_host();
// Whether the program itself has initialized a known MPI.
bool mpi_is_initialized();

class MpiProcess {
public:
    using Handle = MpiLibrary::Handle;
    // Tags: for tables, for broadcasts, and two for each communicator.
    static constexpr int kTableTag = 0, kBroadcastTag = 1, kFirstTag = 2;
    static constexpr size_t kMostBytes = 4096;  // of a small message

    // Initializes MPI if necessary; null with the reason if it cannot be used. Zero seconds: no
    // time-out.
    static MpiProcess *start(double timeout, std::string *problem);

    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    const MpiLibrary &library() const { return library_; }
    Handle comm() const { return comm_; }
    // Held during each MPI call: prevents finalization, and serializes calls where MPI requires it.
    // False when MPI has been finalized.
    struct Turn {
        std::shared_lock<std::shared_mutex> open;
        std::unique_lock<std::mutex> only;
        bool usable;
        explicit operator bool() const { return usable; }
    };
    Turn turn();
    // False: the program has finalized MPI, or this is a fork of the process that uses it.
    bool is_usable() { return bool(turn()); }

    // A number that is unique among the communicators created by this process: see tag_of.
    int new_channel();
    static int tag_of(int channel) { return kFirstTag + 2 * channel; }

    // Sends a small message, without waiting for anything.
    void post(int to, int tag, const void *data, size_t bytes);
    // Receives a small message, if one has arrived; else false.
    bool take(int from, int tag, void *data, size_t bytes);

    // Small messages that will arrive although nobody waits for them: they are received eventually,
    // because finalizing MPI with unreceived messages is unsafe.
    void expect(int tag, int messages);
    void collect();

    // After a failure, finalization does not wait long for the others.
    void note_failure() { failed_ = true; }
    // After the death of a process, finalization does not wait for the others at all.
    void note_loss() { has_lost_ = true; }
    // A message to send to others when this process ends, unless it is withdrawn before.
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
    void keep();                       // the thread that initializes and finalizes MPI
    bool begin(std::string *problem);  // collective in all processes of the job
    void end(int status);              // at the end of the process
    void take_leave();
    bool is_alive() const;  // neither finalized by the program nor in a fork
    void sweep();           // discards sent messages

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

    std::shared_mutex open_;  // exclusively: finalization
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

// Pauses of increasing length, to avoid burning a core while nothing happens.
class Idling {
public:
    void pause();
    void reset() { rounds_ = 0; }

private:
    unsigned rounds_ = 0;
    int64_t began_ = 0;
};

}  // namespace infini::cpu::collectives
