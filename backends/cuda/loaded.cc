#include "loaded.h"

#include <algorithm>
#include <chrono>

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

// The compiler calls itself as deeply as the text is nested: what a thread gets by default depends
// on the limits of the process.
constexpr size_t kStackBytes = 16 << 20;

thread_local CompileTogether *together = nullptr;

// And nobody was told, as its plan failed before.
bool has_failed(const std::shared_future<std::vector<char>> &made) try {
    if (made.wait_for(std::chrono::seconds(0)) == std::future_status::ready) made.get();
    return false;
} catch (...) {
    return true;
}

void *run(void *task) {
    const std::unique_ptr<std::shared_ptr<LoadedKernel::Task>> owned(
        static_cast<std::shared_ptr<LoadedKernel::Task> *>(task));
    (**owned)();
    return nullptr;
}

}  // namespace

LoadedKernel::LoadedKernel(const Source &source, const Device &device)
    : source_(source), device_(device) {}

int LoadedKernel::load(const std::vector<char> &code) {
    const Driver &driver = Driver::get();
    use_device(device_.index);
    void *module = nullptr;
    if (int failed = driver.load(&module, code.data())) return failed;
    if (int failed = driver.get_function(&function_, module, "infini_entry")) return failed;
    early_ = device_.has_early_launch && driver.launch_early;
    ready_.store(true, std::memory_order_release);
    return 0;
}

std::shared_ptr<LoadedKernel::Task> LoadedKernel::begin() {
    if (ready_.load(std::memory_order_acquire)) return nullptr;
    if (!Driver::get().complete()) {
        const char *why = problem(Part::kDriver);
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, why ? why : "the driver lacks functions"};
    }
    std::lock_guard guard(lock_);
    if (ready_.load(std::memory_order_relaxed)) return nullptr;
    if (code_.valid() && !has_failed(code_)) return nullptr;
    auto recipe = std::make_shared<Recipe>(source_, device_);
    // What was kept may be of another driver's making: then it is compiled anew.
    std::vector<char> kept;
    if (Cache::get().load(recipe->key, kept) && load(kept) == 0) return nullptr;
    auto task = std::make_shared<Task>([recipe] { return recipe->make(); });
    code_ = task->get_future().share();
    return task;
}

void LoadedKernel::finish() {
    while (!ready_.load(std::memory_order_acquire)) {
        std::shared_future<std::vector<char>> made;
        {
            std::lock_guard guard(lock_);
            made = code_;
        }
        if (!made.valid()) {  // nobody has begun, or another thread was told of its failure
            if (auto task = begin()) (*task)();
            continue;
        }
        made.wait();
        std::lock_guard guard(lock_);
        if (ready_.load(std::memory_order_relaxed)) return;
        code_ = {};
        if (int failed = load(made.get())) {
            check(Part::kDriver, failed, "ModuleLoadData");
            throw Refusal{INFINI_STATUS_INTERNAL_ERROR, "the kernel " + source_.file() +
                                                            " cannot be loaded: code " +
                                                            std::to_string(failed)};
        }
    }
}

int LoadedKernel::resident_blocks(unsigned threads, size_t shared_bytes) const {
    // A plan that is being made asks for it: the kernel may still be on its way.
    const_cast<LoadedKernel *>(this)->finish();
    int blocks = 0;
    allow(shared_bytes);
    const Driver &driver = Driver::get();
    if (driver.occupancy) driver.occupancy(&blocks, function_, int(threads), shared_bytes);
    return std::max(blocks, 1);
}

Error LoadedKernel::enqueue(const Stream &stream, Grid grid, unsigned threads, const void *params,
                            size_t shared_bytes) const {
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

// A block gets more than 48 KiB, with what the kernel has of its own, only after the limit of the
// kernel was raised. It is never lowered: other plans have the same kernel.
void LoadedKernel::allow(size_t shared_bytes) const {
    constexpr int kMaxDynamicSharedBytes = 8;
    if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) [[likely]]
        return;
    std::lock_guard guard(raising_);
    if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) return;
    Driver::get().set_attribute(function_, kMaxDynamicSharedBytes, int(shared_bytes));
    allowed_.store(shared_bytes, std::memory_order_relaxed);
}

CompileTogether::CompileTogether() : outer_(together) { together = this; }

CompileTogether::~CompileTogether() {
    together = outer_;
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
}

bool CompileTogether::add(const std::shared_ptr<LoadedKernel> &kernel) {
    if (!together) return false;
    if (auto task = kernel->begin()) together->start(std::move(task));
    together->kernels_.push_back(kernel);
    return true;
}

void CompileTogether::start(std::shared_ptr<LoadedKernel::Task> task) {
    threads_.reserve(threads_.size() + 1);
    auto owned = std::make_unique<std::shared_ptr<LoadedKernel::Task>>(task);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_t thread;
    const int failed = pthread_create(&thread, &attributes, run, owned.get());
    pthread_attr_destroy(&attributes);
    if (failed) return (*task)();  // no more threads: then this one does it
    owned.release();
    threads_.push_back(thread);
}

void CompileTogether::finish() {
    for (const auto &kernel : kernels_) kernel->finish();
}

}  // namespace infini::cuda
