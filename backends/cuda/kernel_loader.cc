#include "kernel_loader.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "libraries.h"

namespace infini::cuda {
namespace {

// A launch that may begin while the previous kernel ends (CUlaunchConfig with one attribute); the
// kernel itself waits for that one, in prelude.cuh. It costs the host less time than a plain
// launch.
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
    bool complete() const { return load && get_function && launch; }

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

// The compiler recurses as deeply as the text is nested: a thread's default stack size depends on
// the limits of the process.
constexpr size_t kStackBytes = 16 << 20;

thread_local CompileTogether *together = nullptr;

// Its failure was not reported, because its plan failed before.
bool has_failed(const LoadedKernel::Attempt &attempt) try {
    if (attempt.code.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
        attempt.code.get();
    return false;
} catch (...) {
    return true;
}

void *run(void *given) {
    const std::unique_ptr<std::shared_ptr<LoadedKernel::Attempt>> attempt(
        static_cast<std::shared_ptr<LoadedKernel::Attempt> *>(given));
    (*attempt)->compile();
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

LoadedKernel::Begun LoadedKernel::begin() {
    if (ready_.load(std::memory_order_acquire)) return {};
    if (!Driver::get().complete()) {
        const char *why = problem(Part::kDriver);
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, why ? why : "the driver lacks functions"};
    }
    std::lock_guard guard(lock_);
    if (ready_.load(std::memory_order_relaxed)) return {};
    if (attempt_ && !has_failed(*attempt_)) return {attempt_, false};
    auto compilation = std::make_shared<Compilation>(source_, device_);
    // Cached code may come from another driver: then it is compiled again.
    std::vector<char> kept;
    if (Cache::get().load(compilation->key, kept) && load(kept) == 0) return {};
    std::vector<char> image;
    if (compilation->load_image(image) && load(image) == 0) return {};
    auto attempt = std::make_shared<Attempt>();
    attempt->compile = decltype(attempt->compile)([compilation] { return compilation->make(); });
    attempt->code = attempt->compile.get_future().share();
    attempt_ = attempt;
    return {attempt, true};
}

void LoadedKernel::finish(const std::shared_ptr<Attempt> &attempt) {
    if (!attempt || ready_.load(std::memory_order_acquire)) return;
    attempt->code.wait();
    std::lock_guard guard(lock_);
    if (ready_.load(std::memory_order_relaxed)) return;
    if (attempt_ == attempt) attempt_ = nullptr;  // otherwise others have started again
    if (int failed = load(attempt->code.get())) {
        check(Part::kDriver, failed, "ModuleLoadData");
        throw Refusal{
            INFINI_STATUS_INTERNAL_ERROR,
            "the kernel " + source_.file() + " cannot be loaded: code " + std::to_string(failed)};
    }
}

void LoadedKernel::finish() {
    const Begun begun = begin();
    if (begun.is_mine) begun.attempt->compile();
    finish(begun.attempt);
}

int LoadedKernel::resident_blocks(unsigned threads, size_t shared_bytes) const {
    // Requested while a plan is made: the kernel may still be compiling.
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

// A block can use more than 48 KiB, including the kernel's static memory, only after the kernel's
// limit was raised. It is never lowered, because other plans use the same kernel.
void LoadedKernel::allow(size_t shared_bytes) const {
    constexpr int kMaxDynamicSharedBytes = 8;
    if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) [[likely]]
        return;
    std::lock_guard guard(raising_);
    if (shared_bytes <= allowed_.load(std::memory_order_relaxed)) return;
    if (Driver::get().set_attribute)
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
    const LoadedKernel::Begun begun = kernel->begin();
    if (begun.is_mine) together->start(begun.attempt);
    if (begun.attempt) together->begun_.emplace_back(kernel, begun.attempt);
    return true;
}

void CompileTogether::start(const Attempt &attempt) try {
    threads_.reserve(threads_.size() + 1);
    auto owned = std::make_unique<Attempt>(attempt);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_t thread;
    const int failed = pthread_create(&thread, &attributes, run, owned.get());
    pthread_attr_destroy(&attributes);
    if (failed) return attempt->compile();  // no more threads: compile in this one
    owned.release();
    threads_.push_back(thread);
} catch (const std::bad_alloc &) {
    attempt->compile();  // others may wait for it
}

void CompileTogether::finish() {
    for (const auto &[kernel, attempt] : begun_) kernel->finish(attempt);
}

}  // namespace infini::cuda
