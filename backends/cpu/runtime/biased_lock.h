// Lets the one thread that uses a legacy stream enter it with plain stores and loads.
//
// The atomic way in and out costs some 20 ns, a fifth of copying 4 KiB. A thread that has come that
// way a few times in a row becomes the owner. It then only says that it is inside, and looks
// whether it still owns the stream; the fence that belongs between the two is on the other side:
// whoever else needs the stream revokes the ownership and has the kernel put a fence into all
// running threads of the process (membarrier). That is slow, but happens once: after it, everybody
// takes the atomic way again, the longer the more often it happened.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync.h"

namespace infini::cpu {

class Bias {
public:
    Bias();

    bool mine() const { return owner_.load(std::memory_order_relaxed) == self(); }
    // Another thread is the owner, and has to be stopped before its stream is used.
    bool foreign() const {
        uintptr_t owner = owner_.load();
        return owner != kNobody && owner != self();
    }

    // The owner's way in. What it does inside must be short, and is allowed only if `holds()`.
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

    // By a thread that came the atomic way and is still inside: perhaps it becomes the owner.
    void earn();
    // Returns when no thread is the owner, nor inside as one.
    void revoke();

private:
#if defined(__SANITIZE_THREAD__)
    static constexpr auto kLeaving = std::memory_order_release;  // it knows nothing of membarrier
#else
    static constexpr auto kLeaving = std::memory_order_relaxed;
#endif
    static constexpr uintptr_t kNobody = 0, kRevoking = 1;
    // Threads are distinguished by the address of their thread-local storage.
    static uintptr_t self() { return reinterpret_cast<uintptr_t>(__builtin_thread_pointer()); }

    std::atomic<uintptr_t> owner_{kNobody};
    std::atomic<uint32_t> inside_{0};
    std::atomic<uint32_t> price_{2};  // visits in a row that make a thread the owner
    uintptr_t last_ = kNobody;        // who came the atomic way last, and how often in a row:
    uint32_t streak_ = 0;             // used only by who is inside
    Mutex revoking_;
};

}  // namespace infini::cpu
