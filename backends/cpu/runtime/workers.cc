#include "workers.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "../operators.h"
#include "copy.h"
#include "process.h"
#include "shared_event.h"

namespace infini::cpu {
namespace {

constexpr int kKeptIdle = 4;                // idle threads beyond these
constexpr int64_t kIdleNs = 5'000'000'000;  // end after this time
constexpr int kStreak = 32;                 // items before an equally urgent stream gets its turn

}  // namespace

struct Workers::Worker {
    Workers *owner;
    Stream *stream;  // what to run next
    bool slot;       // holds a slot
    // kCalled: `stream` is set. kAsleep: a caller has to wake the futex.
    static constexpr uint32_t kAwake = 0, kAsleep = 1, kCalled = 2;
    std::atomic<uint32_t> state{kAwake};
    Worker *previous_idle = nullptr, *next_idle = nullptr;
    int64_t patience_ns = spin_ns();  // how long to spin for work
    bool kept = false;  // never exits when idle, so it needs no timer, which costs a microsecond
};

Workers::Workers() : limit_(std::max(2, int(ThreadPool::default_size()))) {}

// ---- Running a stream ---------------------------------------------------------------------------

// Runs items until the stream has none left, is parked, or must wait for a slot. Returns the stream
// to continue with.
Stream *Workers::run(Worker &self, Stream *stream) {
    Stream *freed = nullptr;  // by tickets completed here; scheduled before anything takes time
    for (int streak = 0;; ++streak) {
        Item &item = stream->queue.front();
        if (item.kind <= Kind::Host || item.kind == Kind::SharedAwait)
            while (freed) schedule(std::exchange(freed, freed->next));

        switch (item.kind) {
            case Kind::Copy:
            case Kind::Fill:
            case Kind::Kernel:
                if (self.slot && outranked(*stream, streak)) {
                    std::lock_guard guard(lock_);
                    push_ready(stream);
                    return pop_ready();
                }
                if (!self.slot && !enter(self, stream)) return nullptr;
                if (item.kind == Kind::Copy)
                    copy(item.copy);
                else if (item.kind == Kind::Fill)
                    fill(item.fill);
                else
                    run_and_drop(item.kernel);
                break;
            case Kind::Host: {
                leave(self);
                unsigned generation = fork_generation;
                item.host.function(item.host.data);
                // The function has forked, and this is the child: the stream belongs to the parent,
                // and this thread has nothing left to do. No exit handlers: those belong to the
                // parent, too.
                if (generation != fork_generation) _exit(0);
                break;
            }
            case Kind::Await: {
                Ticket *ticket = item.ticket;
                if (!ticket->done() && ticket->park(*stream)) return go_on_with(freed);
                ticket->drop();
                break;
            }
            case Kind::SharedAwait:
                leave(self);
                item.shared.event->wait(item.shared.number, 0);
                item.shared.event->drop();
                break;
            case Kind::SharedComplete:
                item.shared.event->complete(item.shared.number);
                item.shared.event->drop();
                break;
            case Kind::Complete: {
                Ticket *ticket = item.ticket;
                Ticket::Freed result = ticket->arrive();
                stream->queue.pop();
                bool last = stream->retire();
                if (result.sleepers) ticket->wake();
                ticket->drop();
                Stream **end = &freed;
                while (*end) end = &(*end)->next;
                *end = result.streams;
                if (last) return go_on_with(freed);
                continue;
            }
        }
        stream->queue.pop();
        if (stream->retire()) return go_on_with(freed);
    }
}

// Keeps the first released stream for this thread: a chain of streams that wait for each other
// needs no thread switches.
Stream *Workers::go_on_with(Stream *freed) {
    if (!freed) return nullptr;
    Stream *own = std::exchange(freed, freed->next);
    while (freed) schedule(std::exchange(freed, freed->next));
    return own;
}

// ---- Slots --------------------------------------------------------------------------------------

// Takes a slot, or leaves the stream to wait for one.
bool Workers::enter(Worker &self, Stream *stream) {
    std::lock_guard guard(lock_);
    if (running_ < limit_) {
        ++running_;
        return self.slot = true;
    }
    push_ready(stream);
    return false;
}

void Workers::leave(Worker &self) {
    if (!self.slot) return;
    self.slot = false;
    lock_.lock();
    Stream *stream = pop_ready();
    if (!stream) --running_;
    Worker *worker = stream ? take_idle() : nullptr;
    lock_.unlock();
    if (stream) hand_over(worker, stream, true);
}

// Whether another stream should get this one's slot: more urgent ones immediately, equally urgent
// ones after a while.
bool Workers::outranked(const Stream &stream, int streak) const {
    uint32_t ranks = ready_ranks_.load(std::memory_order_relaxed);
    if (ranks == 0) [[likely]]
        return false;
    uint32_t above = (1u << stream.rank) - 1;
    return ranks & (streak < kStreak ? above : above | 1u << stream.rank);
}

void Workers::push_ready(Stream *stream) {
    auto &list = ready_[stream->rank];
    stream->next = nullptr;
    (list.first ? list.last->next : list.first) = stream;
    list.last = stream;
    ready_ranks_.fetch_or(1u << stream->rank, std::memory_order_relaxed);
}

Stream *Workers::pop_ready() {
    uint32_t ranks = ready_ranks_.load(std::memory_order_relaxed);
    if (ranks == 0) return nullptr;
    int rank = __builtin_ctz(ranks);
    Stream *stream = ready_[rank].first;
    ready_[rank].first = stream->next;
    if (!stream->next) ready_ranks_.fetch_and(~(1u << rank), std::memory_order_relaxed);
    return stream;
}

// ---- Threads ------------------------------------------------------------------------------------

void Workers::schedule(Stream *stream) {
    bool slot = is_device_work(stream->queue.front().kind);
    lock_.lock();
    if (slot && running_ == limit_) {
        push_ready(stream);
        lock_.unlock();
        return;
    }
    if (slot) ++running_;
    Worker *worker = take_idle();
    lock_.unlock();
    hand_over(worker, stream, slot);
}

// Gives a stream, with or without a slot, to an idle worker, or to a new one if that is null.
void Workers::hand_over(Worker *worker, Stream *stream, bool slot) {
    if (worker) {
        worker->stream = stream;
        worker->slot = slot;
        if (worker->state.exchange(Worker::kCalled, std::memory_order_acq_rel) == Worker::kAsleep)
            futex_wake(worker->state, 1);
    } else if (!spawn(stream, slot)) {
        // No more threads can be created. The next idle worker takes it.
        std::lock_guard guard(lock_);
        if (slot) --running_;
        push_ready(stream);
    }
}

bool Workers::spawn(Stream *stream, bool slot) {
    auto *worker = new (std::nothrow) Worker{.owner = this, .stream = stream, .slot = slot};
    if (!worker) return false;
    threads_.fetch_add(1, std::memory_order_relaxed);
    if (start_thread(thread_main, worker)) return true;
    threads_.fetch_sub(1, std::memory_order_relaxed);
    delete worker;
    return false;
}

Error Workers::start_first() {
    if (spawn(nullptr, false)) return infinirtSuccess;
    return fail(
        infinirtErrorMemoryAllocation,
        "the system gives no thread to run streams; raise the limit of processes (ulimit -u)");
}

void *Workers::thread_main(void *worker) {
    auto *self = static_cast<Worker *>(worker);
    pthread_setname_np(pthread_self(), "infini-stream");
    self->owner->serve(*self);
    self->owner->threads_.fetch_sub(1, std::memory_order_relaxed);
    delete self;
    return nullptr;
}

void Workers::serve(Worker &self) {
    for (;;) {
        while (self.stream) self.stream = run(self, self.stream);
        bool spins = false;
        {
            std::lock_guard guard(lock_);
            if (self.slot) --running_;
            self.slot = false;
            if (running_ < limit_) self.stream = pop_ready();
            if (self.stream) {
                ++running_;
                self.slot = true;
                continue;
            }
            self.state.store(Worker::kAwake, std::memory_order_relaxed);
            spins = add_idle(self);
        }
        if (!wait_for_work(self, spins)) return;
    }
}

// False: the thread was idle for a long time, and should exit.
bool Workers::wait_for_work(Worker &self, bool spins) {
    auto called = [&] { return self.state.load(std::memory_order_acquire) == Worker::kCalled; };
    int64_t since = now_ns();
    // Spins for long only if the last call came soon.
    if (spins && spin(self.patience_ns, called)) return true;
    if (spins) {
        std::lock_guard guard(lock_);
        if (spinner_ == &self) spinner_ = nullptr;
    }
    uint32_t awake = Worker::kAwake;
    self.state.compare_exchange_strong(awake, Worker::kAsleep, std::memory_order_acq_rel);
    while (!called()) {
        futex_wait(self.state, Worker::kAsleep, self.kept ? -1 : kIdleNs);
        if (called() || self.kept || now_ns() - since < kIdleNs) continue;
        std::lock_guard guard(lock_);
        bool idle = self.previous_idle || idle_ == &self;  // else a call is imminent
        if (idle && idle_count_ > kKeptIdle) {
            remove_idle(self);
            return false;
        }
        since = now_ns();
    }
    // The wake-up took time, too: a call within spin_ns() is seen some time later.
    self.patience_ns = now_ns() - since < 3 * spin_ns() ? spin_ns() : spin_ns() / 8;
    return true;
}

// The idle worker that answers fastest, or null. It leaves the list. The caller holds the lock.
Workers::Worker *Workers::take_idle() {
    Worker *worker = spinner_ ? spinner_ : idle_;
    if (worker) remove_idle(*worker);
    return worker;
}

// True: this worker spins for a while, since no other idle one does.
bool Workers::add_idle(Worker &worker) {
    worker.next_idle = idle_;
    if (idle_) idle_->previous_idle = &worker;
    idle_ = &worker;
    worker.kept = ++idle_count_ <= kKeptIdle;
    if (spinner_) return false;
    spinner_ = &worker;
    return true;
}

void Workers::remove_idle(Worker &worker) {
    (worker.previous_idle ? worker.previous_idle->next_idle : idle_) = worker.next_idle;
    if (worker.next_idle) worker.next_idle->previous_idle = worker.previous_idle;
    worker.previous_idle = worker.next_idle = nullptr;
    --idle_count_;
    if (spinner_ == &worker) spinner_ = nullptr;
}

}  // namespace infini::cpu
