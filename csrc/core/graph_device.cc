#include "graph_device.h"

#include "infinirt.h"

namespace infinicore::detail {

bool has_device_graphs(const DeviceRuntime &runtime) {
    return runtime.device.getType() != Device::Type::CPU;
}

void *capture_executable(DeviceRuntime &runtime, const std::function<void()> &work) {
    DeviceScope scope(runtime);
    infinirtStream_t stream = stream_of(runtime);
    if (infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL))
        return nullptr;
    bool complete = true;
    try {
        work();
    } catch (...) {
        complete = false;  // run node by node; what is wrong is said then
    }
    infinirtGraph_t graph = nullptr;
    if (infinirtStreamEndCapture(stream, &graph) || !complete) {
        if (graph) infinirtGraphDestroy(graph);
        return nullptr;
    }
    infinirtGraphExec_t executable = nullptr;
    infinirtGraphNode_t node = nullptr;
    char log[256];
    if (infinirtGraphInstantiate(&executable, graph, &node, log, sizeof log)) executable = nullptr;
    infinirtGraphDestroy(graph);
    return executable;
}

void launch_executable(DeviceRuntime &runtime, void *executable) {
    DeviceScope scope(runtime);
    check(infinirtGraphLaunch(static_cast<infinirtGraphExec_t>(executable), stream_of(runtime)),
          "Graph::run");
}

void destroy_executable(void *executable) {
    infinirtGraphExecDestroy(static_cast<infinirtGraphExec_t>(executable));
}

}  // namespace infinicore::detail
