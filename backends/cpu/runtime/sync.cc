#include "sync.h"

namespace infini::cpu {

int64_t spin_ns() {
    static const int64_t nanoseconds = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 5'000 : 0;
    return nanoseconds;
}

// Longer spinning would gain a little latency, but take the processor from the work that is waited
// for.
int64_t spin_long_ns() {
    static const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 3 ? 20'000 : processors > 1 ? 10'000 : 0;
}

void Mutex::lock_slowly() {
    // Critical sections are short: unless preempted, the owner is about to leave.
    for (int i = 0; i < 64; ++i) {
        uint32_t expected = kFree;
        if (word_.load(std::memory_order_relaxed) == kFree &&
            word_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire,
                                        std::memory_order_relaxed))
            return;
        relax();
    }
    while (word_.exchange(kWanted, std::memory_order_acquire) != kFree) futex_wait(word_, kWanted);
}

}  // namespace infini::cpu
