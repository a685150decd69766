// Kernels on their way from text to the device, several at a time while a plan is made.
#pragma once

#include <pthread.h>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "compile/compiler.h"
#include "kernel.h"

namespace infini::cuda {

// Loaded for as long as the process runs: plans and graphs may use it at any time.
class LoadedKernel final : public Kernel {
public:
    // Compiling it once. Whoever asks for the kernel meanwhile holds it and has its result, also a
    // failure; whoever asks after a failure has it tried again.
    struct Attempt {
        std::packaged_task<std::vector<char>()> compile;
        std::shared_future<std::vector<char>> code;
    };
    struct Begun {
        std::shared_ptr<Attempt> attempt;  // null: it is loaded
        bool is_mine = false;              // nobody else compiles it
    };

    LoadedKernel(const Source &source, const Device &device);

    // Loads what was kept on disk. Else it is to be compiled, or somebody does so. Throws Refusal.
    Begun begin();
    // Waits until that is done, and loads it. Throws Refusal.
    void finish(const std::shared_ptr<Attempt> &attempt);
    void finish();  // one after the other, by this thread

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
    std::shared_ptr<Attempt> attempt_;  // there while somebody compiles it
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
    using Attempt = std::shared_ptr<LoadedKernel::Attempt>;
    void start(const Attempt &attempt);

    CompileTogether *const outer_;
    std::vector<std::pair<std::shared_ptr<LoadedKernel>, Attempt>> begun_;
    std::vector<pthread_t> threads_;
};

}  // namespace infini::cuda
