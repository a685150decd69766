// infini/rt.h: the functions as infini::rt::runtime::Name, and the device type of this thread.
#include <infini/rt.h>

#include <cstdio>
#include <string>

namespace rt = infini::rt;
namespace runtime = infini::rt::runtime;

int main() {
    if (rt::set_runtime_device_type(rt::Device::Type::kCpu) != INFINI_STATUS_SUCCESS) return 1;
    if (rt::runtime_device_type() != rt::Device::Type::kCpu) return 2;

    void *memory = nullptr;
    unsigned char host[64] = {};
    infinirtStream_t stream = nullptr;
    infinirtGraph_t graph = nullptr;
    infinirtGraphExec_t exec = nullptr;
    if (runtime::Malloc(&memory, sizeof host)) return 3;
    if (runtime::StreamCreateWithFlags(&stream, infinirtStreamNonBlocking)) return 4;
    if (runtime::StreamBeginCapture(stream, infinirtStreamCaptureModeRelaxed)) return 5;
    if (runtime::MemsetAsync(memory, 5, sizeof host, stream)) return 6;
    if (runtime::StreamEndCapture(stream, &graph)) return 7;
    if (runtime::GraphInstantiate(&exec, graph) || runtime::GraphLaunch(exec, stream)) return 8;
    if (runtime::StreamSynchronize(stream)) return 9;
    if (runtime::Memcpy(host, memory, sizeof host, infinirtMemcpyDeviceToHost)) return 10;
    if (host[63] != 5) return 11;

    if (runtime::SetDevice(-1) != infinirtErrorInvalidDevice) return 12;
    if (std::string(runtime::GetErrorName(runtime::GetLastError())) != "infinirtErrorInvalidDevice")
        return 13;
    if (rt::set_runtime_device_type(rt::Device::Type::kCount) == INFINI_STATUS_SUCCESS) return 14;
    if (rt::runtime_device_type() != rt::Device::Type::kCpu) return 15;
    runtime::GraphExecDestroy(exec);
    runtime::GraphDestroy(graph);
    runtime::StreamDestroy(stream);
    runtime::Free(memory);
    std::puts("ok");
}
