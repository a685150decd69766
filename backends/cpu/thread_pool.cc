#include "thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <mutex>

#include "setting.h"

namespace infini::cpu {

bool start_thread(void *(*main)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    int failed = pthread_create(&thread, &attributes, main, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return !failed;
}

size_t ThreadPool::default_size() {
    if (long number = read(kThreadSetting); number > 0) return size_t(number);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return size_t(std::max(1, CPU_COUNT(&allowed)));
    return size_t(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, kThreadSetting.most));
}

// Does pieces until none is left, those of `thread` first.
void ThreadPool::Loop::work(size_t thread) {
    size_t first = thread * own % pieces;
    for (size_t i = 0; i < pieces && left.load(std::memory_order_relaxed) != 0; ++i) {
        size_t at = first + i < pieces ? first + i : first + i - pieces;
        if (taken[at].load(std::memory_order_relaxed) ||
            taken[at].exchange(true, std::memory_order_relaxed))
            continue;
        left.fetch_sub(1, std::memory_order_relaxed);
        call(body, at * piece, std::min((at + 1) * piece, count));
    }
}

void ThreadPool::run(Loop &loop, size_t grain) {
    // A few pieces for each thread: one that starts late or is held up does fewer of them.
    constexpr size_t kPiecesPerThread = 4;
    size_t most = std::min(size_ * kPiecesPerThread, kMostPieces);
    loop.piece = std::max({grain, (loop.count + most - 1) / most, size_t(1)});
    loop.pieces = (loop.count + loop.piece - 1) / loop.piece;
    loop.own = (loop.pieces + size_ - 1) / size_;
    loop.left.store(loop.pieces, std::memory_order_relaxed);
    for (size_t i = 0; i < loop.pieces; ++i) loop.taken[i].store(false, std::memory_order_relaxed);
    size_t wanted = std::min(size_, loop.pieces) - 1;
    {
        std::lock_guard guard(lock_);
        while (started_ < wanted && start_thread(thread_main, this)) ++started_;
        loop.following = loops_;
        loops_ = &loop;
    }
    posted_.fetch_add(1);
    if (sleepers_.load() != 0) futex_wake(posted_, int(wanted));

    loop.work(0);

    {
        std::lock_guard guard(lock_);  // from here on nobody joins
        Loop **place = &loops_;
        while (*place != &loop) place = &(*place)->following;
        *place = loop.following;
    }
    auto alone = [&] { return loop.helpers.load(std::memory_order_acquire) == 0; };
    if (spin(spin_ns(), alone)) return;
    while (uint32_t helpers = loop.helpers.load(std::memory_order_acquire))
        futex_wait(loop.helpers, helpers);
}

void *ThreadPool::thread_main(void *pool) {
    pthread_setname_np(pthread_self(), "infini-pool");
    auto *self = static_cast<ThreadPool *>(pool);
    self->help(1 + self->arrived_.fetch_add(1, std::memory_order_relaxed));
    return nullptr;
}

// A loop with pieces left, which the calling helper now works on.
ThreadPool::Loop *ThreadPool::join() {
    std::lock_guard guard(lock_);
    for (Loop *loop = loops_; loop; loop = loop->following)
        if (loop->left.load(std::memory_order_relaxed) != 0) {
            loop->helpers.fetch_add(1, std::memory_order_relaxed);
            return loop;
        }
    return nullptr;
}

void ThreadPool::help(size_t thread) {
    for (;;) {
        uint32_t posted = posted_.load();
        while (Loop *loop = join()) {
            loop->work(thread);
            // The caller may be gone right after the last helper is: the wake-up then finds nobody,
            // which is harmless.
            std::atomic<uint32_t> &helpers = loop->helpers;
            if (helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(helpers, 1);
        }
        // Loops tend to follow each other closely, and waking many threads takes long.
        if (spin(spin_long_ns(), [&] { return posted_.load(std::memory_order_relaxed) != posted; }))
            continue;
        sleepers_.fetch_add(1);
        futex_wait(posted_, posted);
        sleepers_.fetch_sub(1);
    }
}

}  // namespace infini::cpu
