// Graphs: topology, node parameters, clones, user objects, DOT output, and errors.
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "graph_tools.h"

namespace {

void shape() {
    infinirtGraph_t graph = make_graph();
    infinirtGraphNode_t a = add_empty(graph), b = add_empty(graph, {a}),
                        c = add_empty(graph, {a, b});
    CHECK_EQ(nodes_of(graph).size(), 3);
    CHECK_EQ(edges_of(graph), 3);

    // Unused entries become null; a short buffer gets what fits.
    infinirtGraphNode_t room[5];
    memset(room, 0xff, sizeof room);
    size_t count = 5;
    OK(infinirtGraphNodeGetDependencies(c, room, &count));
    CHECK(count == 2 && room[0] == a && room[1] == b && !room[2] && !room[4]);
    count = 1;
    OK(infinirtGraphNodeGetDependentNodes(a, room, &count));
    CHECK(count == 1 && room[0] == b);
    count = 5;
    OK(infinirtGraphGetRootNodes(graph, room, &count));
    CHECK(count == 1 && room[0] == a);
    count = SIZE_MAX;
    FAILS(infinirtGraphGetNodes(graph, room, &count), infinirtErrorInvalidValue);

    infinirtGraphNode_t from[3], to[3];
    infinirtGraphEdgeData data[3];
    count = 3;
    OK(infinirtGraphGetEdges_v2(graph, from, to, data, &count));
    CHECK(count == 3 && from[0] == a && to[0] == b && to[2] == c && data[2].type == 0);
    FAILS(infinirtGraphGetEdges(graph, from, nullptr, &count), infinirtErrorInvalidValue);

    OK(infinirtGraphRemoveDependencies(graph, &a, &c, 1));
    FAILS(infinirtGraphRemoveDependencies(graph, &a, &c, 1), infinirtErrorInvalidValue);
    OK(infinirtGraphAddDependencies(graph, &a, &c, 1));
    OK(infinirtGraphDestroyNode(b));
    CHECK_EQ(nodes_of(graph).size(), 2);
    CHECK_EQ(edges_of(graph), 1);
    infinirtGraphNodeType type;
    FAILS(infinirtGraphNodeGetType(b, &type), infinirtErrorInvalidValue);
    OK(infinirtGraphNodeGetType(a, &type));
    CHECK_EQ(type, infinirtGraphNodeTypeEmpty);
    OK(infinirtGraphDestroy(graph));
    FAILS(infinirtGraphDestroy(graph), infinirtErrorInvalidValue);
    FAILS(infinirtGraphNodeGetType(a, &type), infinirtErrorInvalidValue);
}

void wrong_edges() {
    infinirtGraph_t graph = make_graph(), other = make_graph();
    infinirtGraphNode_t a = add_empty(graph), b = add_empty(graph, {a}), c = add_empty(graph, {b});
    infinirtGraphNode_t foreign = add_empty(other), none = nullptr, node;
    auto add = [&](infinirtGraphNode_t from, infinirtGraphNode_t to) {
        return infinirtGraphAddDependencies(graph, &from, &to, 1);
    };
    FAILS(add(a, b), infinirtErrorInvalidValue);
    FAILS(add(a, a), infinirtErrorInvalidValue);
    FAILS(add(a, foreign), infinirtErrorInvalidValue);
    FAILS(add(none, a), infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddDependencies(graph, &a, &b, SIZE_MAX), infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddEmptyNode(&node, graph, &foreign, 1), infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddEmptyNode(&node, graph, &a, SIZE_MAX), infinirtErrorInvalidValue);
    infinirtGraphNode_t twice[] = {a, a};
    FAILS(infinirtGraphAddEmptyNode(&node, graph, twice, 2), infinirtErrorInvalidValue);
    // All edges of a call or none.
    infinirtGraphNode_t from[] = {a, foreign}, to[] = {c, c};
    FAILS(infinirtGraphAddDependencies(graph, from, to, 2), infinirtErrorInvalidValue);
    infinirtGraphNode_t again[] = {a, a};
    FAILS(infinirtGraphAddDependencies(graph, again, to, 2), infinirtErrorInvalidValue);
    CHECK_EQ(edges_of(graph), 2);
    infinirtGraphEdgeData data{};
    data.type = 1;
    FAILS(infinirtGraphAddDependencies_v2(graph, &a, &c, &data, 1), infinirtErrorNotSupported);

    // As in CUDA a cycle is found when the graph is instantiated.
    OK(add(c, a));
    infinirtGraphExec_t exec;
    FAILS(infinirtGraphInstantiate(&exec, graph, 0), infinirtErrorInvalidValue);
    infinirtGraphInstantiateParams parameters{};
    FAILS(infinirtGraphInstantiateWithParams(&exec, graph, &parameters), infinirtErrorInvalidValue);
    CHECK_EQ(parameters.result_out, infinirtGraphInstantiateInvalidStructure);
    CHECK(parameters.errNode_out != nullptr);
    parameters.flags = infinirtGraphInstantiateFlagDeviceLaunch;
    FAILS(infinirtGraphInstantiateWithParams(&exec, other, &parameters), infinirtErrorNotSupported);
    CHECK_EQ(parameters.result_out, infinirtGraphInstantiateError);
    FAILS(infinirtGraphInstantiate(&exec, other, 64), infinirtErrorInvalidValue);
    FAILS(infinirtGraphInstantiate(&exec, other, infinirtGraphInstantiateFlagUpload),
          infinirtErrorInvalidValue);
    infinirtGraph_t bad;
    FAILS(infinirtGraphCreate(&bad, 1), infinirtErrorInvalidValue);
    OK(infinirtGraphDestroy(graph));
    OK(infinirtGraphDestroy(other));
}

void parameters() {
    char *memory = device_memory(256);
    infinirtGraph_t graph = make_graph();
    infinirtGraphNode_t node;
    infinirtGraphNode_t copy = add_copy(graph, memory, memory + 128, 64);
    infinirtMemcpy3DParms box{};
    OK(infinirtGraphMemcpyNodeGetParams(copy, &box));
    CHECK(box.dstPtr.ptr == memory && box.extent.width == 64 && box.extent.height == 1);
    OK(infinirtGraphMemcpyNodeSetParams(copy, &box));
    OK(infinirtGraphMemcpyNodeSetParams1D(copy, memory, memory + 64, 32, infinirtMemcpyDefault));
    OK(infinirtGraphMemcpyNodeGetParams(copy, &box));
    CHECK_EQ(box.extent.width, 32);
    FAILS(infinirtGraphAddMemcpyNode1D(&node, graph, nullptr, 0, memory, memory, 0,
                                       infinirtMemcpyDefault),
          infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddMemcpyNode1D(&node, graph, nullptr, 0, memory, memory, 8,
                                       static_cast<infinirtMemcpyKind>(9)),
          infinirtErrorInvalidMemcpyDirection);

    infinirtGraphNode_t fill = add_fill(graph, memory, 7, 16, {copy});
    infinirtMemsetParams rows{};
    OK(infinirtGraphMemsetNodeGetParams(fill, &rows));
    CHECK(rows.dst == memory && rows.value == 7 && rows.width == 16);
    rows.width = 0;
    FAILS(infinirtGraphMemsetNodeSetParams(fill, &rows), infinirtErrorInvalidValue);
    FAILS(infinirtGraphMemsetNodeGetParams(copy, &rows), infinirtErrorInvalidValue);

    std::atomic<int> count{0};
    infinirtGraphNode_t host = add_host(graph, add_one, &count);
    infinirtHostNodeParams function{};
    OK(infinirtGraphHostNodeGetParams(host, &function));
    CHECK(function.fn == add_one && function.userData == &count);
    function.fn = nullptr;
    FAILS(infinirtGraphHostNodeSetParams(host, &function), infinirtErrorInvalidValue);

    infinirtEvent_t event, seen;
    OK(infinirtEventCreate(&event));
    OK(infinirtGraphAddEventRecordNode(&node, graph, nullptr, 0, event));
    OK(infinirtGraphEventRecordNodeGetEvent(node, &seen));
    CHECK(seen == event);
    FAILS(infinirtGraphEventWaitNodeGetEvent(node, &seen), infinirtErrorInvalidValue);

    // The same through one function for all types.
    infinirtGraphNodeParams any{};
    any.type = infinirtGraphNodeTypeHost;
    any.host = {add_one, &count};
    OK(infinirtGraphAddNode(&node, graph, &host, 1, &any));
    OK(infinirtGraphNodeSetParams(node, &any));
    FAILS(infinirtGraphNodeSetParams(fill, &any), infinirtErrorInvalidValue);
    any.reserved2 = 1;
    FAILS(infinirtGraphNodeSetParams(node, &any), infinirtErrorInvalidValue);
    any.reserved2 = 0;
    any.type = infinirtGraphNodeTypeKernel;
    FAILS(infinirtGraphAddNode(&node, graph, nullptr, 0, &any), infinirtErrorNotSupported);
    any.type = infinirtGraphNodeTypeCount;
    FAILS(infinirtGraphAddNode(&node, graph, nullptr, 0, &any), infinirtErrorInvalidValue);

    OK(infinirtEventDestroy(event));
    infinirtGraphExec_t exec;
    FAILS(infinirtGraphInstantiate(&exec, graph, 0), infinirtErrorInvalidValue);
    OK(infinirtGraphDestroy(graph));
    OK(infinirtFree(memory));
}

void children_and_clones() {
    infinirtGraph_t graph = make_graph(), child = make_graph(), inside, clone;
    infinirtGraphNode_t original = add_empty(child), node, found;
    OK(infinirtGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
    OK(infinirtGraphChildGraphNodeGetGraph(node, &inside));
    CHECK(inside != child);
    OK(infinirtGraphNodeFindInClone(&found, original, inside));
    FAILS(infinirtGraphDestroy(inside), infinirtErrorInvalidValue);
    add_empty(inside);
    CHECK_EQ(nodes_of(child).size(), 1);
    infinirtGraphNode_t self;
    OK(infinirtGraphAddChildGraphNode(&self, graph, nullptr, 0, graph));  // a copy of what it was

    OK(infinirtGraphClone(&clone, graph));
    CHECK_EQ(nodes_of(clone).size(), 2);
    OK(infinirtGraphNodeFindInClone(&found, node, clone));
    FAILS(infinirtGraphNodeFindInClone(&self, original, clone), infinirtErrorInvalidValue);
    OK(infinirtGraphDestroyNode(found));
    FAILS(infinirtGraphNodeFindInClone(&found, node, clone), infinirtErrorInvalidValue);
    OK(infinirtGraphDestroy(clone));

    infinirtGraphNodeParams move{};
    move.type = infinirtGraphNodeTypeGraph;
    move.graph = {child, infinirtGraphChildGraphOwnershipMove};
    OK(infinirtGraphAddNode(&node, graph, nullptr, 0, &move));
    OK(infinirtGraphChildGraphNodeGetGraph(node, &inside));
    CHECK(inside == child);
    FAILS(infinirtGraphDestroy(child), infinirtErrorInvalidValue);
    FAILS(infinirtGraphAddNode(&self, graph, nullptr, 0, &move), infinirtErrorNotSupported);
    move.graph.graph = graph;
    FAILS(infinirtGraphAddNode(&self, child, nullptr, 0, &move), infinirtErrorInvalidValue);
    OK(infinirtGraphDestroy(graph));
    FAILS(infinirtGraphDestroy(child), infinirtErrorInvalidValue);
}

void user_objects() {
    std::atomic<int> destroyed{0};
    infinirtUserObject_t object;
    auto create = [&](unsigned references) {
        OK(infinirtUserObjectCreate(&object, &destroyed, add_one, references,
                                    infinirtUserObjectNoDestructorSync));
    };
    FAILS(infinirtUserObjectCreate(&object, &destroyed, add_one, 1, 0), infinirtErrorInvalidValue);
    FAILS(infinirtUserObjectCreate(&object, &destroyed, add_one, 0,
                                   infinirtUserObjectNoDestructorSync),
          infinirtErrorInvalidValue);
    create(2);
    OK(infinirtUserObjectRetain(object, 1));
    OK(infinirtUserObjectRelease(object, 2));
    FAILS(infinirtUserObjectRelease(object, 2), infinirtErrorInvalidValue);
    FAILS(infinirtUserObjectRetain(object, 0), infinirtErrorInvalidValue);
    OK(infinirtUserObjectRelease(object, 1));
    CHECK_EQ(destroyed.load(), 1);
    FAILS(infinirtUserObjectRelease(object, 1), infinirtErrorInvalidValue);

    // Graphs, clones and instantiated graphs hold references of their own.
    create(1);
    infinirtGraph_t graph = make_graph(), clone;
    FAILS(infinirtGraphRetainUserObject(graph, object, 2, infinirtGraphUserObjectMove),
          infinirtErrorInvalidValue);
    OK(infinirtGraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove));
    FAILS(infinirtUserObjectRelease(object, 1), infinirtErrorInvalidValue);
    FAILS(infinirtGraphReleaseUserObject(graph, object, 2), infinirtErrorInvalidValue);
    OK(infinirtGraphClone(&clone, graph));
    infinirtGraphExec_t exec = instantiate(graph);
    OK(infinirtGraphReleaseUserObject(graph, object, 1));
    OK(infinirtGraphDestroy(clone));
    CHECK_EQ(destroyed.load(), 1);
    // An update takes over the references of the new graph; this one has none.
    OK(infinirtGraphExecUpdate(exec, graph, nullptr));
    CHECK_EQ(destroyed.load(), 2);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
}

void picture() {
    char *memory = device_memory(64);
    infinirtGraph_t graph = make_graph(), child = make_graph();
    infinirtGraphNode_t fill = add_fill(graph, memory, 0xab, 64), node;
    add_empty(child);
    OK(infinirtGraphAddChildGraphNode(&node, graph, &fill, 1, child));
    std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") +
                       "/infini_graph_" + std::to_string(reinterpret_cast<uintptr_t>(graph)) +
                       ".dot";
    auto print = [&](unsigned flags) {
        OK(infinirtGraphDebugDotPrint(graph, path.c_str(), flags));
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        std::remove(path.c_str());
        return text.str();
    };
    std::string plain = print(0), verbose = print(infinirtGraphDebugDotFlagsVerbose);
    CHECK(plain.find("digraph") == 0 && plain.find("->") != std::string::npos);
    CHECK(plain.find("subgraph") != std::string::npos);
    CHECK(plain.find("0xab") == std::string::npos);
    CHECK(verbose.find("0xab") != std::string::npos);
    FAILS(infinirtGraphDebugDotPrint(graph, "/nowhere/at/all.dot", 0),
          infinirtErrorOperatingSystem);
    OK(infinirtGraphDestroy(graph));
    OK(infinirtGraphDestroy(child));
    OK(infinirtFree(memory));
}

// Captured work becomes nodes whose parameters can be read and set again.
void captured_parameters() {
    char *memory = device_memory(1024);
    char host[64] = {};
    infinirtStream_t stream = make_stream();
    std::atomic<int> count{0};
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMemcpyAsync(memory, host, 64, infinirtMemcpyHostToDevice, stream));
    OK(infinirtMemset2DAsync(memory, 64, 3, 16, 4, stream));
    OK(infinirtMemset3DAsync({memory, 64, 16, 4}, 1, {16, 2, 3}, stream));
    OK(infinirtLaunchHostFunc(stream, add_one, &count));
    infinirtGraph_t graph;
    OK(infinirtStreamEndCapture(stream, &graph));
    Nodes nodes = nodes_of(graph);
    CHECK_EQ(nodes.size(), 6);  // a box is filled slice by slice
    infinirtMemcpy3DParms copy;
    OK(infinirtGraphMemcpyNodeGetParams(nodes[0], &copy));
    CHECK(copy.kind == infinirtMemcpyHostToDevice && copy.extent.width == 64);
    OK(infinirtGraphMemcpyNodeSetParams(nodes[0], &copy));
    infinirtMemsetParams fill;
    OK(infinirtGraphMemsetNodeGetParams(nodes[1], &fill));
    CHECK(fill.pitch == 64 && fill.value == 3 && fill.height == 4 && fill.elementSize == 1);
    OK(infinirtGraphMemsetNodeGetParams(nodes[3], &fill));
    CHECK(fill.dst == memory + 256 && fill.height == 2);
    infinirtHostNodeParams function;
    OK(infinirtGraphHostNodeGetParams(nodes[5], &function));
    CHECK(function.fn == add_one && function.userData == &count);
    CHECK_EQ(count.load(), 0);
    OK(infinirtGraphDestroy(graph));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(memory));
}

// While a graph is captured into, it cannot be taken apart.
void rules_during_capture() {
    infinirtStream_t stream = make_stream();
    infinirtGraph_t idle = make_graph(), graph;
    infinirtGraphExec_t exec = instantiate(idle), other;
    infinirtStreamCaptureStatus status;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr));
    infinirtGraphNode_t node = add_empty(graph);
    FAILS(infinirtGraphDestroy(graph), infinirtErrorIllegalState);
    FAILS(infinirtGraphDestroyNode(node), infinirtErrorIllegalState);
    OK(infinirtGraphLaunch(exec, make_stream()));
    OK(infinirtGraphExecUpdate(exec, idle, nullptr));
    OK(infinirtStreamEndCapture(stream, &graph));
    OK(infinirtGraphDestroy(graph));

    for (int call = 0; call < 3; ++call) {
        OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
        if (call == 0)
            FAILS(infinirtGraphLaunch(exec, stream), infinirtErrorStreamCaptureUnsupported);
        if (call == 1)
            FAILS(infinirtGraphInstantiate(&other, idle, 0), infinirtErrorStreamCaptureUnsupported);
        if (call == 2) FAILS(infinirtGraphExecDestroy(exec), infinirtErrorStreamCaptureUnsupported);
        FAILS(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
    }
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(idle));
    OK(infinirtStreamDestroy(stream));
}

}  // namespace

int main() {
    RUN(shape);
    RUN(wrong_edges);
    RUN(parameters);
    RUN(children_and_clones);
    RUN(user_objects);
    RUN(picture);
    RUN(captured_parameters);
    RUN(rules_during_capture);
    std::puts("ok");
}
