#include "deferred_release.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace infini::python {

namespace nb = nanobind;

namespace {

struct Dropped {
    PyObject *object;
    PyObject *destroy;
    Dropped *next;
};

struct Release {
    bool (*release)(void *);
    void *data;
};

std::atomic<Dropped *> dropped{nullptr};  // a stack: threads push, settle() takes it whole
std::atomic<bool> scheduled{false};

// Guarded by the interpreter's lock. Leaked, as they are used until the very end.
auto &releases = *new std::vector<Release>;
auto &captured = *new std::vector<infinirtStream_t>;

struct Known {
    infinirtStream_t stream;
    const char *kind;
};
auto &streams = *new std::vector<Known>;

std::atomic<int> attached_threads{0};
std::atomic<bool> closing{false};
thread_local int host_function_depth = 0;

void schedule() {
    if (closing.load(std::memory_order_relaxed) || scheduled.exchange(true)) return;
    auto run = [](void *) {
        settle();
        return 0;
    };
    // The interpreter's queue is short; when it is full, the next call of settle() does the work.
    if (Py_AddPendingCall(run, nullptr) != 0) scheduled.store(false);
}

void give_up(const Dropped &item) {
    if (item.destroy) {
        PyObject *result = PyObject_CallFunctionObjArgs(item.destroy, item.object, nullptr);
        if (!result) PyErr_WriteUnraisable(item.destroy);
        Py_XDECREF(result);
        Py_DECREF(item.destroy);
    }
    Py_DECREF(item.object);
}

bool capture_in_progress() {
    LastErrorKept kept;
    // A stream leaves the list when its capture has ended or it was destroyed, by any means.
    std::erase_if(captured, [](infinirtStream_t stream) {
        auto status = infinirtStreamCaptureStatusNone;
        infinirtError_t error = infinirtStreamIsCapturing(stream, &status);
        return error != infinirtErrorNotPermitted && status == infinirtStreamCaptureStatusNone;
    });
    return !captured.empty();
}

void release_all() {
    std::vector<Release> due = std::exchange(releases, {});
    for (const Release &entry : due)
        if (!entry.release(entry.data)) releases.push_back(entry);
}

// Running host functions may finish; no new ones begin.
void close() {
    closing.store(true);
    nb::gil_scoped_release released;
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (attached_threads.load() > 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

void drop_later(PyObject *object, PyObject *destroy) {
    auto *item = new Dropped{object, destroy, dropped.load(std::memory_order_relaxed)};
    while (!dropped.compare_exchange_weak(item->next, item, std::memory_order_release)) {
    }
    schedule();
}

void release_later(bool (*release)(void *), void *data) {
    releases.push_back({release, data});
    schedule();
}

void settle() {
    scheduled.store(false);
    Dropped *item = dropped.exchange(nullptr, std::memory_order_acquire);
    if (!item && releases.empty()) [[likely]]
        return;
    nb::error_scope pending_error;  // a destructor must not see, or lose, the caller's exception
    Dropped *oldest_first = nullptr;
    while (item) {
        Dropped *next = std::exchange(item->next, oldest_first);
        oldest_first = std::exchange(item, next);
    }
    while (oldest_first) {
        Dropped *next = oldest_first->next;
        give_up(*oldest_first);
        delete oldest_first;
        oldest_first = next;
    }
    if (!releases.empty() && !must_not_free() && !freeing_waits()) release_all();
}

bool reclaim() {
    settle();
    if (releases.empty() || must_not_free()) return false;
    release_all();
    return true;
}

void note_capture(infinirtStream_t stream) { captured.push_back(stream); }

bool must_not_free() { return inside_host_function() || capture_in_progress(); }

void note_stream(infinirtStream_t stream) { streams.push_back({stream, infinirtGetDeviceKind()}); }

void forget_stream(infinirtStream_t stream) {
    std::erase_if(streams, [&](const Known &known) { return known.stream == stream; });
    std::erase(captured, stream);  // a vendor's runtime may crash when asked about a dead stream
}

bool freeing_waits() {
    LastErrorKept kept;
    // Asking about a stream that is being captured would spoil the capture; this question does not.
    auto busy = [](infinirtStream_t stream) {
        auto status = infinirtStreamCaptureStatusNone;
        infinirtError_t error = infinirtStreamIsCapturing(stream, &status);
        return error == infinirtErrorStreamCaptureImplicit ||
               status != infinirtStreamCaptureStatusNone ||
               infinirtStreamQuery(stream) == infinirtErrorNotReady;
    };
    const char *kind = infinirtGetDeviceKind();
    return busy(nullptr) || std::any_of(streams.begin(), streams.end(), [&](const Known &known) {
               return known.kind == kind && busy(known.stream);
           });
}

Attached::Attached() {
    attached_threads.fetch_add(1);
    attached_ = !closing.load();
    if (!attached_) {
        attached_threads.fetch_sub(1);
        return;
    }
    state_ = PyGILState_Ensure();
    ++host_function_depth;
}

Attached::~Attached() {
    if (!attached_) return;
    --host_function_depth;
    if (!releases.empty()) schedule();
    PyGILState_Release(state_);
    attached_threads.fetch_sub(1);
}

bool inside_host_function() { return host_function_depth > 0; }

void bind_pending(nb::module_ &m) {
    m.def("_settle", &settle, "Give up now what can be given up without waiting.");
    m.def("_reclaim", &reclaim, "Wait, and free all that was put off. False: there was nothing.");
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&close));
}

}  // namespace infini::python
