// Stream capture: work is recorded into a graph instead of being run.
//
// What is allowed during a capture follows CUDA's rules; each rule is one function here.
#pragma once

#include <thread>
#include <vector>

#include "stream.h"

namespace infini::rt {

struct Graph;

// Guards every graph, node and capture. Captures and graph edits are rare compared with submits.
ForkSafeMutex &graph_mutex();

struct Capture {
    uint64_t id;
    infinirtStreamCaptureMode mode;
    std::thread::id owner;
    Stream *origin;
    Graph *graph;
    bool owns_graph;  // false for StreamBeginCaptureToGraph
    bool invalidated = false;
    std::vector<Stream *> streams;  // all that joined, the origin among them
};

// Number of captures in progress, for a fast path past all checks below.
extern std::atomic<int> captures_in_progress;

// A call that is unsafe while a capture is in progress (allocation, synchronous copy, ...):
// StreamCaptureUnsupported, and the capture is invalidated, by the modes of capture and thread.
Error check_unsafe_call(Call &call);

// Use of the legacy stream, explicit or implied: StreamCaptureImplicit while a blocking stream of
// the device is captured, and that capture is invalidated, unless this is only a query.
Error check_legacy_use(Call &call, Device &device);
Error check_legacy_question(Call &call, Device &device);

// Waiting for or querying a stream: StreamCaptureUnsupported if it is being captured, and the
// capture is invalidated; for any other stream the rule of unsafe calls, for the null stream its
// own rule.
Error check_not_captured(Call &call, Stream &stream);

// The same for a device with any stream being captured.
Error check_device_not_captured(Call &call, Device &device);

// A request to a captured stream that cannot be captured: StreamCaptureUnsupported, and the capture
// is invalidated.
Error refuse_in_capture(Call &call, Stream &stream, const char *why);

// StreamWaitEvent while captures are in progress. *handled stays false if the wait is an ordinary
// one.
Error capture_wait(Call &call, Stream &stream, Event &event, unsigned flags, bool *handled);

// Records one piece of work as a node of the stream's capture (COPY, FILL, HOST).
Error capture_work(Call &call, Stream &stream, const InfiniWork &work);
// The same for a host function with a destructor, called when the last graph with it is gone.
Error capture_host(Call &call, Stream &stream, std::shared_ptr<HostCall> host);

// Adds an existing node (of the capture's graph) after the stream's tail and makes it the new tail,
// for MallocAsync, FreeAsync, GraphLaunch and the like. The caller holds graph_mutex() and has
// checked that the capture is valid.
void capture_node(Stream &stream, Node &node);

// Before recording anything: StreamCaptureInvalidated if the capture is invalid. The caller holds
// graph_mutex().
Error check_capture_valid(Call &call, Stream &stream);

// StreamBeginCapture and StreamEndCapture. With `graph` the capture appends to that graph after
// `dependencies`.
Error begin_capture(Call &call, Stream &stream, infinirtStreamCaptureMode mode, Graph *graph,
                    const std::vector<Node *> &dependencies);
Error end_capture(Call &call, Stream &stream, infinirtGraph_t *result);

// Is a capture recording into this graph? The caller holds graph_mutex().
bool captures_into(const Graph &graph);

// The stream is about to be destroyed: leave its capture, which ends or becomes invalid.
void forget_stream(Stream &stream);

}  // namespace infini::rt
