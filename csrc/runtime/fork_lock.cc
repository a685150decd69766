#include "fork_lock.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace infini::rt {
namespace {

// All live mutexes, ordered by rank. Leaked: mutexes of leaked objects outlive static destruction.
struct LockRegistry {
    std::mutex mutex;
    std::vector<ForkSafeMutex *> ranked;
};

LockRegistry &registry() {
    static auto *instance = new LockRegistry;
    return *instance;
}

std::atomic<unsigned> generation{0};

// The list's own lock comes last, because a mutex may be made while others are held. If one was
// made meanwhile, this starts again.
void before_fork() {
    LockRegistry &list = registry();
    for (;;) {
        list.mutex.lock();
        std::vector<ForkSafeMutex *> held = list.ranked;
        list.mutex.unlock();
        for (ForkSafeMutex *mutex : held) mutex->lock();
        list.mutex.lock();
        if (held == list.ranked) return;
        list.mutex.unlock();
        for (auto it = held.rbegin(); it != held.rend(); ++it) (*it)->unlock();
    }
}

void release_all() {
    auto &ranked = registry().ranked;
    for (auto it = ranked.rbegin(); it != ranked.rend(); ++it) (*it)->unlock();
    registry().mutex.unlock();
}

void after_fork_in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
    release_all();
}

}  // namespace

ForkSafeMutex::ForkSafeMutex(LockRank rank) : rank(rank) {
    std::lock_guard lock(registry().mutex);
    auto &ranked = registry().ranked;
    auto place = std::upper_bound(
        ranked.begin(), ranked.end(), rank,
        [](LockRank value, const ForkSafeMutex *other) { return value < other->rank; });
    ranked.insert(place, this);
}

ForkSafeMutex::~ForkSafeMutex() {
    std::lock_guard lock(registry().mutex);
    std::erase(registry().ranked, this);
}

void install_fork_handlers() {
    static std::once_flag once;
    std::call_once(once, [] { pthread_atfork(before_fork, release_all, after_fork_in_child); });
}

unsigned fork_generation() { return generation.load(std::memory_order_relaxed); }

}  // namespace infini::rt
