// Devices, and the code that is loaded on them.
#include <algorithm>
#include <atomic>
#include <vector>

#include "compile.h"
#include "kernel.h"
#include "libraries.h"

namespace infini::cuda {
namespace {

// A launch that may begin while the kernel before it ends (CUlaunchConfig with one attribute); the
// kernel waits for that one itself, in prelude.cuh. It costs the host less than a plain launch, too.
struct LaunchAttribute {
    int number, unused, value;
    char rest[60];
};
constexpr LaunchAttribute kEarly{6, 0, 1, {}};  // programmatic stream serialization

struct EarlyLaunch {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream;
    const LaunchAttribute *attributes;
    unsigned attribute_count;
};

// The driver's functions; handles are pointers.
struct Driver {
    int (*load)(void **module, const void *image) = nullptr;
    int (*get_function)(void **function, void *module, const char *name) = nullptr;
    int (*set_attribute)(void *function, int attribute, int value) = nullptr;
    int (*occupancy)(int *blocks, void *function, int threads, size_t shared) = nullptr;
    int (*launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned shared, void *stream, void **params, void **extra) = nullptr;
    int (*launch_early)(const EarlyLaunch *, void *function, void **params,
                        void **extra) = nullptr;  // null: an older driver

    static const Driver &get() {
        static const Driver driver;
        return driver;
    }
    bool complete() const { return load && get_function && set_attribute && launch; }

private:
    Driver() {
        constexpr Part kPart = Part::kDriver;
        load = function<decltype(load)>(kPart, "ModuleLoadData");
        get_function = function<decltype(get_function)>(kPart, "ModuleGetFunction");
        set_attribute = function<decltype(set_attribute)>(kPart, "FuncSetAttribute");
        occupancy =
            function<decltype(occupancy)>(kPart, "OccupancyMaxActiveBlocksPerMultiprocessor");
        launch = function<decltype(launch)>(kPart, "LaunchKernel");
        launch_early = function<decltype(launch_early)>(kPart, "LaunchKernelEx");
    }
};

constexpr size_t kSharedWithoutAsking = 48 << 10;

// Loaded for as long as the process runs: plans and graphs may use it at any time.
class LoadedKernel final : public Kernel {
public:
    LoadedKernel(void *function, bool early) : function_(function), early_(early) {}

    int resident_blocks(unsigned threads, size_t shared_bytes) const override {
        int blocks = 0;
        allow(shared_bytes);
        const Driver &driver = Driver::get();
        if (driver.occupancy) driver.occupancy(&blocks, function_, int(threads), shared_bytes);
        return std::max(blocks, 1);
    }

protected:
    Error enqueue(const Stream &stream, Grid grid, unsigned threads, const void *params,
                  size_t shared_bytes) const override {
        if (grid.x == 0 || grid.y == 0 || grid.z == 0) return infinirtSuccess;
        allow(shared_bytes);
        void *list[] = {const_cast<void *>(params)};
        const Driver &driver = Driver::get();
        int code;
        if (early_) {
            const EarlyLaunch launch{
                grid.x,        grid.y,  grid.z, threads, 1, 1, unsigned(shared_bytes),
                stream.handle, &kEarly, 1};
            code = driver.launch_early(&launch, function_, list, nullptr);
        } else {
            code = driver.launch(function_, grid.x, grid.y, grid.z, threads, 1, 1,
                                 unsigned(shared_bytes), stream.handle, list, nullptr);
        }
        return code == 0 ? infinirtSuccess : check(Part::kDriver, code, "LaunchKernel");
    }

private:
    // A block gets more than 48 KiB, with what the kernel has of its own, only after the limit of
    // the kernel was raised. It is never lowered: other plans have the same kernel.
    void allow(size_t shared_bytes) const {
        constexpr int kMaxDynamicSharedBytes = 8;
        if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) [[likely]]
            return;
        std::lock_guard guard(raising_);
        if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) return;
        Driver::get().set_attribute(function_, kMaxDynamicSharedBytes, int(shared_bytes));
        allowed_.store(shared_bytes, std::memory_order_relaxed);
    }

    void *function_;
    const bool early_;
    mutable std::mutex raising_;
    mutable std::atomic<size_t> allowed_{0};
};

std::shared_ptr<const Kernel> load(const Source &source, const Device &device) {
    const Driver &driver = Driver::get();
    if (!driver.complete()) {
        const char *why = problem(Part::kDriver);
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, why ? why : "the driver lacks functions"};
    }
    const std::string text = source.text();
    use_device(device.index);
    void *module = nullptr, *function = nullptr;
    auto take = [&](bool anew) {
        int failed = driver.load(&module, code_of(source, text, device, anew).data());
        return failed ? failed : driver.get_function(&function, module, "infini_entry");
    };
    // What was kept may be of another driver's making: once more, then, without it.
    int failed = take(false);
    if (failed) failed = take(true);
    if (failed) {
        check(Part::kDriver, failed, "ModuleLoadData");
        throw Refusal{
            INFINI_STATUS_INTERNAL_ERROR,
            "the kernel " + source.file() + " cannot be loaded: code " + std::to_string(failed)};
    }
    return std::make_shared<LoadedKernel>(function, device.has_early_launch && driver.launch_early);
}

int attribute(int device, int number, int otherwise) {
    using Get = int (*)(int *, int, int);
    static const auto get = function<Get>(Part::kRuntime, "DeviceGetAttribute");
    int value = otherwise;
    return get && get(&value, number, device) == 0 ? value : otherwise;
}

}  // namespace

// One kernel of a device; the lock is held while it is compiled, so that nobody does it twice.
struct Device::Slot {
    std::mutex lock;
    std::shared_ptr<const Kernel> kernel;
};

Device::Device(int index) : index(index) {
    enum {  // of cudaDeviceAttr
        kWarp = 10,
        kMultiprocessors = 16,
        kL2Bytes = 38,
        kThreadsPerMultiprocessor = 39,
        kMajor = 75,
        kMinor = 76,
        kSharedBytesWhenAsked = 97
    };
    major = attribute(index, kMajor, 0);
    minor = attribute(index, kMinor, 0);
    multiprocessors = attribute(index, kMultiprocessors, 1);
    warp = attribute(index, kWarp, 32);
    l2_bytes = size_t(attribute(index, kL2Bytes, 0));
    threads_per_multiprocessor = attribute(index, kThreadsPerMultiprocessor, 2048);
    shared_bytes = size_t(attribute(index, kSharedBytesWhenAsked, int(kSharedWithoutAsking)));
    has_mma = major >= 8 && warp == 32;
    has_wgmma = major == 9 && warp == 32;
    has_early_launch = major >= 9 && warp == 32 && driver_version() >= 12030;  // in graphs, too
}

Device &Device::get(int index) {
    static std::mutex lock;
    static auto &devices = *new std::vector<std::unique_ptr<Device>>;
    std::lock_guard guard(lock);
    if (size_t(index) >= devices.size()) devices.resize(size_t(index) + 1);
    if (!devices[size_t(index)]) devices[size_t(index)] = std::make_unique<Device>(index);
    return *devices[size_t(index)];
}

std::shared_ptr<const Kernel> Device::compile(const Source &source) {
    Slot *slot = nullptr;
    {
        std::lock_guard guard(lock_);
        std::unique_ptr<Slot> &found = kernels_[source.identity()];
        if (!found) found = std::make_unique<Slot>();
        slot = found.get();
    }
    std::lock_guard guard(slot->lock);
    if (!slot->kernel) slot->kernel = load(source, *this);
    return slot->kernel;
}

int64_t Device::blocks_for(int64_t items, int64_t per_block, int waves) const {
    const int64_t needed = (items + per_block - 1) / per_block;
    return std::min(needed, int64_t(multiprocessors) * waves);
}

}  // namespace infini::cuda
