// The functions of stream capture.
#include <algorithm>

#include "graph.h"
#include "impl.h"

namespace infini::rt {
namespace {

Error resolve(Call &call, const infinirtGraphNode_t *handles, size_t count, const Graph *graph,
              std::vector<Node *> *nodes) {
    for (size_t i = 0; i < count; ++i) {
        Node *node = NodeTable::get().find(handles[i]);
        if (!node || node->graph != graph)
            return call.invalid(
                "dependencies[%zu] is %s: expected a live node of the captured graph", i,
                node ? "a node of another graph" : "no node");
        nodes->push_back(node);
    }
    return infinirtSuccess;
}

Error check_edges(Call &call, const infinirtGraphEdgeData *edges, size_t count) {
    for (size_t i = 0; edges && i < count; ++i)
        if (edges[i].from_port || edges[i].to_port || edges[i].type)
            return call.fail(infinirtErrorNotSupported,
                             "edge data %zu is not zero: only plain edges are supported", i);
    return infinirtSuccess;
}

}  // namespace

namespace impl {

Error StreamBeginCapture(Call &call, Stream &stream, infinirtStreamCaptureMode mode) {
    return begin_capture(call, stream, mode, nullptr, {});
}

Error StreamBeginCaptureToGraph(Call &call, Stream &stream, Graph &graph,
                                const infinirtGraphNode_t *dependencies,
                                const infinirtGraphEdgeData *dependencyData, size_t numDependencies,
                                infinirtStreamCaptureMode mode) {
    std::vector<Node *> nodes;
    {
        std::lock_guard lock(graph_mutex());
        if (Error error = resolve(call, dependencies, numDependencies, &graph, &nodes))
            return error;
    }
    if (Error error = check_edges(call, dependencyData, numDependencies)) return error;
    return begin_capture(call, stream, mode, &graph, nodes);
}

Error StreamEndCapture(Call &call, Stream &stream, infinirtGraph_t *pGraph) {
    return end_capture(call, stream, pGraph);
}

Error ThreadExchangeStreamCaptureMode(Call &call, infinirtStreamCaptureMode *mode) {
    infinirtStreamCaptureMode wanted = *mode;
    if (wanted < infinirtStreamCaptureModeGlobal || wanted > infinirtStreamCaptureModeRelaxed)
        return call.invalid("*mode is %d: expected global, thread local or relaxed (0 to 2)",
                            wanted);
    *mode = call.thread.capture_mode;
    call.thread.capture_mode = wanted;
    return infinirtSuccess;
}

Error StreamIsCapturing(Call &call, Stream &stream, infinirtStreamCaptureStatus *pCaptureStatus) {
    *pCaptureStatus = infinirtStreamCaptureStatusNone;
    if (stream.legacy) return check_legacy_question(call, stream.device);
    std::lock_guard lock(graph_mutex());
    if (Capture *capture = stream.capture.load(std::memory_order_relaxed))
        *pCaptureStatus = capture->invalidated ? infinirtStreamCaptureStatusInvalidated
                                               : infinirtStreamCaptureStatusActive;
    return infinirtSuccess;
}

Error StreamGetCaptureInfo_v3(Call &call, Stream &stream,
                              infinirtStreamCaptureStatus *captureStatus_out,
                              unsigned long long *id_out, infinirtGraph_t *graph_out,
                              const infinirtGraphNode_t **dependencies_out,
                              const infinirtGraphEdgeData **edgeData_out,
                              size_t *numDependencies_out) {
    *captureStatus_out = infinirtStreamCaptureStatusNone;
    if (stream.legacy) return check_legacy_question(call, stream.device);
    std::lock_guard lock(graph_mutex());
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (!capture) return infinirtSuccess;
    *captureStatus_out = capture->invalidated ? infinirtStreamCaptureStatusInvalidated
                                              : infinirtStreamCaptureStatusActive;
    if (capture->invalidated) return infinirtSuccess;
    if (edgeData_out && !dependencies_out)
        return call.invalid("argument 6 (edgeData_out): expected dependencies_out with it");
    // Valid until the thread's next call of this function.
    static thread_local std::vector<infinirtGraphNode_t> dependencies;
    static thread_local std::vector<infinirtGraphEdgeData> edges;
    dependencies.clear();
    for (Node *node : stream.tail) dependencies.push_back(handle_of(node));
    edges.assign(dependencies.size(), {});
    if (id_out) *id_out = capture->id;
    if (graph_out) *graph_out = handle_of(capture->graph);
    if (dependencies_out) *dependencies_out = dependencies.data();
    if (edgeData_out) *edgeData_out = edges.data();
    if (numDependencies_out) *numDependencies_out = dependencies.size();
    return infinirtSuccess;
}

Error StreamGetCaptureInfo(Call &call, Stream &stream,
                           infinirtStreamCaptureStatus *captureStatus_out,
                           unsigned long long *id_out, infinirtGraph_t *graph_out,
                           const infinirtGraphNode_t **dependencies_out,
                           size_t *numDependencies_out) {
    return StreamGetCaptureInfo_v3(call, stream, captureStatus_out, id_out, graph_out,
                                   dependencies_out, nullptr, numDependencies_out);
}

Error StreamUpdateCaptureDependencies_v2(Call &call, Stream &stream,
                                         infinirtGraphNode_t *dependencies,
                                         const infinirtGraphEdgeData *dependencyData,
                                         size_t numDependencies, unsigned int flags) {
    if (flags != infinirtStreamAddCaptureDependencies &&
        flags != infinirtStreamSetCaptureDependencies)
        return call.invalid(
            "flags is %u: expected infinirtStreamAddCaptureDependencies or "
            "infinirtStreamSetCaptureDependencies",
            flags);
    if (Error error = check_edges(call, dependencyData, numDependencies)) return error;
    std::lock_guard lock(graph_mutex());
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (!capture)
        return call.fail(infinirtErrorIllegalState, "argument 1 (stream) is not being captured");
    if (Error error = check_capture_valid(call, stream)) return error;
    std::vector<Node *> nodes;
    if (Error error = resolve(call, dependencies, numDependencies, capture->graph, &nodes))
        return error;
    if (flags == infinirtStreamSetCaptureDependencies) stream.tail.clear();
    for (Node *node : nodes)
        if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
            stream.tail.push_back(node);
    return infinirtSuccess;
}

Error StreamUpdateCaptureDependencies(Call &call, Stream &stream, infinirtGraphNode_t *dependencies,
                                      size_t numDependencies, unsigned int flags) {
    return StreamUpdateCaptureDependencies_v2(call, stream, dependencies, nullptr, numDependencies,
                                              flags);
}

}  // namespace impl
}  // namespace infini::rt
