#include "grid.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "executor.h"
#include "hopper.h"

namespace simulated {

// Leaked: a stream may still run while the process exits.
Executor &executor() {
    static auto *instance = new Executor;
    return *instance;
}

namespace {

// ---- Fibers -------------------------------------------------------------------------------------

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
    e.state->lane = fiber.index % e.warp;
    e.state->thread_in_block = fiber.index;
    begin_checks(fiber);
    if (!fiber.stack) fiber.stack = fiber_stack(e.stacks.end(fiber.index), fiber_main, &fiber);
    simulated_switch(&e.scheduler, fiber.stack);
}

Fiber &take() {
    Executor &e = executor();
    size_t left = e.queue.size() - e.next;
    if (order() == Order::kRandom)
        std::swap(e.queue[e.next], e.queue[e.next + random_number() % left]);
    Fiber &fiber = *e.queue[e.next++];
    // The consumed part is erased when it is most of the list.
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
        if (before != e.progress + e.state->progress) e.turns = 0;
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

// After a failure fibers may be suspended anywhere.
void forget_fibers() {
    Executor &e = executor();
    for (Fiber &fiber : e.fibers) fiber = {};
    for (Warp &warp : e.warps) warp.open.clear();  // their resources are leaked
    for (Barrier &barrier : e.barriers) barrier = {};
}

void prepare(const Launch &launch) {
    Executor &e = executor();
    e.launch = &launch;
    e.state = launch.function->module->state;
    e.thread = pthread_self();
    e.warp = launch.function->module->warp;
    e.failed = 0;
    e.turns = 0;
    if (!e.arena)
        e.arena = static_cast<unsigned char *>(mmap(nullptr, kSharedOptin + 2 * kCanary,
                                                    PROT_READ | PROT_WRITE,
                                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(e.arena + launch.dynamic_bytes, kUntouched, kCanary);
    e.state->services = kServices;
    e.state->preempt = order() == Order::kRandom ? random_number() | 1 : 0;
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
        unsigned first = i * e.warp;
        unsigned lanes = first < e.threads ? std::min(e.warp, e.threads - first) : 0;
        e.warps[i].lanes = lanes == 64 ? ~0ull : (1ull << lanes) - 1;
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
