// Compilation and loading of kernels, several in parallel while a plan is made.
#pragma once

#include <pthread.h>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "kernel.h"

namespace infini::cuda {

// Stays loaded until the process ends: plans and graphs may use it at any time.
class LoadedKernel final : public Kernel {
public:
    // One compilation. Concurrent requests for the kernel share its result, even a failure;
    // requests after a failure try again.
    struct Attempt {
        std::packaged_task<std::vector<char>()> compile;
        std::shared_future<std::vector<char>> code;
    };
    struct Begun {
        std::shared_ptr<Attempt> attempt;  // null: loaded
        bool is_mine = false;              // this thread must compile it
    };

    LoadedKernel(const Source &source, const Device &device);

    // Loads cached code from disk. Otherwise it must be compiled, or is being compiled. Throws
    // Refusal.
    Begun begin();
    // Waits for the compilation, and loads the result. Throws Refusal.
    void finish(const std::shared_ptr<Attempt> &attempt);
    void finish();  // sequentially, in this thread

    int resident_blocks(unsigned threads, size_t shared_bytes) const override;

protected:
    Error enqueue(const Stream &stream, Grid grid, unsigned threads, const void *params,
                  size_t shared_bytes) const override;

private:
    int load(const std::vector<char> &code);  // the driver's code; called with the lock held
    void allow(size_t shared_bytes) const;

    const Source source_;
    const Device &device_;
    std::mutex lock_;
    std::shared_ptr<Attempt> attempt_;  // set while it is being compiled
    std::atomic<bool> ready_{false};
    void *function_ = nullptr;  // set afterwards
    bool early_ = false;
    mutable std::mutex raising_;
    mutable std::atomic<size_t> allowed_{0};
};

// During its lifetime, kernels requested by its thread are compiled in parallel threads: a plan
// with several kernels takes as long as the slowest of them. No such thread outlives it.
class CompileTogether {
public:
    CompileTogether();
    ~CompileTogether();
    CompileTogether(const CompileTogether &) = delete;
    CompileTogether &operator=(const CompileTogether &) = delete;

    // Starts compiling a kernel. False: this thread has no such object.
    static bool add(const std::shared_ptr<LoadedKernel> &kernel);
    // Waits until all kernels are loaded. Throws Refusal.
    void finish();

private:
    using Attempt = std::shared_ptr<LoadedKernel::Attempt>;
    void start(const Attempt &attempt);

    CompileTogether *const outer_;
    std::vector<std::pair<std::shared_ptr<LoadedKernel>, Attempt>> begun_;
    std::vector<pthread_t> threads_;
};

}  // namespace infini::cuda
