// A kernel of a CUDA-like back end: a planner inspects an operation, has device code
// compiled for the case, and makes a plan; the plan enqueues launches, any number of times and from
// any thread.
//
//     std::unique_ptr<Plan> plan_gather(const Operation &operation, Device &device) {
//         Source source("index/gather.cuh");
//         source.type("T", operation.tensor(0).dtype).constant("kDims", 2);
//         auto kernel = device.compile(source);
//         return make_plan([=](const Arguments &a, const Stream &stream) {
//             GatherParams params{a.pointer<void>(0), ...};
//             return kernel->launch(stream, blocks, 256, params);
//         });
//     }
//     INFINI_CUDA_KERNEL("gather", plan_gather);
#pragma once

#include <infini/operation.h>

#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

namespace infini::cuda {

using Error = infinirtError_t;

class Device;
class LoadedKernel;

// The stream of a plan's run.
struct Stream {
    Device &device;
    void *handle;  // the vendor's
};

// ---- Device code --------------------------------------------------------------------------------

// The text of a kernel: a file of device/, with types and constants that are defined before it.
// Sources with the same text are the same kernel.
class Source {
public:
    // "index/scatter.cuh:keys" is the kernel `keys` of a file with several.
    explicit Source(const char *file) : file_(file) {}

    Source &type(const char *name, int dtype);  // using T = f16;
    Source &type(const char *name, const std::string &type);
    Source &constant(const char *name, int64_t value);  // constexpr int64_t; bool and int convert
    Source &line(const std::string &text);              // any other line, inside namespace infini
    Source &include(const char *file);                  // another file, before the following lines
    // Enables architecture-specific instructions (sm_90a): wgmma, setmaxnreg.
    Source &architecture_specific();

    // All of it, includes resolved.
    std::string text() const;
    // A short key that distinguishes it from other sources of this back end.
    std::string identity() const { return file_ + (specific_ ? "!\n" : "\n") + lines_; }
    const std::string &file() const { return file_; }
    bool is_architecture_specific() const { return specific_; }

private:
    std::string file_, lines_;
    bool specific_ = false;
};

// The type of an element in device code: "f16". For complex numbers, a type of the same size, for
// copies.
const char *device_type(int dtype);
// A type of that many bytes (1, 2, 4, 8, 16), for kernels that only move elements.
const char *bytes_type(size_t bytes);
size_t dtype_bytes(int dtype);
inline bool is_float(int dtype) {
    return dtype == INFINI_DTYPE_F8 || dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 ||
           dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_F64;
}

struct Grid {
    unsigned x = 1, y = 1, z = 1;

    Grid() = default;
    // Converts from the number of blocks `x`; planners must respect the limits (2^31 - 1 in x,
    // 65535 in y and z).
    Grid(int64_t x, int64_t y = 1, int64_t z = 1)
        : x(unsigned(x)), y(unsigned(y)), z(unsigned(z)) {}
};

// Code that is loaded on one device.
class Kernel {
public:
    virtual ~Kernel() = default;

    // Launches nothing when the grid is empty.
    template <class Params>
    Error launch(const Stream &stream, Grid grid, unsigned threads, const Params &params,
                 size_t shared_bytes = 0) const {
        static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= 4096);
        return enqueue(stream, grid, threads, &params, shared_bytes);
    }
    // The number of resident blocks per multiprocessor (occupancy).
    virtual int resident_blocks(unsigned threads, size_t shared_bytes = 0) const = 0;

protected:
    virtual Error enqueue(const Stream &stream, Grid grid, unsigned threads, const void *params,
                          size_t shared_bytes) const = 0;
};

// ---- Devices ------------------------------------------------------------------------------------

class Device {
public:
    explicit Device(int index);
    static Device &get(int index);  // each is created once

    // Loads cached code, of this process or from disk, or compiles it. Throws Refusal with the
    // compiler's log. While a plan is made, its kernels are compiled in parallel: one may still be
    // compiling when this returns, and the planner's caller then waits for it and throws.
    std::shared_ptr<const Kernel> compile(const Source &source);

    // The number of blocks for `items`, of which a block handles `per_block`, at most `waves` times
    // the number of resident blocks: for kernels with a grid-stride loop.
    int64_t blocks_for(int64_t items, int64_t per_block, int waves = 8) const;

    const int index;
    std::string name;
    int major = 0, minor = 0;  // architecture
    int multiprocessors = 1;
    int warp = 32;  // lanes per warp in kernels
    // The device's own warps are wider: only shuffles inside a group of lanes are reliable.
    bool has_lane_groups = false;
    size_t l2_bytes = 0, shared_bytes = 48 << 10;  // maximum shared memory per block
    int threads_per_multiprocessor = 2048;
    // Whether there are tensor cores for mma.sync, and for wgmma.
    bool has_mma = false, has_wgmma = false;
    // Whether kernels may be launched while the previous one ends (programmatic dependent launch),
    // as those of prelude.cuh.
    bool has_early_launch = false;

private:
    std::mutex lock_;
    std::unordered_map<std::string, std::shared_ptr<LoadedKernel>> kernels_;  // by identity
};

// ---- Plans --------------------------------------------------------------------------------------

class Plan {
public:
    virtual ~Plan() = default;
    // Enqueues the work. Must not wait for the device, throw, or keep state in the plan.
    virtual Error run(const Arguments &arguments, const Stream &stream) const = 0;

    size_t workspace = 0;  // bytes, 256-byte aligned when it comes to run()
};

template <class Run>
std::unique_ptr<Plan> make_plan(Run run, size_t workspace = 0) {
    struct Callable final : Plan {
        explicit Callable(Run run) : run_(std::move(run)) {}
        Error run(const Arguments &arguments, const Stream &stream) const override {
            return run_(arguments, stream);
        }
        Run run_;
    };
    auto plan = std::make_unique<Callable>(std::move(run));
    plan->workspace = workspace;
    return plan;
}

// A plan for empty operations.
inline std::unique_ptr<Plan> make_empty_plan() {
    return make_plan([](const Arguments &, const Stream &) { return infinirtSuccess; });
}

// Copies and fills by the vendor's runtime, in order with the launches.
Error fill_bytes(const Stream &stream, void *memory, int value, size_t bytes);
Error copy_bytes(const Stream &stream, void *to, const void *from, size_t bytes);
// Only for operators with results on the host, which are never captured: waiting, and memory that
// the client frees with infinirtFree.
Error wait(const Stream &stream);
Error allocate(const Stream &stream, size_t bytes, void **memory);
Error release(const Stream &stream, void *memory);

// ---- Registration -------------------------------------------------------------------------------

// Null if the kernel does not support the case; then the operation's program is tried.
using Planner = std::unique_ptr<Plan> (*)(const Operation &, Device &);

// A kernel that takes an epilogue registers under "gemm+"; the engine of programs as "program".
Planner find_planner(const std::string &operation);

struct KernelEntry {
    KernelEntry(const char *operation, Planner planner);
};

#define INFINI_CUDA_JOIN_(a, b) a##b
#define INFINI_CUDA_JOIN(a, b) INFINI_CUDA_JOIN_(a, b)
// At namespace scope: the kernel of an operator.
#define INFINI_CUDA_KERNEL(operation, planner)                                             \
    static const ::infini::cuda::KernelEntry INFINI_CUDA_JOIN(kernel_entry_, __COUNTER__)( \
        operation, planner)

// Plans another operation as part of a plan, for example a gather in a sort. Null if there is no
// kernel and no program for it.
std::unique_ptr<Plan> plan_operation(const Operation &operation, Device &device);

}  // namespace infini::cuda
