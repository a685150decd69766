// Operations that involve several threads: warp collectives, barriers, asynchronous copies.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "executor.h"
#include "hopper.h"

namespace simulated {

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

void ready(Fiber &fiber) {
    fiber.doing = Doing::kReady;
    executor().queue.push_back(&fiber);
}

namespace {

void wait() {
    Executor &e = executor();
    simulated_switch(&e.running->stack, e.scheduler);
}

void let_go(Fiber &fiber) {
    if (!fiber.held) return;
    if (--fiber.held->readers == 0) executor().spare.push_back(fiber.held);
    fiber.held = nullptr;
}

Meeting *new_meeting(Together what, unsigned long long mask) {
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
    for (unsigned lane = 0; lane < e.warp; ++lane) {
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

const unsigned char *exchange(Together what, unsigned long long mask, const void *mine,
                              unsigned bytes) {
    Executor &e = executor();
    Fiber &fiber = *e.running;
    let_go(fiber);
    Warp &warp = e.warps[fiber.index / e.warp];
    unsigned lane = fiber.index % e.warp;
    if (!(mask >> lane & 1)) stop(infinirtErrorLaunchFailure, "it is not in the mask that it gave");
    mask &= warp.lanes;
    Meeting *meeting = nullptr;
    for (Meeting *other : warp.open)
        if (other->what == what && other->mask == mask) meeting = other;
    if (!meeting) warp.open.push_back(meeting = new_meeting(what, mask));
    memcpy(meeting->data[lane], mine, bytes);
    meeting->arrived |= 1ull << lane;
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
    if (count % e.warp)
        stop(infinirtErrorLaunchFailure,
             "a barrier for a number of threads that is no multiple of a warp");
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
    ++e.turns;
    ready(*e.running);
    wait();
}

void preempt() {
    ready(*executor().running);
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

}  // namespace

const Services kServices = {
    exchange,    barrier,      arrive,     yield,   copy, commit,
    wait_copies, check_access, check_type, preempt, fail,
};

void end_thread(Fiber &fiber) {
    Executor &e = executor();
    let_go(fiber);
    commit();
    wait_copies(0);
    fiber.group = 0;
    fiber.doing = Doing::kEnded;
    ++e.ended;
    ++e.progress;
    unsigned lane = fiber.index % e.warp;
    Warp &warp = e.warps[fiber.index / e.warp];
    warp.ended |= 1ull << lane;
    for (size_t i = 0; i < warp.open.size();)
        if (!complete(warp, *warp.open[i], fiber.index - lane)) ++i;
    wait();
}

}  // namespace simulated
