#include "interruptible.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "infinirt_runtime_api.h"
#include "runtime_services.h"

namespace nb = nanobind;

namespace infini::python {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kBetweenSignals = std::chrono::milliseconds(50);
// An event has no callback, so it is polled: at first after every yield to another thread, later
// with pauses that are short relative to the time already waited.
constexpr auto kYielding = std::chrono::milliseconds(1);
constexpr int kPausesOfWait = 32;

// Set by a host function in the stream; freed by the later of the two.
struct Completion {
    std::mutex lock;
    std::condition_variable changed;
    bool done = false;

    bool wait() {
        std::unique_lock guard(lock);
        return changed.wait_for(guard, kBetweenSignals, [this] { return done; });
    }
    static void reach(void *data) {
        std::unique_ptr<std::shared_ptr<Completion>> held(
            static_cast<std::shared_ptr<Completion> *>(data));
        std::lock_guard guard((*held)->lock);
        (*held)->done = true;
        (*held)->changed.notify_all();
    }
};

// Errors left behind by collectives are reported by the usual wait.
infinirtError_t query(infinirtStream_t stream) {
    QuietWaits quiet;
    return infinirtStreamQuery(stream);
}

infinirtError_t query(infinirtEvent_t event) {
    QuietWaits quiet;
    return infinirtEventQuery(event);
}

// Until the event completes or fails, or signals must be checked.
infinirtError_t poll(infinirtEvent_t event, Clock::time_point begin) {
    const Clock::time_point end = Clock::now() + kBetweenSignals;
    infinirtError_t code = infinirtErrorNotReady;
    for (Clock::time_point now; (now = Clock::now()) < end;) {
        code = query(event);
        if (code != infinirtErrorNotReady) break;
        if (now - begin < kYielding)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(
                std::min<Clock::duration>((now - begin) / kPausesOfWait, end - now));
    }
    return code;
}

// As for short work: a host function would take longer than the work itself.
infinirtError_t query_for_long(infinirtStream_t stream) {
    nb::gil_scoped_release released;
    infinirtError_t code = infinirtErrorNotReady;
    for (const auto end = Clock::now() + kSpin;
         code == infinirtErrorNotReady && Clock::now() < end;)
        code = query(stream);
    return code;
}

}  // namespace

StreamState query_stream(void *stream) {
    switch (infinirtStreamQuery(static_cast<infinirtStream_t>(stream))) {
        case infinirtSuccess:
            return StreamState::Done;
        case infinirtErrorNotReady:
            return StreamState::Busy;
        default:
            return StreamState::Failed;
    }
}

bool wait_unless_interrupted(void *handle) {
    const auto stream = static_cast<infinirtStream_t>(handle);
    infinirtError_t code = query(stream);
    // Python handles signals only in its main thread.
    if (code == infinirtErrorNotReady && gettid() != getpid()) return true;
    if (code == infinirtErrorNotReady) code = query_for_long(stream);
    if (code != infinirtErrorNotReady) return code == infinirtSuccess;
    auto completion = std::make_shared<Completion>();
    auto held = std::make_unique<std::shared_ptr<Completion>>(completion);
    if (infinirtLaunchHostFunc(stream, Completion::reach, held.get()) != infinirtSuccess)
        return true;
    held.release();
    for (;;) {
        {
            nb::gil_scoped_release released;
            if (completion->wait()) return true;
            // A device that has failed calls no host function any more.
            code = query(stream);
        }
        if (code != infinirtErrorNotReady) return code == infinirtSuccess;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

bool wait_for_event_unless_interrupted(void *handle) {
    const auto event = static_cast<infinirtEvent_t>(handle);
    infinirtError_t code = query(event);
    if (code == infinirtErrorNotReady && gettid() != getpid()) return true;
    for (const auto begin = Clock::now(); code == infinirtErrorNotReady;) {
        {
            nb::gil_scoped_release released;
            code = poll(event, begin);
        }
        if (code == infinirtErrorNotReady && PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    return code == infinirtSuccess;
}

}  // namespace infini::python
