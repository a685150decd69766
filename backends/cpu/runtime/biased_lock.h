// Lets the one thread that uses a legacy stream enter it with plain stores and loads.
//
// The atomic path in and out costs some 20 ns, a fifth of copying 4 KiB. A thread that has taken it
// a few times in a row becomes the owner. The owner only announces that it is inside, and checks
// whether it still owns the stream; the fence required between the two is on the other side:
// another thread that needs the stream revokes the ownership and has the kernel issue a fence in
// all running threads of the process (membarrier). That is slow, but happens once: afterwards all
// threads take the atomic path again, for longer the more often it happened.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync.h"

namespace infini::cpu {

class Bias {
public:
    Bias();

    bool mine() const { return owner_.load(std::memory_order_relaxed) == self(); }
    // Whether another thread is the owner, whose ownership must be revoked before the stream is
    // used.
    bool foreign() const {
        uintptr_t owner = owner_.load();
        return owner != kNobody && owner != self();
    }

    // The owner's entry. The critical section must be short, and is allowed only if `holds()`.
    class Visit {
    public:
        explicit Visit(Bias &bias) : bias_(bias) {
            bias.inside_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(
                std::memory_order_seq_cst);  // for the compiler; see above for the CPU
        }
        ~Visit() {
            std::atomic_signal_fence(std::memory_order_seq_cst);
            bias_.inside_.store(0, kLeaving);
        }
        bool holds() const { return bias_.mine(); }

    private:
        Bias &bias_;
    };

    // Called by a thread that entered atomically and is still inside: it may become the owner.
    void earn();
    // Returns when no thread is the owner or inside as owner.
    void revoke();

private:
#if defined(__SANITIZE_THREAD__)
    static constexpr auto kLeaving = std::memory_order_release;  // the kernel lacks membarrier
#else
    static constexpr auto kLeaving = std::memory_order_relaxed;
#endif
    static constexpr uintptr_t kNobody = 0, kRevoking = 1;
    // Threads are distinguished by the address of their thread-local storage.
    static uintptr_t self() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }

    std::atomic<uintptr_t> owner_{kNobody};
    std::atomic<uint32_t> inside_{0};
    std::atomic<uint32_t> price_{2};  // consecutive entries that make a thread the owner
    uintptr_t last_ = kNobody;        // last thread to enter atomically, how often in a row:
    uint32_t streak_ = 0;             // used only inside the lock
    Mutex revoking_;
};

}  // namespace infini::cpu
