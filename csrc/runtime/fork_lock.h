// Mutexes that are unlocked, and guard consistent data, in a forked child.
//
// fork() copies only the calling thread, so a lock held by another thread would stay locked forever
// in the child. Around a fork all ForkSafeMutexes are taken in the order of their ranks. The rule
// that makes this safe: code that holds one locks only mutexes of a higher rank, never two of the
// same rank, and never waits for a device meanwhile. There are few, created when the library loads;
// short-lived objects share them through StripedMutex.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace infini::rt {

enum class LockRank { Loader, Graph, Launch, GraphMemory, Pools, Pool, Clock, Registry, Handles };

class ForkSafeMutex {
public:
    explicit ForkSafeMutex(LockRank rank);
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex &) = delete;
    ForkSafeMutex &operator=(const ForkSafeMutex &) = delete;

    void lock() { mutex_.lock(); }
    bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

    const LockRank rank;

private:
    std::mutex mutex_;
};

// One of a few mutexes of a rank, chosen by an object's number.
template <LockRank Rank>
class StripedMutex {
public:
    static ForkSafeMutex &of(uint64_t number) {
        static auto *stripes = new StripedMutex;
        return stripes->mutexes_[number % stripes->mutexes_.size()];
    }

private:
    std::array<ForkSafeMutex, 4> mutexes_{ForkSafeMutex(Rank), ForkSafeMutex(Rank),
                                          ForkSafeMutex(Rank), ForkSafeMutex(Rank)};
};

// Called once, after the back ends are loaded, so that their own fork handlers run inside ours.
void install_fork_handlers();

// The number of forks between the process that loaded the library and this one.
unsigned fork_generation();

}  // namespace infini::rt
