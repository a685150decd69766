// This process as one of an MPI job.
//
// MPI is started, and ended, by a thread of its own: starting waits for all processes of the job,
// which is given up after a time, and the thread that starts MPI has to be the one that ends it.
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
// pointers in all of them: where they are ints, these lie in the lower half, which is what the
// library reads and writes on the machines that we run on.
struct MpiLibrary {
    using Handle = void *;

    // False with the reason where there is none that fits what started this process.
    bool open(std::string *problem);
    // What the library says of an error.
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

// Was this process started by a launcher of MPI?
bool mpi_is_launched();
// How many processes the launcher started, in all and on this host; 0 where it does not say.
int mpi_launched_processes();
int mpi_processes_of_this_host();
// Has the program itself started an MPI that we know?
bool mpi_is_initialized();

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
