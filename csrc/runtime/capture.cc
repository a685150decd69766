// The rules of stream capture.
#include "capture.h"

#include <algorithm>
#include <unordered_set>

#include "graph.h"

namespace infini::rt {

std::atomic<int> captures_in_progress{0};

ForkSafeMutex &graph_mutex() {
    static auto *mutex = new ForkSafeMutex(LockRank::Graph);
    return *mutex;
}

namespace {

// Guarded by graph_mutex().
std::vector<Capture *> &captures() {
    static auto *list = new std::vector<Capture *>;
    return *list;
}

constexpr const char *kInvalidated =
    "the capture that this stream belongs to was invalidated by an earlier call: "
    "expected infinirtStreamEndCapture";

}  // namespace

Error check_unsafe_call(Call &call) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    if (call.thread.capture_mode == infinirtStreamCaptureModeRelaxed) return infinirtSuccess;
    std::lock_guard lock(graph_mutex());
    bool refused = false;
    for (Capture *capture : captures()) {
        if (capture->mode == infinirtStreamCaptureModeRelaxed) continue;
        bool mine = capture->owner == std::this_thread::get_id();
        bool everywhere = capture->mode == infinirtStreamCaptureModeGlobal &&
                          call.thread.capture_mode == infinirtStreamCaptureModeGlobal;
        if (!mine && !everywhere) continue;
        capture->invalidated = true;
        refused = true;
    }
    if (!refused) return infinirtSuccess;
    return call.fail(infinirtErrorStreamCaptureUnsupported,
                     "not permitted while a stream is being captured (the capture is now invalid): "
                     "do it before the "
                     "capture, or use infinirtThreadExchangeStreamCaptureMode");
}

namespace {

// Whether the null stream of the device would wait for a captured stream, which may invalidate
// those captures. Needs graph_mutex() held.
bool legacy_depends_on_capture(const Device &device, bool invalidate) {
    bool depends = false;
    for (Capture *capture : captures())
        for (Stream *stream : capture->streams)
            if (stream->blocking() && &stream->device == &device) {
                depends = true;
                capture->invalidated |= invalidate;
            }
    return depends;
}

constexpr const char *kImplicit =
    "the null stream would wait for a stream that is being captured%s: use another stream, or "
    "capture one made with infinirtStreamNonBlocking";

}  // namespace

Error check_legacy_use(Call &call, Device &device) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    std::lock_guard lock(graph_mutex());
    if (!legacy_depends_on_capture(device, true)) return infinirtSuccess;
    return call.fail(infinirtErrorStreamCaptureImplicit, kImplicit,
                     " (the capture is now invalid)");
}

Error check_legacy_question(Call &call, Device &device) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    std::lock_guard lock(graph_mutex());
    if (!legacy_depends_on_capture(device, false)) return infinirtSuccess;
    return call.fail(infinirtErrorStreamCaptureImplicit, kImplicit, "");
}

Error refuse_in_capture(Call &call, Stream &stream, const char *why) {
    std::lock_guard lock(graph_mutex());
    if (Capture *capture = stream.capture.load(std::memory_order_relaxed))
        capture->invalidated = true;
    return call.fail(infinirtErrorStreamCaptureUnsupported, "%s (the capture is now invalid)", why);
}

Error check_not_captured(Call &call, Stream &stream) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    if (stream.capture.load(std::memory_order_acquire))
        return refuse_in_capture(call, stream,
                                 "the stream is being captured: its work does not run");
    if (stream.legacy)
        if (Error error = check_legacy_use(call, stream.device)) return error;
    return check_unsafe_call(call);
}

Error check_device_not_captured(Call &call, Device &device) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    std::lock_guard lock(graph_mutex());
    bool refused = false;
    for (Capture *capture : captures())
        for (Stream *stream : capture->streams)
            if (&stream->device == &device) capture->invalidated = refused = true;
    if (!refused) return infinirtSuccess;
    return call.fail(infinirtErrorStreamCaptureUnsupported,
                     "a stream of device %d is being captured (the capture is now invalid)",
                     device.index);
}

Error check_capture_valid(Call &call, Stream &stream) {
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (!capture)
        return call.fail(infinirtErrorIllegalState,
                         "the capture ended in another thread meanwhile");
    if (!capture->invalidated) return infinirtSuccess;
    return call.fail(infinirtErrorStreamCaptureInvalidated, "%s", kInvalidated);
}

void capture_node(Stream &stream, Node &node) { stream.tail.assign(1, &node); }

Error capture_work(Call &call, Stream &stream, const InfiniWork &work) {
    std::lock_guard lock(graph_mutex());
    if (Error error = check_capture_valid(call, stream)) return error;
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    Node *node = add_work_node(*capture->graph, stream.device, work, stream.tail);
    if (!node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    capture_node(stream, *node);
    return infinirtSuccess;
}

Error capture_host(Call &call, Stream &stream, std::shared_ptr<HostCall> host) {
    std::lock_guard lock(graph_mutex());
    if (Error error = check_capture_valid(call, stream)) return error;
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    InfiniWork work;
    work.kind = INFINI_WORK_HOST;
    work.as.host = {host->function, host->data};
    Node *node = add_work_node(*capture->graph, stream.device, work, stream.tail);
    if (!node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    node->host = std::move(host);
    node->work.as.host = {HostCall::run, node->host.get()};
    capture_node(stream, *node);
    return infinirtSuccess;
}

namespace {

// All of these need graph_mutex() held.

void join(Stream &stream, Capture &capture, const std::vector<Node *> &tail) {
    capture.streams.push_back(&stream);
    stream.tail = tail;
    stream.capture.store(&capture, std::memory_order_release);
}

void merge_tail(Stream &stream, const std::vector<Node *> &more) {
    for (Node *node : more)
        if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
            stream.tail.push_back(node);
}

void end(Capture *capture) {
    for (Stream *stream : capture->streams) {
        stream->tail.clear();
        stream->capture.store(nullptr, std::memory_order_release);
    }
    // Their events keep capture_id: they stay unusable outside a capture until recorded again.
    EventTable::get().each([&](Event &event) {
        if (event.capture.load(std::memory_order_relaxed) != capture) return;
        event.capture.store(nullptr, std::memory_order_relaxed);
        event.tail.clear();
    });
    std::erase(captures(), capture);
    captures_in_progress.fetch_sub(1, std::memory_order_release);
    delete capture;
}

// Whether everything that the joined streams recorded precedes the origin's last nodes.
bool all_joined(const Capture &capture) {
    std::unordered_set<Node *> before(capture.origin->tail.begin(), capture.origin->tail.end());
    std::vector<Node *> open(before.begin(), before.end());
    while (!open.empty()) {
        Node *node = open.back();
        open.pop_back();
        for (Node *earlier : node->dependencies)
            if (before.insert(earlier).second) open.push_back(earlier);
    }
    for (Stream *stream : capture.streams)
        for (Node *node : stream->tail)
            if (!before.contains(node)) return false;
    return true;
}

}  // namespace

Error capture_wait(Call &call, Stream &stream, Event &event, unsigned flags, bool *handled) {
    std::lock_guard lock(graph_mutex());
    Capture *into = stream.capture.load(std::memory_order_relaxed);
    Capture *from = event.capture.load(std::memory_order_relaxed);
    *handled = true;
    if (!into && event.capture_id.load(std::memory_order_relaxed) == 0) {
        *handled = false;
        if (!stream.legacy) return infinirtSuccess;
    }
    if (stream.legacy) {
        bool refused = legacy_depends_on_capture(stream.device, true);
        if (from) from->invalidated = refused = true;
        if (refused)
            return call.fail(infinirtErrorStreamCaptureImplicit,
                             "the null stream would wait for work that is being captured (the "
                             "capture is now invalid)");
        if (!*handled) return infinirtSuccess;
    }
    if (into) {
        if (Error error = check_capture_valid(call, stream)) return error;
        if (flags & infinirtEventWaitExternal) {
            Node *node =
                add_node(*into->graph, infinirtGraphNodeTypeWaitEvent, stream.device, stream.tail);
            if (!node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
            node->event = &event;
            capture_node(stream, *node);
            return infinirtSuccess;
        }
        if (from == into) {
            merge_tail(stream, event.tail);
            return infinirtSuccess;
        }
        // An event that was never recorded counts as complete.
        if (!event.recorded.load(std::memory_order_relaxed)) return infinirtSuccess;
        into->invalidated = true;
        if (from) {
            from->invalidated = true;
            return call.fail(
                infinirtErrorStreamCaptureMerge,
                "the event belongs to another capture: two captures cannot be joined (both are now "
                "invalid)");
        }
        return call.fail(
            infinirtErrorStreamCaptureIsolation,
            "the event was recorded outside the capture: captured work cannot depend on it (the "
            "capture "
            "is now invalid); record it in the capture, or wait with infinirtEventWaitExternal");
    }
    if (!from)
        return call.fail(
            infinirtErrorCapturedEvent,
            "the event was last recorded in a capture that has ended: record it again first");
    if (from->invalidated)
        return call.fail(infinirtErrorStreamCaptureInvalidated, "%s", kInvalidated);
    if (&stream.device.backend != &from->origin->device.backend)
        return call.fail(infinirtErrorStreamCaptureUnsupported,
                         "a capture cannot span device types");
    join(stream, *from, event.tail);
    return infinirtSuccess;
}

bool captures_into(const Graph &graph) {
    return std::any_of(captures().begin(), captures().end(),
                       [&](const Capture *capture) { return capture->graph == &graph; });
}

void forget_stream(Stream &stream) {
    if (!stream.capture.load(std::memory_order_acquire)) return;
    GraphLock lock;
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (!capture) return;
    if (capture->origin == &stream) {
        Graph *graph = capture->owns_graph ? capture->graph : nullptr;
        end(capture);
        if (graph) delete_graph(graph);
        return;
    }
    // Its branch of the capture could no longer be joined.
    capture->invalidated = true;
    std::erase(capture->streams, &stream);
    stream.tail.clear();
    stream.capture.store(nullptr, std::memory_order_release);
}

Error begin_capture(Call &call, Stream &stream, infinirtStreamCaptureMode mode, Graph *graph,
                    const std::vector<Node *> &dependencies) {
    if (mode < infinirtStreamCaptureModeGlobal || mode > infinirtStreamCaptureModeRelaxed)
        return call.invalid(
            "argument 2 (mode) is %d: expected global, thread local or relaxed (0 to 2)", mode);
    if (stream.legacy) {
        if (Error error = check_legacy_use(call, stream.device)) return error;
        return call.fail(infinirtErrorStreamCaptureUnsupported,
                         "argument 1 (stream) is the null stream: expected a created stream, it "
                         "alone can be captured");
    }
    std::lock_guard lock(graph_mutex());
    if (stream.capture.load(std::memory_order_relaxed))
        return call.fail(infinirtErrorIllegalState,
                         "argument 1 (stream) is being captured already");
    static uint64_t last_id = 0;
    auto *capture = new Capture{++last_id,
                                mode,
                                std::this_thread::get_id(),
                                &stream,
                                graph ? graph : new_graph(),
                                graph == nullptr,
                                false,
                                {}};
    if (!capture->graph) {
        delete capture;
        return call.fail(infinirtErrorMemoryAllocation, "too many graphs");
    }
    captures().push_back(capture);
    captures_in_progress.fetch_add(1, std::memory_order_release);
    join(stream, *capture, dependencies);
    return infinirtSuccess;
}

Error end_capture(Call &call, Stream &stream, infinirtGraph_t *result) {
    *result = nullptr;
    GraphLock lock;
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (!capture)
        return call.fail(infinirtErrorIllegalState,
                         "argument 1 (stream) is not being captured: expected "
                         "infinirtStreamBeginCapture before");
    if (capture->origin != &stream) {
        capture->invalidated = true;
        return call.fail(
            infinirtErrorStreamCaptureUnmatched,
            "argument 1 (stream) joined this capture: expected the stream that began it");
    }
    // CUDA's rule: the attempt of another thread ends the capture without a graph.
    bool wrong_thread = capture->mode != infinirtStreamCaptureModeRelaxed &&
                        capture->owner != std::this_thread::get_id();
    bool invalidated = capture->invalidated;
    bool joined = all_joined(*capture);
    Graph *graph = capture->graph;
    bool owned = capture->owns_graph;
    end(capture);
    if (!wrong_thread && !invalidated && joined) {
        *result = handle_of(graph);
        return infinirtSuccess;
    }
    if (owned) delete_graph(graph);
    if (wrong_thread)
        return call.fail(infinirtErrorStreamCaptureWrongThread,
                         "the capture was begun by another thread: expected that one, or relaxed "
                         "mode; the capture is over and no graph was made");
    if (invalidated)
        return call.fail(infinirtErrorStreamCaptureInvalidated,
                         "an earlier call during the capture invalidated it; no graph was made");
    return call.fail(infinirtErrorStreamCaptureUnjoined,
                     "a stream that joined the capture has work that this stream did not wait for: "
                     "record an event "
                     "there and wait for it here; no graph was made");
}

}  // namespace infini::rt
