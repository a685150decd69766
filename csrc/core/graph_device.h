// Graphs of the device itself, through InfiniRT's capture.
#pragma once

#include <functional>

#include "runtime.h"

namespace infinicore::detail {

// Does launching a captured graph beat launching its kernels one by one? On the CPU a launch is a call.
bool has_device_graphs(const DeviceRuntime &runtime);

// What `work` puts into the thread's stream, as something to launch; null when it can't be captured.
void *capture_executable(DeviceRuntime &runtime, const std::function<void()> &work);
void launch_executable(DeviceRuntime &runtime, void *executable);
void destroy_executable(void *executable);

}  // namespace infinicore::detail
