// The primitives for waiting: clock, spinning, futex, mutex.
//
// A futex is a 32-bit word in memory on which the kernel lets threads sleep. All waits follow one
// pattern: check, spin for a few microseconds (waking a sleeping thread costs more than that), then
// sleep.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace infini::cpu {

inline int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// A pause inside a spinning loop.
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // `yield` is a no-op on most cores
#endif
}

// How long to spin before sleeping; 0 on a machine with one processor. The long one is for work in
// progress: a wake-up at its end takes as long as a thread needs to start it.
int64_t spin_ns();
int64_t spin_long_ns();

// Spins for some 100 nanoseconds at most. Returns what `ready()` said last.
template <class Ready>
bool spin_briefly(Ready ready) {
    for (int i = 0; i < 16; ++i) {
        if (ready()) return true;
        relax();
    }
    return ready();
}

// Spins until `ready()` or for `nanoseconds`. Returns what `ready()` said last.
template <class Ready>
bool spin(int64_t nanoseconds, Ready ready) {
    if (ready()) return true;
    if (nanoseconds <= 0) return false;
    int64_t end = now_ns() + nanoseconds;
    do {
        if (spin_briefly(ready)) return true;
        sched_yield();  // the awaited thread may need this processor
    } while (now_ns() < end);
    return false;
}

// The same for threads that do not outnumber the processors: does not yield the processor to
// others, which may keep it for milliseconds.
template <class Ready>
bool spin_hot(int64_t nanoseconds, Ready ready) {
    if (ready()) return true;
    if (nanoseconds <= 0) return false;
    int64_t end = now_ns() + nanoseconds;
    do {
        for (int i = 0; i < 8; ++i)
            if (spin_briefly(ready)) return true;
    } while (now_ns() < end);
    return false;
}

// Shared: the word is in memory shared with other processes.
enum class Scope { Process, Shared };

// Sleeps while the word holds `value`, for at most `timeout_ns` (-1: no limit). May return early.
inline void futex_wait(std::atomic<uint32_t> &word, uint32_t value, int64_t timeout_ns = -1,
                       Scope scope = Scope::Process) {
    timespec timeout = {time_t(timeout_ns / 1'000'000'000), long(timeout_ns % 1'000'000'000)};
    syscall(SYS_futex, &word, scope == Scope::Shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value,
            timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t> &word, int threads, Scope scope = Scope::Process) {
    syscall(SYS_futex, &word, scope == Scope::Shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, threads,
            nullptr, nullptr, 0);
}

// A mutex of 4 bytes that costs two atomic operations if uncontended. Works with
// std::lock_guard.
class Mutex {
public:
    void lock() {
        uint32_t expected = kFree;
        if (!word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            lock_slowly();
    }
    void unlock() {
        if (word_.exchange(kFree, std::memory_order_release) == kWanted) futex_wake(word_, 1);
    }

private:
    static constexpr uint32_t kFree = 0, kHeld = 1, kWanted = 2;
    void lock_slowly();

    std::atomic<uint32_t> word_{kFree};
};

}  // namespace infini::cpu
