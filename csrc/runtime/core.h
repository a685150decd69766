// Back ends, devices and the per-thread state of the runtime.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "fork_lock.h"
#include "functions.h"
#include "memory_range.h"
#include "static_tls.h"

namespace infini::rt {

using Error = infinirtError_t;

struct Backend;
struct Stream;
struct Pool;

// One device of one back end. Created when the back ends are loaded and never freed.
struct Device {
    Device(Backend &backend, int index);

    Backend &backend;
    const int index;
    InfiniDeviceInfo info{};
    std::unique_ptr<Stream> legacy;             // the null stream
    std::atomic<Pool *> default_pool{nullptr};  // made on first use
    std::atomic<Pool *> current_pool{nullptr};  // what MallocAsync uses; null means default_pool
    std::atomic<bool> pool_excess{false};       // its pools may have memory to give back
    std::atomic<unsigned> flags{0};             // SetDeviceFlags
    std::atomic<uint64_t> peers{0};             // bit i: access to peer device i enabled
    std::atomic<size_t> limits[16]{};           // DeviceSetLimit, by infinirtLimit
    std::atomic<int> cache_config{0}, shared_memory_config{0};
    // Memory owned by graphs: DeviceGetGraphMemAttribute.
    std::atomic<uint64_t> graph_memory_used{0}, graph_memory_used_high{0};
    std::atomic<uint64_t> graph_memory_reserved{0}, graph_memory_reserved_high{0};

    const InfiniDriver &driver() const;
};

// One back end that was found, usable or not.
struct Backend {
    std::string name, vendor, version, path;
    std::string reason;  // why there is no device; else a remark of the back end, or empty
    int kind = -1;       // infiniDevice_t, or a number above INFINI_DEVICE_TYPE_COUNT
    InfiniDriver driver{};
    InfiniOperators operator_table{};            // entries beyond the library's own table are null
    const InfiniOperators *operators = nullptr;  // that one; null: it has none
    std::vector<std::unique_ptr<Device>> devices;
    void *own[kFunctionCount]{};  // the back end's own functions, by Function
    // True if streams and all other handles are the back end's own: the core passes them on
    // unchecked.
    bool own_handles = false;
    std::atomic<bool> used{false};  // by some thread, at some time

    template <class F>
    F function(Function function) const {
        return reinterpret_cast<F>(own[static_cast<size_t>(function)]);
    }
};

inline const InfiniDriver &Device::driver() const { return backend.driver; }

// The back ends in the order in which they were found, the CPU first. Loads them on first use.
std::vector<Backend *> backends();
Backend *find_backend(const std::string &name);
Backend *find_backend(int kind);
Backend *load_backend(const std::string &path);  // never null: one that failed has a reason
Backend *
default_backend();  // INFINI_DEVICE, else first accelerator, else CPU; null when none works
// Why INFINI_DEVICE could not be used, or why no device works; for messages.
std::string default_backend_problem();

struct Thread {
    Backend *backend = nullptr;    // null until the first call that needs a device
    Device *device = nullptr;      // current device of `backend`
    std::vector<Device *> chosen;  // the device last used of each other back end
    Error last_error = infinirtSuccess;
    Error failed_code = infinirtSuccess;  // of the last failing call; the message belongs to it
    const char *failed_function = "";
    std::string message;      // empty: made from the two above when asked for
    std::string explanation;  // what a back end said about the error it is returning
    infinirtStreamCaptureMode capture_mode = infinirtStreamCaptureModeGlobal;
    int host_function_depth = 0;  // > 0 while a stream runs a host function on this thread
    std::vector<Stream *> default_streams;  // infinirtStreamPerThread, by device
    MemoryCache memory;                     // what the last look-ups of addresses found

    static Thread &current() {
        if (instance) [[likely]]
            return *instance;
        return make();
    }
    // A back end with native functions is notified. If that fails, with an explanation, nothing has
    // changed.
    Error use(Device &device);
    Error use(Backend &backend);  // the device of it that this thread used last, else its first
    ~Thread();

private:
    static Thread &make();
    // A plain pointer, so that reading it needs no initialisation check.
    static INFINI_STATIC_TLS constinit thread_local Thread *instance;
    friend struct ThreadEnd;
};

}  // namespace infini::rt
