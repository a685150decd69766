#include "failures.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace infini::ccl {
namespace {

// How long process exit waits for operations that the program did not wait for.
constexpr auto kEndOfProcess = std::chrono::seconds(5);

struct Failures {
    std::mutex lock;
    std::vector<CommPointer> unresolved;
    std::atomic<size_t> count{0};          // of these: host waits look at it first
    std::atomic<bool> has_vendors{false};  // communicators to query
    std::string first;                     // the first one that this process did not cause
    bool reported = false;                 // whether the handlers are installed
    pid_t process = 0;

    static Failures &get() {
        static auto *failures = new Failures;
        return *failures;
    }
};

std::string reason_of(Comm &comm) {
    std::lock_guard guard(comm.lock);
    return comm.reason;
}

// A vendor's library notices failures by itself; they are kept like those of our own operations.
void ask_vendors() {
    for (const CommPointer &comm : live_handles()) {
        if (comm->table().run) continue;
        std::string reason;
        const infiniStatus_t status = comm->status(&reason);
        if (status == INFINI_STATUS_SUCCESS) continue;
        comm->fail(status, reason);
        note_failure(comm);
    }
}

// Called before a host wait returns success.
infiniStatus_t check_wait(int device_type, char *sentence, size_t bytes) try {
    Failures &failures = Failures::get();
    if (failures.has_vendors.load(std::memory_order_relaxed)) ask_vendors();
    if (failures.count.load(std::memory_order_acquire) == 0) return INFINI_STATUS_SUCCESS;
    std::vector<CommPointer> held;  // none is destroyed while the lock is held
    std::lock_guard guard(failures.lock);
    auto &all = failures.unresolved;
    held = all;
    const auto is_of_type = [&](const CommPointer &comm) {
        return comm->target.device_type == device_type;
    };
    const auto found = std::find_if(all.begin(), all.end(), is_of_type);
    if (found == all.end()) return INFINI_STATUS_SUCCESS;
    const std::string reason =
        "a collective failed, its results are not valid: " + reason_of(**found);
    snprintf(sentence, bytes, "%s", reason.c_str());
    for (const CommPointer &comm : all)
        if (is_of_type(comm)) comm->told = true;
    // An aborted one is gone: this was its only report.
    std::erase_if(all, [&](const CommPointer &comm) { return is_of_type(comm) && comm->aborted; });
    failures.count.store(all.size(), std::memory_order_release);
    return INFINI_STATUS_INTERNAL_ERROR;
} catch (...) {
    snprintf(sentence, bytes, "host memory ran out");
    return INFINI_STATUS_INTERNAL_ERROR;
}

// ---- The end of the process ---------------------------------------------------------------------

bool is_idle_soon(Comm &comm, std::chrono::steady_clock::time_point end) {
    std::unique_lock guard(comm.lock);
    return comm.idle.wait_until(guard, end, [&] { return comm.pending == 0; });
}

// The message to print at exit; empty: none.
std::string failure_at_end() {
    const auto end = std::chrono::steady_clock::now() + kEndOfProcess;
    for (const CommPointer &comm : live_handles())
        if (!is_idle_soon(*comm, end)) break;
    Failures &failures = Failures::get();
    if (failures.has_vendors) ask_vendors();
    std::lock_guard guard(failures.lock);
    const char *strict = std::getenv("INFINI_CCL_STRICT_EXIT");
    if (strict && !std::strcmp(strict, "1")) return failures.first;
    for (const CommPointer &comm : failures.unresolved)
        if (!comm->told && !comm->aborted) return reason_of(*comm);
    return "";
}

// Ends the process with status 1, after all other exit handlers.
struct ExitStatus {
    bool is_failure = false;
    ~ExitStatus() {
        if (!is_failure) return;
        std::fflush(nullptr);
        _exit(1);
    }
} exit_status;

void at_end(int status, void *) try {
    if (status != 0 || getpid() != Failures::get().process) return;
    const std::string reason = failure_at_end();
    if (reason.empty()) return;
    std::fprintf(stderr, "infiniccl: the process ends with status 1: a communicator failed: %s\n",
                 reason.c_str());
    exit_status.is_failure = true;
} catch (...) {
}

void begin_to_report(Failures &failures) {
    failures.reported = true;
    infiniSetWaitCheck(check_wait);
    Dl_info here;
    // The handler must not be unloaded with the library.
    if (dladdr(reinterpret_cast<void *>(&at_end), &here) && here.dli_fname)
        dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    on_exit(at_end, nullptr);
}

}  // namespace

void report_failures_of(const Comm &comm) {
    Failures &failures = Failures::get();
    std::lock_guard guard(failures.lock);
    if (!comm.table().run) failures.has_vendors = true;
    failures.process = getpid();  // a child has the handler, but no communicators
    if (!failures.reported) begin_to_report(failures);
}

void note_failure(const CommPointer &comm) {
    Failures &failures = Failures::get();
    std::lock_guard guard(failures.lock);
    auto &all = failures.unresolved;
    if (std::find(all.begin(), all.end(), comm) != all.end()) return;
    all.push_back(comm);
    failures.count.store(all.size(), std::memory_order_release);
    if (failures.first.empty() && !comm->aborted) failures.first = reason_of(*comm);
}

void forget_failure(const CommPointer &comm) {
    Failures &failures = Failures::get();
    if (failures.count.load(std::memory_order_acquire) == 0) return;
    std::lock_guard guard(failures.lock);
    std::erase(failures.unresolved, comm);
    failures.count.store(failures.unresolved.size(), std::memory_order_release);
}

}  // namespace infini::ccl
