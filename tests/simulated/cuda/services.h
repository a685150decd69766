// The interface between a compiled kernel and the simulation: the state of the running thread, and
// the services. Included by both.
#pragma once

namespace simulated {

// The version of this file: a kernel that was compiled with another one is not loaded.
constexpr unsigned kServicesVersion = 6;

struct Position {
    unsigned x, y, z;
};

// Collective operations of a warp: all lanes must request the same one.
enum class Together : int { kSync, kShuffle, kVote, kMatch, kReduce, kMatrix };

struct Services {
    // Waits until all lanes of `mask` have arrived with the same `what`. Returns an array of what
    // each brought, an entry of kLaneBytes for each lane, valid until this thread's next call of
    // any service.
    const unsigned char *(*exchange)(Together what, unsigned long long mask, const void *mine,
                                     unsigned bytes);
    // Waits at one of 16 barriers until `count` threads (0: all of the block) arrive. Returns the
    // sum of what they brought.
    unsigned (*barrier)(unsigned id, unsigned count, unsigned value);
    // Arrives at a barrier without waiting.
    void (*arrive)(unsigned id, unsigned count);
    // Yields to all others, in a loop that waits for something.
    void (*yield)();
    // cp.async: begins a copy whose last bytes - valid become 0; makes a group of those begun;
    // waits until at most `pending` groups are left.
    void (*copy)(void *to, const void *from, unsigned bytes, unsigned valid);
    void (*commit)();
    void (*wait_copies)(unsigned pending);
    // Kernels that are compiled with checks: an access outside state.known, or one
    // whose address does not fit the type.
    void (*check)(unsigned long address, unsigned long bytes, bool write);
    void (*mismatch)(const char *file, unsigned line, unsigned long address, unsigned alignment);
    // Yields to runnable threads, at any point.
    void (*preempt)();
    // Ends the launch.
    [[noreturn]] void (*fail)(const char *text);
};

constexpr unsigned kLaneBytes = 64;

struct Range {
    unsigned long start, end;
};

struct State {
    Position thread, block;
    Position block_size, grid_size;
    unsigned lane, thread_in_block;
    unsigned char *dynamic_shared;
    long long clock;
    unsigned long long progress;  // counts what threads that wait in a loop may be waiting for
    Services services;
    Range known[4];    // memory that the running thread may use: its stack, and what was found last
    unsigned preempt;  // a random number; 0: threads run until they wait
};

}  // namespace simulated
