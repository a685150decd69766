#include "graph_device.h"

#include "infini/ext.h"
#include "infinirt.h"
#include "runtime_services.h"

namespace infinicore::detail {
namespace {

// A stream that receives this thread's work for a device during a scope. Allocations are kept.
class OwnStream {
public:
    explicit OwnStream(DeviceRuntime &runtime) : scope_(runtime), keeper_(thread_state().keeper) {
        check(infinirtStreamCreate(&stream), "Graph");
        thread_state().stream = stream;  // the scope puts the one before back
        thread_state().keeper = &kept;
    }
    ~OwnStream() {
        thread_state().keeper = keeper_;
        infinirtStreamDestroy(stream);
    }

    infinirtStream_t stream = nullptr;
    std::vector<std::shared_ptr<Memory>> kept;

private:
    DeviceScope scope_;
    std::vector<std::shared_ptr<Memory>> *keeper_;
};

}  // namespace

bool has_device_graphs(const DeviceRuntime &runtime, size_t launches) {
    return !runtime.is_cpu() && launches > 1;
}

std::unique_ptr<DeviceGraph> DeviceGraph::capture(DeviceRuntime &runtime,
                                                  const std::function<void()> &work,
                                                  std::string &reason) {
    OwnStream own(runtime);
    auto failed = [&] {
        reason = infiniGetLastErrorMessage();
        return nullptr;
    };
    // Nothing else uses the stream, so that memory may be allocated and kernels loaded meanwhile.
    if (infinirtStreamBeginCapture(own.stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED))
        return failed();
    try {
        work();
    } catch (const std::exception &error) {
        reason = error.what();  // run node by node; if that fails too, that run reports it
    }
    infinirtGraph_t graph = nullptr;
    const bool broken = infinirtStreamEndCapture(own.stream, &graph);
    if (broken || !reason.empty()) {
        if (broken && reason.empty()) failed();
        if (graph) infinirtGraphDestroy(graph);
        return nullptr;
    }
    infinirtGraphExec_t executable = nullptr;
    infinirtGraphNode_t node = nullptr;
    char log[256] = "";
    if (infinirtGraphInstantiate(&executable, graph, &node, log, sizeof log)) {
        failed();
        executable = nullptr;
    }
    infinirtGraphDestroy(graph);
    if (!executable) return nullptr;
    std::unique_ptr<DeviceGraph> made(new DeviceGraph(runtime, executable));
    made->kept_ = std::move(own.kept);
    return made;
}

DeviceGraph::~DeviceGraph() {
    try {
        RuntimeScope scope(runtime_);
        infini::QuietWaits quiet;
        // The stream of the last launch may be gone by now.
        if (was_launched_.load(std::memory_order_relaxed)) infinirtDeviceSynchronize();
        infinirtGraphExecDestroy(executable_);
    } catch (...) {  // the thread's device is unknown: leaking one graph is safer
    }
}

void DeviceGraph::launch() {
    RuntimeScope scope(runtime_);
    check(infinirtGraphLaunch(executable_, stream_of(runtime_)), "Graph::run");
    was_launched_.store(true, std::memory_order_relaxed);
}

}  // namespace infinicore::detail
