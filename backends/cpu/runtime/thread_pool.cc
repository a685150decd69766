#include "thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "loop_costs.h"
#include "machine.h"
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

namespace {

long processors() {
    static const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count;
}

// The number of involuntary context switches of the calling thread.
long preemptions() {
    rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

// How long a helper spins for the next loop. Loops tend to follow each other closely, and waking
// many threads is slow; but spinning takes processors from other programs.
class Patience {
public:
    explicit Patience(bool crowded)
        : most_(crowded            ? 0
                : processors() > 3 ? 300'000
                                   : 100'000),
          now_(most_) {}

    int64_t ns() const { return now_; }

    // Called after spinning in vain.
    void learn() {
        const long count = preemptions();
        now_ = count != preemptions_ ? most_ / 16 : std::min(most_, 2 * now_);
        preemptions_ = count;
    }

private:
    const int64_t most_;
    int64_t now_;
    long preemptions_ = 0;
};

}  // namespace

ThreadPool::ThreadPool()
    : crowded_(size_t(processors()) < size_), seats_(std::make_unique<Seat[]>(size_)) {
    for (Place &place : places_) place.parts = std::make_unique<Part[]>(size_);
}

size_t ThreadPool::default_size() {
    if (const double number = read_setting(kThreadSetting, 0); number > 0) return size_t(number);
    const size_t granted = processor_quota();
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return std::min(granted, size_t(std::max(1, CPU_COUNT(&allowed))));
    return std::min(granted, size_t(std::clamp(processors(), 1L, long(kThreadSetting.most))));
}

void ThreadPool::set_limit(size_t threads) {
    limit_.store(std::clamp<size_t>(threads, 1, size_), std::memory_order_relaxed);
}

// ---- Pieces -------------------------------------------------------------------------------------

// False: all chunks of the part are taken.
bool ThreadPool::Loop::take(size_t part, size_t &piece) const {
    const uint32_t each = pieces / threads, more = pieces % threads;
    const uint32_t size = each + (part < more);
    std::atomic<uint64_t> &counter = parts[part].taken;
    uint64_t seen = counter.load(std::memory_order_relaxed);
    for (;;) {
        const uint32_t taken = uint32_t(seen >> 32) == number ? uint32_t(seen) : 0;
        if (taken >= size) return false;
        const uint64_t next = uint64_t(number) << 32 | (taken + 1);
        if (!counter.compare_exchange_weak(seen, next, std::memory_order_relaxed)) continue;
        piece = part * each + std::min<size_t>(part, more) + taken;
        return true;
    }
}

// Runs chunks until none is left, those of `part` first.
void ThreadPool::Loop::work(size_t part) const {
    for (size_t i = 0; i < threads; ++i) {
        const size_t from = part + i < threads ? part + i : part + i - threads;
        for (size_t at; take(from, at);) call(body, at * piece, std::min((at + 1) * piece, count));
    }
}

// ---- Callers ------------------------------------------------------------------------------------

// Read when a loop first needs them. Meanwhile, and for loops that measure, there are none.
const LoopCosts &ThreadPool::find_costs() {
    static const auto &none = *new LoopCosts;  // helpers may outlive static objects
    const LoopCosts *found = nullptr;
    if (!costs_.compare_exchange_strong(found, &none, std::memory_order_acq_rel)) return *found;
    LoopCosts made = LoopCosts::of(*this);
    if (made.empty()) return none;
    found = new LoopCosts(std::move(made));  // for as long as the pool, which is for ever
    costs_.store(found, std::memory_order_release);
    return *found;
}

inline const LoopCosts &ThreadPool::costs() {
    const LoopCosts *found = costs_.load(std::memory_order_acquire);
    return found ? *found : find_costs();
}

size_t ThreadPool::worth_threads(double ranges) {
    const LoopCosts &found = costs();
    return found.empty() ? size_ : found.threads(ranges);
}

void ThreadPool::run(Loop &loop, size_t grain, double ranges) {
    size_t limit = this->limit();
    if (const LoopCosts &found = costs(); !found.empty()) {
        limit = std::min(limit, found.threads(ranges));
        if (limit == 1) return loop.call(loop.body, 0, loop.count);
    }
    run_on(loop, grain, limit);
}

void ThreadPool::run_on(Loop &loop, size_t grain, size_t limit) {
    // A few chunks for each thread, so that one that starts late or is delayed runs fewer of them.
    constexpr size_t kPiecesPerThread = 4;
    const size_t most = limit * kPiecesPerThread;
    loop.piece = std::max({grain, (loop.count + most - 1) / most, size_t(1)});
    loop.pieces = uint32_t((loop.count + loop.piece - 1) / loop.piece);
    loop.threads = uint32_t(std::min(limit, size_t(loop.pieces)));
    if (!offer(loop)) return loop.call(loop.body, 0, loop.count);
    const size_t wanted = loop.threads - 1;
    if (started_.load(std::memory_order_relaxed) < wanted) [[unlikely]] {
        std::lock_guard guard(lock_);
        while (started_ < wanted && start_thread(thread_main, this)) ++started_;
    }
    posted_.fetch_add(1);
    wake_below(loop, 0);
    loop.work(0);
    take_back(loop);
}

bool ThreadPool::offer(Loop &loop) {
    for (size_t i = 0; i < kPlaces; ++i) {
        Place &place = places_[i];
        if (place.used.load(std::memory_order_relaxed) || place.used.exchange(true)) continue;
        loop.place = i;
        loop.number = ++place.number;
        loop.parts = place.parts.get();
        loops_[i].store(&loop);
        return true;
    }
    return false;
}

// All chunks are taken; some may still be running.
void ThreadPool::take_back(const Loop &loop) {
    Place &place = places_[loop.place];
    loops_[loop.place].store(nullptr);
    const size_t helpers = arrived_.load();  // later threads find no loop
    const uint32_t mine = uint32_t(loop.place) + 1;
    size_t next = 1;  // seats before it are free
    auto empty = [&] {
        while (next <= helpers && seats_[next].inside.load() != mine) ++next;
        return next > helpers;
    };
    if (!(crowded_ ? spin(spin_ns(), empty) : spin_hot(10 * spin_ns(), empty))) {
        for (;;) {
            place.waiting.store(1);
            if (empty()) break;
            futex_wait(place.waiting, 1);
        }
        place.waiting.store(0);
    }
    place.used.store(false, std::memory_order_release);
}

// ---- Helpers ------------------------------------------------------------------------------------

// Each slot begins with a different helper, so that small loops of several callers get different
// ones.
size_t ThreadPool::part_of(size_t helper, size_t place) const {
    const size_t helpers = size_ - 1, base = place * helpers / kPlaces;
    return 1 + (helper - 1 + helpers - base) % helpers;
}

size_t ThreadPool::helper_of(size_t part, size_t place) const {
    const size_t helpers = size_ - 1, base = place * helpers / kPlaces;
    return 1 + (part - 1 + base) % helpers;
}

// Waking a thread takes longer than many loops. So the parts form a binary tree, and each thread
// wakes its two children, and those of a child that is busy with another loop.
void ThreadPool::wake_below(const Loop &loop, size_t part) {
    for (size_t below = 2 * part + 1; below <= 2 * part + 2 && below < loop.threads; ++below) {
        Seat &seat = seats_[helper_of(below, loop.place)];
        uint32_t state = seat.state.load();
        if (state == Seat::kWorking) wake_below(loop, below);
        if (state == Seat::kAsleep && seat.state.compare_exchange_strong(state, Seat::kSpinning))
            futex_wake(seat.state, 1);
    }
}

void *ThreadPool::thread_main(void *pool) {
    pthread_setname_np(pthread_self(), "infini-pool");
    auto *self = static_cast<ThreadPool *>(pool);
    self->help(1 + self->arrived_.fetch_add(1));
    return nullptr;
}

// Works on the offered loops.
void ThreadPool::help_once(size_t helper) {
    Seat &seat = seats_[helper];
    for (size_t i = 0; i < kPlaces; ++i) {
        if (!loops_[i].load(std::memory_order_relaxed)) continue;
        seat.inside.store(uint32_t(i) + 1);
        // The caller stores null before it reads the seat, so either it sees this thread there, or
        // this thread sees null.
        const Loop *loop = loops_[i].load();
        const size_t part = part_of(helper, i);
        if (loop && part < loop->threads) {
            seat.state.store(Seat::kWorking, std::memory_order_relaxed);
            wake_below(*loop, part);
            loop->work(part);
            seat.state.store(Seat::kSpinning, std::memory_order_relaxed);
        }
        seat.inside.store(0);
        Place &place = places_[i];
        if (place.waiting.load() && place.waiting.exchange(0)) futex_wake(place.waiting, 1);
    }
}

void ThreadPool::help(size_t helper) {
    Patience patience(crowded_);
    Seat &seat = seats_[helper];
    for (;;) {
        const uint32_t posted = posted_.load();
        help_once(helper);
        auto another = [&] { return posted_.load(std::memory_order_relaxed) != posted; };
        if (spin_hot(patience.ns(), another)) continue;
        patience.learn();
        seat.state.store(Seat::kAsleep);
        while (posted_.load() == posted && seat.state.load() == Seat::kAsleep)
            futex_wait(seat.state, Seat::kAsleep);
        seat.state.store(Seat::kSpinning);
    }
}

}  // namespace infini::cpu
