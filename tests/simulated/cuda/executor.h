// The state of the running grid, and the functions of the simulation that use it.
#pragma once

#include <pthread.h>

#include <mutex>
#include <vector>

#include "fiber.h"
#include "grid.h"

namespace simulated {

constexpr unsigned kBarriers = 16, kThreads = 1024, kLanes = 64;
constexpr unsigned kMaxShared = 227 << 10;  // that a launch can ask for
constexpr size_t kCanary = 4096;            // guard bytes after the dynamic shared memory
constexpr unsigned char kUntouched = 0xee;
constexpr unsigned long long kPatience = 4'000'000;  // turns without progress

// Lanes of a warp in a collective operation.
struct Meeting {
    Together what;
    unsigned long long mask, arrived;
    unsigned readers;
    unsigned char data[kLanes][kLaneBytes];
};

enum class Doing { kReady, kMeeting, kBarrier, kEnded };

struct Copy {
    void *to;
    const void *from;
    unsigned bytes, valid;
    unsigned group;
};

struct Fiber {
    void *stack = nullptr;  // null: starts from the beginning
    unsigned index = 0;
    Position position{};
    Doing doing = Doing::kReady;
    Meeting *meeting = nullptr;  // waits in it
    Meeting *held = nullptr;     // may still read from it
    unsigned barrier = 0, result = 0;
    std::vector<Copy> copies;  // in flight
    unsigned group = 0;        // of the copies that begin now
};

struct Warp {
    unsigned long long lanes = 0, ended = 0;
    std::vector<Meeting *> open;
};

struct Barrier {
    unsigned expected = 0, arrived = 0, sum = 0;
    std::vector<Fiber *> waiting;
};

struct Executor {
    std::mutex lock;
    const Launch *launch = nullptr;
    State *state = nullptr;
    unsigned threads = 0, ended = 0;
    std::vector<Fiber> fibers{kThreads};
    std::vector<Warp> warps{kThreads / 32};
    unsigned warp = 32;  // the kernel's warp size
    Barrier barriers[kBarriers];
    std::vector<Fiber *> queue;  // who can run, from `next` on
    size_t next = 0;
    std::vector<Meeting *> spare;
    Stacks stacks;
    Fiber *running = nullptr;
    void *scheduler = nullptr;
    pthread_t thread{};
    int failed = 0;
    unsigned long long turns = 0, progress = 0;
    unsigned char *arena = nullptr;
};

Executor &executor();

// ---- reports.cc ---------------------------------------------------------------------------------

// The error and its location.
void report(const char *text);
// The states of all threads in a deadlock.
void report_all();
// Ends the launch from inside a fiber.
[[noreturn]] void stop(int code, const char *text);

// ---- services.cc --------------------------------------------------------------------------------

extern const Services kServices;
// It can run again.
void ready(Fiber &fiber);
// The running thread has ended; another one uses its stack in the next block.
void end_thread(Fiber &fiber);

// INFINI_SIMULATED_ORDER: forward, reverse, random or random:SEED. Correct kernels give the same
// results in any order. Random threads also stop anywhere, if the kernel was compiled with checks.
enum class Order { kForward, kReverse, kRandom };
Order order();
unsigned random_number();

// ---- checks.cc ----------------------------------------------------------------------------------

void check_access(unsigned long address, unsigned long bytes, bool write);
void check_type(const char *file, unsigned line, unsigned long address, unsigned alignment);
// Before a thread continues: it may access only its own stack.
void begin_checks(Fiber &fiber);

// ---- faults.cc ----------------------------------------------------------------------------------

// Signals that a kernel causes end its launch, not the process.
void watch_signals();

}  // namespace simulated
