// Streams and events of a device that is the host: a stream is a queue with a thread of its own.
// Your runtime has streams and events already: replace this file by calls to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace infini_mychip {

using Clock = std::chrono::steady_clock;

// One record of an event. A wait holds the record that was submitted last before it.
class Record {
public:
    void finish() {
        std::lock_guard lock(mutex_);
        time_ = Clock::now(), done_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_; });
    }
    bool done() {
        std::lock_guard lock(mutex_);
        return done_;
    }
    Clock::time_point time() {
        std::lock_guard lock(mutex_);
        return time_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    Clock::time_point time_;
    bool done_ = false;
};

class Event {
public:
    explicit Event(bool timed) : timed(timed) {}
    const bool timed;

    std::shared_ptr<Record> begin() {
        std::lock_guard lock(mutex_);
        return last_ = std::make_shared<Record>();
    }
    // Null before the first record.
    std::shared_ptr<Record> last() {
        std::lock_guard lock(mutex_);
        return last_;
    }

private:
    std::mutex mutex_;
    std::shared_ptr<Record> last_;
};

// Work in the order in which it came. The thread holds the queue: one that was closed lives on
// until its work is done.
class Queue : public std::enable_shared_from_this<Queue> {
public:
    explicit Queue(bool blocking) : blocking(blocking) {}
    const bool blocking;  // takes part in the order of the legacy default stream

    void start() {
        std::thread([self = shared_from_this()] { self->serve(); }).detach();
    }
    void push(std::function<void()> work) {
        std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        ++submitted_;
        changed_.notify_all();
    }
    uint64_t submitted() {
        std::lock_guard lock(mutex_);
        return submitted_;
    }
    bool idle() {
        std::lock_guard lock(mutex_);
        return done_ == submitted_;
    }
    // Wait until so many items are done.
    void wait(uint64_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_ >= count; });
    }
    void close() {
        std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }

private:
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            auto work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
            work = nullptr;  // what it holds goes before the item counts as done
            lock.lock();
            ++done_;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    uint64_t submitted_ = 0, done_ = 0;
    bool closed_ = false;
};

// The streams of one device, with the legacy default stream: its work waits for all work submitted
// before to blocking streams, and theirs for its.
class Streams {
public:
    Streams() : default_(std::make_shared<Queue>(true)) {
        default_->start();
        all_.push_back(default_);
    }

    Queue *make(bool blocking) {
        auto made = std::make_shared<Queue>(blocking);
        made->start();
        std::lock_guard lock(mutex_);
        std::erase_if(all_, [&](auto &queue) { return queue.use_count() == 1; });
        all_.push_back(made);
        return made.get();
    }
    void submit(Queue *stream, std::vector<std::function<void()>> items) {
        std::lock_guard lock(mutex_);
        Queue &queue = stream ? *stream : *default_;
        if (!stream) {
            for (auto &other : all_)
                if (other != default_ && other->blocking) order(queue, other);
        } else if (queue.blocking) {
            order(queue, default_);
        }
        for (auto &item : items) queue.push(std::move(item));
    }
    bool idle(Queue *stream) {
        if (stream) return stream->idle();
        for (auto &queue : snapshot())
            if (queue->blocking && !queue->idle()) return false;
        return true;
    }
    void wait(Queue *stream) {
        if (!stream) {
            // What it waits for includes the blocking streams.
            submit(nullptr, {[] {}});
            stream = default_.get();
        }
        stream->wait(stream->submitted());
    }
    // All streams, also those that were given back.
    bool idle() {
        for (auto &queue : snapshot())
            if (!queue->idle()) return false;
        return true;
    }
    void wait() {
        for (auto &queue : snapshot()) queue->wait(queue->submitted());
    }

private:
    static void order(Queue &later, const std::shared_ptr<Queue> &earlier) {
        if (earlier->idle()) return;
        later.push([earlier, count = earlier->submitted()] { earlier->wait(count); });
    }
    std::vector<std::shared_ptr<Queue>> snapshot() {
        std::lock_guard lock(mutex_);
        return all_;
    }

    std::mutex mutex_;
    std::shared_ptr<Queue> default_;
    std::vector<std::shared_ptr<Queue>> all_;
};

}  // namespace infini_mychip
