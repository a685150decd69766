// Graphs of the device itself, through InfiniRT's capture.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "runtime.h"

namespace infinicore::detail {

// Whether launching a captured graph is faster than launching this many kernels one by one. On the
// CPU a launch is a call, and a single kernel is launched faster than a graph of it.
bool has_device_graphs(const DeviceRuntime &runtime, size_t launches);

// Owns the device's executable. It is launched in the stream of the caller, and is destroyed after
// the last launch.
class DeviceGraph {
public:
    // Captures what `work` launches in a stream of its own, so that other threads' work is not
    // captured. Empty if that is not possible; `reason` says why.
    static std::unique_ptr<DeviceGraph> capture(DeviceRuntime &runtime,
                                                const std::function<void()> &work,
                                                std::string &reason);
    ~DeviceGraph();
    DeviceGraph(const DeviceGraph &) = delete;

    void launch();

private:
    DeviceGraph(DeviceRuntime &runtime, infinirtGraphExec_t executable)
        : runtime_(runtime), executable_(executable) {}

    DeviceRuntime &runtime_;
    infinirtGraphExec_t executable_;
    std::vector<std::shared_ptr<Memory>> kept_;  // allocated while it was captured
    std::atomic<bool> was_launched_{false};
};

}  // namespace infinicore::detail
