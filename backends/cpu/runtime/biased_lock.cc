#include "biased_lock.h"

#include <linux/membarrier.h>
#include <sched.h>

#include <algorithm>
#include <mutex>

namespace infini::cpu {
namespace {

constexpr uint32_t kNever = UINT32_MAX;

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

Bias::Bias() {
    if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) price_ = kNever;
}

void Bias::earn() {
    uintptr_t thread = self();
    if (last_ != thread) streak_ = 0;
    last_ = thread;
    uint32_t price = price_.load(std::memory_order_relaxed);
    if (++streak_ < price || price == kNever) return;
    uintptr_t nobody = kNobody;
    owner_.compare_exchange_strong(nobody, thread);
    streak_ = 0;
}

void Bias::revoke() {
    std::lock_guard guard(revoking_);
    if (owner_.load() == kNobody) return;
    owner_.store(kRevoking);
    // From here on the owner sees that, or we see it inside.
    bool fenced = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    while (inside_.load(std::memory_order_acquire) != 0) sched_yield();
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);  // and what it did there
    price_.store(fenced ? std::min(price_.load() * 8, kNever / 8) : kNever);
    owner_.store(kNobody);
}

}  // namespace infini::cpu
