#include "device_reset.h"

#include <pthread.h>

#include <atomic>

namespace infini::cuda {
namespace {

constexpr int kDevices = 64;

struct {
    std::atomic<unsigned> times{0};
    std::atomic<bool> has_operators{false}, lost_operators{false};
} devices[kDevices];
std::atomic<unsigned> resets{0};
std::atomic<bool> forked{false};

auto &at(int device) { return devices[unsigned(device) % kDevices]; }

unsigned times_lost(int device) { return at(device).times.load(std::memory_order_relaxed); }

void lose(int device) {
    at(device).times.fetch_add(1, std::memory_order_relaxed);
    if (at(device).has_operators.load(std::memory_order_relaxed))
        at(device).lost_operators.store(true, std::memory_order_relaxed);
}

}  // namespace

void watch_forks() {
    static const int failed = pthread_atfork(nullptr, nullptr, [] {
        forked.store(true, std::memory_order_relaxed);
        for (auto &each : devices) {
            each.times.fetch_add(1, std::memory_order_relaxed);
            each.lost_operators.store(true, std::memory_order_relaxed);
        }
    });
    (void)failed;
}

void note_operators(int device) { at(device).has_operators.store(true, std::memory_order_relaxed); }

bool lost_operators(int device) {
    return at(device).lost_operators.load(std::memory_order_relaxed);
}

Error refuse_operators(int device) {
    return fail(is_forked() ? infinirtErrorInitializationError : infinirtErrorContextIsDestroyed,
                "operators cannot run any more; %s", how_lost(device));
}

void note_reset(int device) {
    lose(device);
    resets.fetch_add(1, std::memory_order_relaxed);
}

void note_refused_reset(int device, bool had_lost_operators) {
    at(device).times.fetch_sub(1, std::memory_order_relaxed);
    at(device).lost_operators.store(had_lost_operators, std::memory_order_relaxed);
}

unsigned count_resets() { return resets.load(std::memory_order_relaxed); }

Kept::Kept(int device) : device_(device), times_(times_lost(device)) {}

bool Kept::is_lost() const { return times_lost(device_) != times_; }

bool is_forked() { return forked.load(std::memory_order_relaxed); }

const char *how_lost(int device) {
    if (is_forked())
        return "this process was forked from one that has used the device, which only that one can "
               "use: start it as a new program (multiprocessing: the method \"spawn\")";
    if (!times_lost(device)) return "";
    return "the device was reset before (infinirtDeviceReset), and streams, memory, tensors, "
           "communicators and the operators' code went with it: start the process again";
}

}  // namespace infini::cuda
