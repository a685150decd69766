// Stream capture: work is recorded into a graph instead of being run.
//
// Who may do what during a capture follows CUDA's rules; each rule is one function here.
#pragma once

#include <thread>
#include <vector>

#include "stream.h"

namespace infini::rt {

struct Graph;

// Guards every graph, node and capture. Captures and graph edits are rare next to submits.
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

// Number of captures in progress, for a quick way past all checks below.
extern std::atomic<int> captures_in_progress;

// A call that is unsafe while a capture is in progress (allocation, synchronous copy, ...):
// StreamCaptureUnsupported, and the capture is invalidated, by the modes of capture and thread.
Error check_unsafe_call(Call &call);

// Use of the legacy stream, explicit or implied: StreamCaptureImplicit while a blocking stream of
// the device is captured, and that capture is invalidated. A mere question leaves it valid.
Error check_legacy_use(Call &call, Device &device);
Error check_legacy_question(Call &call, Device &device);

// Waiting for or asking about a stream: StreamCaptureUnsupported for one that is being captured,
// which invalidates the capture; for any other the rule of unsafe calls, for the null stream its
// own.
Error check_not_captured(Call &call, Stream &stream);

// The same for a device of which any stream is being captured.
Error check_device_not_captured(Call &call, Device &device);

// Something that cannot be captured was asked of a captured stream: StreamCaptureUnsupported,
// invalidates.
Error refuse_in_capture(Call &call, Stream &stream, const char *why);

// StreamWaitEvent while captures are in progress. *handled stays false when the wait is an ordinary
// one.
Error capture_wait(Call &call, Stream &stream, Event &event, unsigned flags, bool *handled);

// Records one piece of work as a node of the stream's capture (COPY, FILL, HOST).
Error capture_work(Call &call, Stream &stream, const InfiniWork &work);
// The same for a host function that knows what to do when the last graph with it is gone.
Error capture_host(Call &call, Stream &stream, std::shared_ptr<HostCall> host);

// Adds an already made node (of the capture's graph) behind the stream's tail and makes it the new
// tail. For MallocAsync/FreeAsync/GraphLaunch and the like. Caller holds graph_mutex() and checked
// invalidated.
void capture_node(Stream &stream, Node &node);

// Before recording anything: StreamCaptureInvalidated if the capture is. Caller holds
// graph_mutex().
Error check_capture_valid(Call &call, Stream &stream);

// StreamBeginCapture and StreamEndCapture. With `graph` the capture goes on in that graph behind
// `dependencies`.
Error begin_capture(Call &call, Stream &stream, infinirtStreamCaptureMode mode, Graph *graph,
                    const std::vector<Node *> &dependencies);
Error end_capture(Call &call, Stream &stream, infinirtGraph_t *result);

// Is a capture recording into this very graph? Needs graph_mutex() held.
bool captures_into(const Graph &graph);

// The stream is about to be destroyed: leave its capture, which ends or becomes invalid.
void forget_stream(Stream &stream);

}  // namespace infini::rt
