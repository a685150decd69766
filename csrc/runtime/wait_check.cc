// Failures of asynchronous work that other libraries put into streams; reported by host waits.
#include "call.h"

namespace infini::rt {

constinit std::atomic<InfiniWaitCheck> wait_check{nullptr};

namespace {

thread_local int quiet_depth = 0;

}  // namespace

Error Call::ask_wait_check() {
    const InfiniWaitCheck check = wait_check.load(std::memory_order_acquire);
    if (quiet_depth > 0 || !thread.backend) return infinirtSuccess;
    char sentence[600];
    if (check(thread.backend->kind, sentence, sizeof sentence) == INFINI_STATUS_SUCCESS)
        return infinirtSuccess;
    return fail(infinirtErrorExternalDevice, "%s", sentence);
}

}  // namespace infini::rt

using namespace infini::rt;

extern "C" {

void infiniSetWaitCheck(InfiniWaitCheck check) {
    wait_check.store(check, std::memory_order_release);
}

int infiniFailedWaitCheck(void) {
    return Thread::current().last_error == infinirtErrorExternalDevice;
}

void infiniBeginQuietWaits(void) { ++quiet_depth; }
void infiniEndQuietWaits(void) { --quiet_depth; }

}  // extern "C"
