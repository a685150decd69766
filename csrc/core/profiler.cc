#include "profiler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "../runtime/fork_lock.h"
#include "infinirt.h"
#include "step.h"

// From the CUDA-aligned API, whose header cannot be included together with the first generation's.
extern "C" int infinirtStreamIsCapturing(infinirtStream_t stream, int *status);

namespace infinicore::detail {

constinit std::atomic<size_t> plain_workspace{1};

namespace {

// Profiles that overlap share entries; the first that stops reads their events.
struct Logged {
    ProfileEntry entry;
    std::once_flag is_read;
};

struct Log {
    infini::rt::ForkSafeMutex mutex{infini::rt::LockRank::Pool};
    std::vector<std::shared_ptr<Logged>> entries;
    std::map<uint64_t, size_t> starts;  // of the profiles that are on: their first entries
    uint64_t profiles = 0;              // started so far
};

Log &log_of_process() {
    static auto *log = new Log;
    return *log;
}

int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

uint64_t this_thread() {
    static thread_local const auto id = uint64_t(syscall(SYS_gettid));
    return id;
}

bool is_captured(const DeviceRuntime &runtime, infinirtStream_t stream) {
    if (!stream) return false;
    RuntimeScope scope(runtime);
    int status = 0;
    return infinirtStreamIsCapturing(stream, &status) == 0 && status != 0;
}

infinirtEvent_t recorded_event(infinirtStream_t stream) {
    infinirtEvent_t event = nullptr;
    if (infinirtEventCreate(&event)) return nullptr;
    if (infinirtEventRecord(event, stream) == INFINI_STATUS_SUCCESS) return event;
    infinirtEventDestroy(event);
    return nullptr;
}

void destroy_events(ProfileEntry &entry) {
    for (infinirtEvent_t &event : entry.events)
        if (event) infinirtEventDestroy(std::exchange(event, nullptr));
}

size_t bytes_of(const Step &step) {
    size_t bytes = 0;
    for (const Step::Argument &argument : step.arguments) {
        if (argument.tensor < 0 || !step.present[size_t(argument.tensor)]) continue;
        const Layout &layout = step.tensors[size_t(argument.tensor)];
        size_t elements = 1;
        for (size_t i = 0; i < layout.shape.size(); ++i)
            if (layout.strides[i] != 0 || layout.shape[i] == 0) elements *= size_t(layout.shape[i]);
        bytes += elements * dsize(layout.dtype);
    }
    return bytes;
}

// ---- Reading the events -------------------------------------------------------------------------

// A moment in device time whose host time is known.
struct Anchor {
    const DeviceRuntime *runtime;
    infinirtEvent_t event;
    int64_t time;
};

const Anchor &anchor_of(std::vector<Anchor> &anchors, const DeviceRuntime &runtime) {
    for (const Anchor &each : anchors)
        if (each.runtime == &runtime) return each;
    // The stream that the work was in may be gone.
    infinirtEvent_t event = recorded_event(runtime.stream);
    if (event) infinirtEventSynchronize(event);
    return anchors.emplace_back(Anchor{&runtime, event, now()});
}

void read_events(ProfileEntry &entry, std::vector<Anchor> &anchors) {
    RuntimeScope scope(*entry.runtime);
    float length = 0, ago = 0;  // milliseconds
    if (infinirtEventSynchronize(entry.events[1]) == INFINI_STATUS_SUCCESS) {
        const Anchor &anchor = anchor_of(anchors, *entry.runtime);
        if (anchor.event &&
            infinirtEventElapsedTime(&length, entry.events[0], entry.events[1]) ==
                INFINI_STATUS_SUCCESS &&
            infinirtEventElapsedTime(&ago, entry.events[0], anchor.event) ==
                INFINI_STATUS_SUCCESS) {
            // Work never begins before its launch, whatever the device's clock says.
            entry.begin = std::max(entry.launched, anchor.time - int64_t(double(ago) * 1e6));
            entry.end = entry.begin + int64_t(double(length) * 1e6);
        }
    }
    destroy_events(entry);
}

}  // namespace

// ---- Profiles -----------------------------------------------------------------------------------

uint64_t start_profile() {
    Log &log = log_of_process();
    std::lock_guard lock(log.mutex);
    log.starts.emplace(++log.profiles, log.entries.size());
    plain_workspace.store(0, std::memory_order_relaxed);
    return log.profiles;
}

std::vector<ProfileEntry> stop_profile(uint64_t profile) {
    Log &log = log_of_process();
    std::vector<std::shared_ptr<Logged>> logged;
    {
        std::lock_guard lock(log.mutex);
        const auto at = log.starts.find(profile);
        if (at == log.starts.end())
            throw std::runtime_error(
                "stop_profile: there is no such profile: expected one that "
                "was started and not yet stopped");
        logged.assign(log.entries.begin() + std::ptrdiff_t(at->second), log.entries.end());
        log.starts.erase(at);
        if (log.starts.empty()) {
            plain_workspace.store(1, std::memory_order_relaxed);
            log.entries = {};
        }
    }
    std::vector<Anchor> anchors;
    std::vector<ProfileEntry> made;
    made.reserve(logged.size());
    for (const auto &each : logged) {
        if (!each->entry.is_inline)
            std::call_once(each->is_read, [&] { read_events(each->entry, anchors); });
        made.push_back(each->entry);
    }
    for (const Anchor &anchor : anchors) {
        RuntimeScope scope(*anchor.runtime);
        if (anchor.event) infinirtEventDestroy(anchor.event);
    }
    return made;
}

// ---- Scopes -------------------------------------------------------------------------------------

ProfiledScope::ProfiledScope(const Step &step, infinirtStream_t stream) {
    if (is_profiling()) begin(step.name, *step.runtime, stream, bytes_of(step));
}

void ProfiledScope::begin(const std::string &name, const DeviceRuntime &runtime,
                          infinirtStream_t stream, size_t bytes) {
    // Work that a graph records does not run now.
    if (thread_state().keeper || is_captured(runtime, stream)) return;
    ProfileEntry &entry = entry_.emplace();
    exceptions_ = std::uncaught_exceptions();
    entry.name = name;
    entry.runtime = &runtime;
    entry.stream = stream;
    entry.thread = this_thread();
    entry.bytes = bytes;
    entry.is_inline = runtime.is_cpu() && !stream;
    if (!entry.is_inline) {
        RuntimeScope scope(runtime);
        entry.events[0] = recorded_event(stream);
    }
    entry.launched = now();
}

void ProfiledScope::finish() noexcept try {
    ProfileEntry &entry = *entry_;
    entry.returned = now();
    const bool failed = std::uncaught_exceptions() > exceptions_;
    if (!entry.is_inline) {
        RuntimeScope scope(*entry.runtime);
        if (entry.events[0] && !failed) entry.events[1] = recorded_event(entry.stream);
        if (!entry.events[1]) destroy_events(entry);
        entry.is_inline = !entry.events[1];
    }
    if (failed) return;
    entry.begin = entry.launched;
    entry.end = entry.returned;
    auto logged = std::make_shared<Logged>();
    logged->entry = std::move(entry);
    Log &log = log_of_process();
    std::lock_guard lock(log.mutex);
    if (!log.starts.empty()) log.entries.push_back(std::move(logged));
} catch (...) {  // no memory for the log: the work itself has been launched
}

}  // namespace infinicore::detail
