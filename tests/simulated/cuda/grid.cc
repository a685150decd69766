#include "grid.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "fiber.h"
#include "hopper.h"

namespace simulated {
namespace {

constexpr unsigned kBarriers = 16;
constexpr size_t kCanary = 4096;  // bytes behind the dynamic shared memory that are watched
constexpr unsigned char kUntouched = 0xee;
constexpr unsigned long long kPatience = 4'000'000;  // turns in which nothing happens

// Lanes of a warp that do something together.
struct Meeting {
    Together what;
    unsigned mask, arrived, readers;
    unsigned char data[32][kLaneBytes];
};

enum class Doing { kReady, kMeeting, kBarrier, kEnded };

struct Copy {
    void *to;
    const void *from;
    unsigned bytes, valid;
    unsigned group;
};

struct Fiber {
    void *stack = nullptr;  // null: begins anew
    unsigned index = 0;
    Position position{};
    Doing doing = Doing::kReady;
    Meeting *meeting = nullptr;  // waits in it
    Meeting *held = nullptr;     // may still read from it
    unsigned barrier = 0, result = 0;
    std::vector<Copy> copies;  // on their way
    unsigned group = 0;        // of the copies that begin now
};

struct Warp {
    unsigned lanes = 0, ended = 0;
    std::vector<Meeting *> open;
};

struct Barrier {
    unsigned expected = 0, arrived = 0, sum = 0;
    std::vector<Fiber *> waiting;
};

// All of it belongs to the one grid that runs.
struct Executor {
    std::mutex lock;
    const Launch *launch = nullptr;
    State *state = nullptr;
    unsigned threads = 0, ended = 0;
    std::vector<Fiber> fibers{kMaxThreads};
    std::vector<Warp> warps{kMaxThreads / kWarp};
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

// Leaked: a stream may still run while the process exits.
Executor &executor() {
    static auto *instance = new Executor;
    return *instance;
}

// ---- Reports ------------------------------------------------------------------------------------

const char *describe(const Fiber &fiber, char *buffer, size_t bytes) {
    static const char *const kWords[] = {"__syncwarp", "a shuffle", "a vote",
                                         "__match",    "__reduce",  "a matrix instruction"};
    if (fiber.doing == Doing::kEnded) return "ended";
    if (fiber.doing == Doing::kReady) return "can run";
    if (fiber.doing == Doing::kBarrier && fiber.barrier == 0) return "wait at __syncthreads";
    if (fiber.doing == Doing::kBarrier)
        snprintf(buffer, bytes, "wait at barrier %u", fiber.barrier);
    else
        snprintf(buffer, bytes, "wait at %s of lanes 0x%08x", kWords[int(fiber.meeting->what)],
                 fiber.meeting->mask);
    return buffer;
}

void report(const char *text) {
    Executor &e = executor();
    const Position block = e.state->block;
    char where[96] = "";
    if (e.running) {
        const Position &t = e.running->position;
        snprintf(where, sizeof where, ", thread (%u,%u,%u)", t.x, t.y, t.z);
    }
    fprintf(stderr, "simulated CUDA: kernel %s (%s), block (%u,%u,%u)%s: %s\n",
            e.launch->function->name.c_str(), e.launch->function->module->name.c_str(), block.x,
            block.y, block.z, where, text);
}

// Who stands where, when nobody can go on.
void report_all() {
    Executor &e = executor();
    report("threads wait for others that never come");
    for (unsigned i = 0, end; i < e.threads; i = end) {
        char one[96], other[96];
        std::string what = describe(e.fibers[i], one, sizeof one);
        for (end = i + 1; end < e.threads; ++end)
            if (what != describe(e.fibers[end], other, sizeof other)) break;
        fprintf(stderr, "    threads %u to %u: %s\n", i, end - 1, what.c_str());
    }
}

[[noreturn]] void stop(int code, const char *text) {
    Executor &e = executor();
    report(text);
    e.failed = code;
    void *never;
    simulated_switch(&never, e.scheduler);
    __builtin_unreachable();
}

// ---- Order --------------------------------------------------------------------------------------

// INFINI_SIMULATED_ORDER: forward, reverse or random. Right kernels give the same in any order.
enum class Order { kForward, kReverse, kRandom };

Order order() {
    static const Order value = [] {
        const char *text = getenv("INFINI_SIMULATED_ORDER");
        if (text && !strcmp(text, "reverse")) return Order::kReverse;
        if (text && !strncmp(text, "random", 6)) return Order::kRandom;
        return Order::kForward;
    }();
    return value;
}

unsigned random_number() {
    static unsigned seed = [] {
        const char *text = getenv("INFINI_SIMULATED_ORDER");
        const char *colon = text ? strchr(text, ':') : nullptr;
        return colon ? unsigned(atoi(colon + 1)) : 1u;
    }();
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

// ---- Services -----------------------------------------------------------------------------------

void wait() {
    Executor &e = executor();
    simulated_switch(&e.running->stack, e.scheduler);
}

void ready(Fiber &fiber) {
    fiber.doing = Doing::kReady;
    executor().queue.push_back(&fiber);
}

void let_go(Fiber &fiber) {
    if (!fiber.held) return;
    if (--fiber.held->readers == 0) executor().spare.push_back(fiber.held);
    fiber.held = nullptr;
}

Meeting *new_meeting(Together what, unsigned mask) {
    Executor &e = executor();
    if (e.spare.empty()) e.spare.push_back(new Meeting);
    Meeting *meeting = e.spare.back();
    e.spare.pop_back();
    meeting->what = what;
    meeting->mask = mask;
    meeting->arrived = 0;
    return meeting;
}

// Lanes that have ended are not waited for.
bool complete(Warp &warp, Meeting &meeting, unsigned first) {
    if ((meeting.mask & ~(meeting.arrived | warp.ended)) != 0) return false;
    Executor &e = executor();
    std::erase(warp.open, &meeting);
    meeting.readers = unsigned(std::popcount(meeting.arrived));
    for (unsigned lane = 0; lane < kWarp; ++lane) {
        if (!(meeting.arrived >> lane & 1)) {
            memset(meeting.data[lane], kGarbage, kLaneBytes);
            continue;
        }
        Fiber &other = e.fibers[first + lane];
        other.held = &meeting;
        other.meeting = nullptr;
        if (&other != e.running) ready(other);
    }
    ++e.progress;
    return true;
}

const unsigned char *exchange(Together what, unsigned mask, const void *mine, unsigned bytes) {
    Executor &e = executor();
    Fiber &fiber = *e.running;
    let_go(fiber);
    Warp &warp = e.warps[fiber.index / kWarp];
    unsigned lane = fiber.index % kWarp;
    if (!(mask >> lane & 1)) stop(infinirtErrorLaunchFailure, "it is not in the mask that it gave");
    mask &= warp.lanes;
    Meeting *meeting = nullptr;
    for (Meeting *other : warp.open)
        if (other->what == what && other->mask == mask) meeting = other;
    if (!meeting) warp.open.push_back(meeting = new_meeting(what, mask));
    memcpy(meeting->data[lane], mine, bytes);
    meeting->arrived |= 1u << lane;
    fiber.meeting = meeting;
    if (!complete(warp, *meeting, fiber.index - lane)) {
        fiber.doing = Doing::kMeeting;
        wait();
    }
    return &fiber.held->data[0][0];
}

// Counts one more at a barrier. True: it was the last one.
bool come(Barrier &barrier, unsigned count, unsigned value) {
    Executor &e = executor();
    if (count % kWarp)
        stop(infinirtErrorLaunchFailure,
             "a barrier for a number of threads that is no multiple of 32");
    unsigned expected = count ? count : e.threads;
    if (barrier.arrived && barrier.expected != expected)
        stop(infinirtErrorLaunchFailure,
             "a barrier where others wait for another number of threads");
    barrier.expected = expected;
    barrier.sum += value;
    if (++barrier.arrived < expected) return false;
    unsigned sum = barrier.sum;
    if (order() == Order::kReverse) std::reverse(barrier.waiting.begin(), barrier.waiting.end());
    for (Fiber *other : barrier.waiting) {
        other->result = sum;
        ready(*other);
    }
    barrier.waiting.clear();
    barrier.arrived = barrier.sum = 0;
    ++e.progress;
    e.running->result = sum;
    return true;
}

unsigned barrier(unsigned id, unsigned count, unsigned value) {
    Executor &e = executor();
    Fiber &fiber = *e.running;
    let_go(fiber);
    if (id >= kBarriers) stop(infinirtErrorLaunchFailure, "a barrier beyond the 16 that there are");
    Barrier &at = e.barriers[id];
    if (!come(at, count, value)) {
        at.waiting.push_back(&fiber);
        fiber.doing = Doing::kBarrier;
        fiber.barrier = id;
        wait();
    }
    return fiber.result;
}

void arrive(unsigned id, unsigned count) {
    if (id >= kBarriers) stop(infinirtErrorLaunchFailure, "a barrier beyond the 16 that there are");
    let_go(*executor().running);
    come(executor().barriers[id], count, 0);
}

void yield() {
    Executor &e = executor();
    let_go(*e.running);
    ready(*e.running);
    wait();
}

void copy(void *to, const void *from, unsigned bytes, unsigned valid) {
    Fiber &fiber = *executor().running;
    fiber.copies.push_back({to, from, bytes, valid, fiber.group});
}

void commit() { ++executor().running->group; }

void wait_copies(unsigned pending) {
    Fiber &fiber = *executor().running;
    size_t done = 0;
    for (const Copy &copy : fiber.copies) {
        if (copy.group + pending >= fiber.group) break;
        memcpy(copy.to, copy.from, copy.valid);
        memset(static_cast<char *>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
        ++done;
    }
    fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + long(done));
}

[[noreturn]] void fail(const char *text) { stop(infinirtErrorLaunchFailure, text); }

const Services kServices = {exchange, barrier, arrive, yield, copy, commit, wait_copies, fail};

// ---- Fibers -------------------------------------------------------------------------------------

void end_thread(Fiber &fiber) {
    Executor &e = executor();
    let_go(fiber);
    commit();
    wait_copies(0);
    fiber.group = 0;
    fiber.doing = Doing::kEnded;
    ++e.ended;
    ++e.progress;
    unsigned lane = fiber.index % kWarp;
    Warp &warp = e.warps[fiber.index / kWarp];
    warp.ended |= 1u << lane;
    for (size_t i = 0; i < warp.open.size();)
        if (!complete(warp, *warp.open[i], fiber.index - lane)) ++i;
    wait();
}

// A thread of the first block; then, on the same stack, of the next.
void fiber_main(void *argument) {
    auto &fiber = *static_cast<Fiber *>(argument);
    for (;;) {
        const Launch &launch = *executor().launch;
        launch.function->entry(launch.parameters);
        end_thread(fiber);
    }
}

void run(Fiber &fiber) {
    Executor &e = executor();
    e.running = &fiber;
    e.state->thread = fiber.position;
    e.state->lane = fiber.index % kWarp;
    e.state->thread_in_block = fiber.index;
    if (!fiber.stack) fiber.stack = fiber_stack(e.stacks.end(fiber.index), fiber_main, &fiber);
    simulated_switch(&e.scheduler, fiber.stack);
}

Fiber &take() {
    Executor &e = executor();
    size_t left = e.queue.size() - e.next;
    if (order() == Order::kRandom)
        std::swap(e.queue[e.next], e.queue[e.next + random_number() % left]);
    Fiber &fiber = *e.queue[e.next++];
    // The part that was taken goes when it is most of the list.
    if (e.next == e.queue.size() || e.next > 4 * kMaxThreads) {
        e.queue.erase(e.queue.begin(), e.queue.begin() + long(e.next));
        e.next = 0;
    }
    return fiber;
}

// ---- Blocks -------------------------------------------------------------------------------------

void begin_block(Position block) {
    Executor &e = executor();
    const Module &module = *e.launch->function->module;
    e.state->block = block;
    memset(module.shared, kGarbage, module.shared_bytes);
    memset(e.arena, kGarbage, e.launch->dynamic_bytes);
    e.ended = 0;
    e.queue.clear();
    e.next = 0;
    for (Warp &warp : e.warps) warp.ended = 0;
    for (unsigned i = 0; i < e.threads; ++i)
        ready(e.fibers[order() == Order::kReverse ? e.threads - 1 - i : i]);
}

bool watched_bytes_changed() {
    Executor &e = executor();
    const unsigned char *behind = e.arena + e.launch->dynamic_bytes;
    for (size_t i = 0; i < kCanary; ++i)
        if (behind[i] != kUntouched) return true;
    return false;
}

void run_block(Position block) {
    Executor &e = executor();
    begin_block(block);
    while (!e.queue.empty() && !e.failed) {
        unsigned long long before = e.progress + e.state->progress;
        run(take());
        e.turns = before == e.progress + e.state->progress ? e.turns + 1 : 0;
        if (e.turns > kPatience) {
            report("threads wait in a loop for something that never comes");
            e.failed = infinirtErrorLaunchFailure;
        }
    }
    e.running = nullptr;
    if (e.failed) return;
    if (e.ended < e.threads) {
        report_all();
        e.failed = infinirtErrorLaunchFailure;
    } else if (watched_bytes_changed()) {
        report("writes behind its dynamic shared memory");
        e.failed = infinirtErrorIllegalAddress;
    }
    for (Barrier &barrier : e.barriers)
        if (barrier.arrived && !e.failed) {
            report("a barrier is left where only some threads have come");
            e.failed = infinirtErrorLaunchFailure;
        }
}

// After a failure fibers stand anywhere.
void forget_fibers() {
    Executor &e = executor();
    for (Fiber &fiber : e.fibers) fiber = {};
    for (Warp &warp : e.warps) warp.open.clear();  // what they held is lost
    for (Barrier &barrier : e.barriers) barrier = {};
}

// ---- Faults -------------------------------------------------------------------------------------

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
struct sigaction before[NSIG];

void on_signal(int number, siginfo_t *info, void *context) {
    Executor &e = executor();
    if (e.running && pthread_equal(e.thread, pthread_self())) {
        char text[128];
        if (e.stacks.is_guard(info->si_addr))
            snprintf(text, sizeof text, "its local variables need more than %zu KiB",
                     (Stacks::kBytes - Stacks::kGuard) >> 10);
        else
            snprintf(text, sizeof text, "%s at address %p", strsignal(number), info->si_addr);
        stop(infinirtErrorIllegalAddress, text);
    }
    const struct sigaction &old = before[number];
    if (old.sa_flags & SA_SIGINFO)
        old.sa_sigaction(number, info, context);
    else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
        old.sa_handler(number);
    else
        sigaction(number, &old, nullptr);  // and it happens again
}

void watch_signals() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action{};
        action.sa_sigaction = on_signal;
        // A handler never returns to a kernel, so its signal must not stay blocked.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int number : kFaults) sigaction(number, &action, &before[number]);
    });
    // The threads that serve streams block all signals; a fault would then end the process.
    sigset_t faults;
    sigemptyset(&faults);
    for (int number : kFaults) sigaddset(&faults, number);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    // The stack of a fiber may be what is exhausted.
    thread_local std::unique_ptr<char[]> memory;
    stack_t stack{};
    if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
        constexpr size_t kBytes = size_t(64) << 10;
        if (!memory) memory = std::make_unique<char[]>(kBytes);
        stack = {};
        stack.ss_sp = memory.get();
        stack.ss_size = kBytes;
        sigaltstack(&stack, nullptr);
    }
}

void prepare(const Launch &launch) {
    Executor &e = executor();
    e.launch = &launch;
    e.state = launch.function->module->state;
    e.thread = pthread_self();
    e.failed = 0;
    e.turns = 0;
    if (!e.arena)
        e.arena = static_cast<unsigned char *>(mmap(nullptr, kSharedOptin + 2 * kCanary,
                                                    PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(e.arena + launch.dynamic_bytes, kUntouched, kCanary);
    e.state->services = &kServices;
    e.state->block_size = launch.block;
    e.state->grid_size = launch.grid;
    e.state->dynamic_shared = e.arena;
    const Position &size = launch.block;
    e.threads = size.x * size.y * size.z;
    for (unsigned i = 0; i < e.threads; ++i) {
        e.fibers[i].index = i;
        e.fibers[i].position = {i % size.x, i / size.x % size.y, i / size.x / size.y};
    }
    for (unsigned i = 0; i < e.warps.size(); ++i) {
        unsigned first = i * kWarp;
        unsigned lanes = first < e.threads ? std::min<unsigned>(kWarp, e.threads - first) : 0;
        e.warps[i].lanes = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    }
}

}  // namespace

int run_grid(const Launch &launch) {
    Executor &e = executor();
    std::lock_guard guard(e.lock);
    watch_signals();
    prepare(launch);
    const Position &grid = launch.grid;
    for (unsigned z = 0; z < grid.z && !e.failed; ++z)
        for (unsigned y = 0; y < grid.y && !e.failed; ++y)
            for (unsigned x = 0; x < grid.x && !e.failed; ++x) run_block({x, y, z});
    e.running = nullptr;
    if (e.failed) forget_fibers();
    return e.failed;
}

}  // namespace simulated
