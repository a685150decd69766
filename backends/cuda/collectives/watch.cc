// The watch: one thread per process, which sleeps while nothing is pending.
#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <unordered_set>
#include <utility>

#include "collectives/communicator.h"

namespace infini::cuda::collectives {
namespace {

using Held = std::unordered_set<std::shared_ptr<Communicator>>;

struct Watch {
    std::mutex lock;
    std::condition_variable changed;
    Held busy, ending;
    bool started = false, stopped = false, gone = false;

    static Watch &get() {
        static auto &watch = *new Watch;  // leaked: the thread may outlive this library's statics
        return watch;
    }

    void add(Held Watch::*list, const std::shared_ptr<Communicator> &communicator) {
        std::lock_guard guard(lock);
        if (stopped || !(this->*list).insert(communicator).second) return;
        if (!std::exchange(started, true)) {
            std::thread([this] { run(); }).detach();
            // Called while the vendor's libraries are still loaded, because they were opened
            // earlier.
            std::atexit([] { get().stop(); });
        }
        changed.notify_all();
    }

    void stop() {
        if (is_forked()) return;  // the thread exists only in the parent, and may hold the lock
        std::unique_lock guard(lock);
        stopped = true;
        changed.notify_all();
        changed.wait_for(guard, std::chrono::seconds(1), [this] { return gone; });
    }

    void run() {
        constexpr auto kPause = std::chrono::milliseconds(20);
        std::unique_lock guard(lock);
        while (!stopped) {
            if (busy.empty() && ending.empty()) {
                changed.wait(guard);
                continue;
            }
            const Held watched = busy, end = ending;
            guard.unlock();
            Held idle, ended;
            for (const auto &communicator : watched) {
                std::string ignored;
                communicator->state(&ignored);
                if (!communicator->has_pending()) idle.insert(communicator);
            }
            for (const auto &communicator : end)
                if (communicator->leave(false)) ended.insert(communicator);
            guard.lock();
            for (const auto &communicator : ended) ending.erase(communicator);
            // New work may have arrived since.
            for (const auto &communicator : idle)
                if (!communicator->has_pending()) busy.erase(communicator);
            changed.wait_for(guard, kPause, [this] { return stopped; });
        }
        gone = true;
        changed.notify_all();
    }
};

}  // namespace

void watch(const std::shared_ptr<Communicator> &communicator) {
    Watch::get().add(&Watch::busy, communicator);
}

void watch_end(const std::shared_ptr<Communicator> &communicator) {
    Watch::get().add(&Watch::ending, communicator);
}

}  // namespace infini::cuda::collectives
