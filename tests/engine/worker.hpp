// A thread for each rank: the current device belongs to the thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <infinicore/context/context.hpp>
#include <mutex>
#include <thread>

namespace engine {

class Worker {
public:
    explicit Worker(infinicore::Device device) : thread_([this, device] { serve(device); }) {}
    ~Worker() {
        post(nullptr);
        thread_.join();
    }
    Worker(const Worker &) = delete;

    std::future<void> run(std::function<void()> work) {
        auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
        std::future<void> done = task->get_future();
        post([task] { (*task)(); });
        return done;
    }

private:
    void post(std::function<void()> work) {
        {
            std::lock_guard<std::mutex> locked(mutex_);
            queue_.push_back(std::move(work));
        }
        added_.notify_one();
    }

    void serve(infinicore::Device device) {
        infinicore::context::setDevice(device);
        for (;;) {
            std::unique_lock<std::mutex> locked(mutex_);
            added_.wait(locked, [this] { return !queue_.empty(); });
            std::function<void()> work = std::move(queue_.front());
            queue_.pop_front();
            locked.unlock();
            if (!work) return;
            work();
        }
    }

    std::mutex mutex_;
    std::condition_variable added_;
    std::deque<std::function<void()>> queue_;
    std::thread thread_;  // last: it uses the others
};

}  // namespace engine
