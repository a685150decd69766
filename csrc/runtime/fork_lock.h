// Mutexes that are free, and guard consistent data, in a forked child.
//
// fork() copies only the calling thread, so a lock that another thread holds would stay held for
// ever in the child. Around a fork all ForkSafeMutexes are taken in the order of their ranks. The
// rule that makes this safe: code that holds one takes another only of a higher rank, never two of
// one rank, and never waits for a device meanwhile. They are few and made when the library loads;
// objects that come and go share them through StripedMutex.
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

// How many forks lie between this process and the one that loaded the library.
unsigned fork_generation();

}  // namespace infini::rt
