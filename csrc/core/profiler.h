// What ran, when and where: the log behind infinicore.profile().
//
// Work on the CPU's default stream is done by the calling thread, whose clock times it. Work in other
// streams is timed by two events around it, which are read when the profile stops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime.h"

namespace infinicore::detail {

class Step;

// Steps that need less workspace than this take the fast path: 1, or 0 while a profile is on. So
// the fast path needs no separate test for profiles.
extern constinit std::atomic<size_t> plain_workspace;
inline bool is_profiling() { return plain_workspace.load(std::memory_order_relaxed) == 0; }

// One work item. Times are nanoseconds of the monotonic clock.
struct ProfileEntry {
    std::string name;
    const DeviceRuntime *runtime;
    infinirtStream_t stream;
    uint64_t thread;                                 // of the system, that launched it
    int64_t launched, returned;                      // when the launch began, and when it was over
    int64_t begin, end;                              // of the work itself
    size_t bytes;                                    // read and written by it; 0: unknown
    bool is_inline;                                  // it has no events: the launch did the work
    infinirtEvent_t events[2] = {nullptr, nullptr};  // until they are read
};

// Profiles nest, and see the work of all threads.
INFINI_EXPORT uint64_t start_profile();
// Waits for the work that was logged since the profile's start, and returns it.
INFINI_EXPORT std::vector<ProfileEntry> stop_profile(uint64_t profile);

// Logs what is launched in a scope; nothing unless a profile is on when it begins.
class ProfiledScope {
public:
    ProfiledScope(const char *name, const DeviceRuntime &runtime, size_t bytes) {
        if (is_profiling()) [[unlikely]]
            begin(name, runtime, stream_of(runtime), bytes);
    }
    ProfiledScope(const Step &step, infinirtStream_t stream);
    ~ProfiledScope() {
        if (entry_) [[unlikely]]
            finish();
    }
    ProfiledScope(const ProfiledScope &) = delete;

private:
    void begin(const std::string &name, const DeviceRuntime &runtime, infinirtStream_t stream,
               size_t bytes);
    void finish() noexcept;

    std::optional<ProfileEntry> entry_;
    int exceptions_ = 0;  // in flight when the scope began
};

}  // namespace infinicore::detail
