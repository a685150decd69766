// Kernels on their way from text to the device, several at a time while a plan is made.
#pragma once

#include <pthread.h>

#include <atomic>
#include <future>
#include <vector>

#include "compile.h"
#include "kernel.h"

namespace infini::cuda {

// Loaded for as long as the process runs: plans and graphs may use it at any time.
class LoadedKernel final : public Kernel {
public:
    using Task = std::packaged_task<std::vector<char>()>;  // compiles

    LoadedKernel(const Source &source, const Device &device);

    // Loads what was kept on disk. Else, if nobody is compiling it: the task to do so.
    std::shared_ptr<Task> begin();
    // Waits until it is loaded, and does what nobody else does. Throws Refusal; whoever asks for the
    // kernel again has it tried again.
    void finish();

    int resident_blocks(unsigned threads, size_t shared_bytes) const override;

protected:
    Error enqueue(const Stream &stream, Grid grid, unsigned threads, const void *params,
                  size_t shared_bytes) const override;

private:
    int load(const std::vector<char> &code);  // the driver's code; the lock is held
    void allow(size_t shared_bytes) const;

    const Source source_;
    const Device &device_;
    std::mutex lock_;
    std::shared_future<std::vector<char>> code_;  // valid while somebody compiles it
    std::atomic<bool> ready_{false};
    void *function_ = nullptr;  // from then on
    bool early_ = false;
    mutable std::mutex raising_;
    mutable std::atomic<size_t> allowed_{0};
};

// While one of these lives, what its thread has compiled is compiled by threads beside it: a plan
// with several kernels takes as long as the longest of them. No such thread outlives it.
class CompileTogether {
public:
    CompileTogether();
    ~CompileTogether();
    CompileTogether(const CompileTogether &) = delete;
    CompileTogether &operator=(const CompileTogether &) = delete;

    // Begins with a kernel. False: this thread has none of these.
    static bool add(const std::shared_ptr<LoadedKernel> &kernel);
    // All kernels are loaded then. Throws Refusal.
    void finish();

private:
    void start(std::shared_ptr<LoadedKernel::Task> task);

    CompileTogether *const outer_;
    std::vector<std::shared_ptr<LoadedKernel>> kernels_;
    std::vector<pthread_t> threads_;
};

}  // namespace infini::cuda
