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
    if (const double number = read_setting(kThreadSetting, 0); number > 0) return size_t(number);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return size_t(std::max(1, CPU_COUNT(&allowed)));
    return size_t(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, long(kThreadSetting.most)));
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

    Place *place = offer(loop);
    if (place) {
        size_t wanted = std::min(size_, loop.pieces) - 1;
        if (started_.load(std::memory_order_relaxed) < wanted) [[unlikely]] {
            std::lock_guard guard(lock_);
            while (started_ < wanted && start_thread(thread_main, this)) ++started_;
        }
        posted_.fetch_add(1);
        if (sleepers_.load() != 0) futex_wake(posted_, int(wanted));
    }
    loop.work(0);
    if (place) take_back(*place);
}

ThreadPool::Place *ThreadPool::offer(Loop &loop) {
    for (Place &place : places_) {
        if (place.used.load(std::memory_order_relaxed) || place.used.exchange(true)) continue;
        place.loop.store(&loop);
        return &place;
    }
    return nullptr;
}

// All pieces are taken; some may still be worked on.
void ThreadPool::take_back(Place &place) {
    place.loop.store(nullptr);
    auto empty = [&] { return place.inside.load() == 0; };
    if (!spin(spin_ns(), empty)) {
        place.waiting.store(true);
        while (uint32_t inside = place.inside.load()) futex_wait(place.inside, inside);
        place.waiting.store(false);
    }
    place.used.store(false, std::memory_order_release);
}

void *ThreadPool::thread_main(void *pool) {
    pthread_setname_np(pthread_self(), "infini-pool");
    auto *self = static_cast<ThreadPool *>(pool);
    self->help(1 + self->arrived_.fetch_add(1, std::memory_order_relaxed));
    return nullptr;
}

// Works on what is offered. False: there was nothing.
bool ThreadPool::help_once(size_t thread) {
    bool found = false;
    for (Place &place : places_) {
        if (!place.loop.load(std::memory_order_relaxed)) continue;
        place.inside.fetch_add(1);
        // The caller stores null before it reads `inside`, so either it sees this thread there,
        // or this thread sees null.
        Loop *loop = place.loop.load();
        if (loop && loop->left.load(std::memory_order_relaxed) != 0) {
            loop->work(thread);
            found = true;
        }
        if (place.inside.fetch_sub(1) == 1 && place.waiting.load()) futex_wake(place.inside, 1);
    }
    return found;
}

void ThreadPool::help(size_t thread) {
    // Loops tend to follow each other closely, and waking many threads takes long. Where processors
    // are few, or fewer than threads, others need them.
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t patience_ns = size_t(processors) < size_ ? 0 : processors > 3 ? 300'000 : 30'000;
    for (;;) {
        uint32_t posted = posted_.load();
        while (help_once(thread)) {
        }
        auto another = [&] { return posted_.load(std::memory_order_relaxed) != posted; };
        if (spin_hot(patience_ns, another)) continue;
        sleepers_.fetch_add(1);
        futex_wait(posted_, posted);
        sleepers_.fetch_sub(1);
    }
}

}  // namespace infini::cpu
