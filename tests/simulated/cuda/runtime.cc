#include "runtime.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "hopper.h"

namespace simulated {
namespace {

void *open_instance() {
    Dl_info self;
    dladdr(reinterpret_cast<void *>(&open_instance), &self);
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + "engine/libinfinirt.so";
    // RTLD_DEEPBIND: its internal calls must not resolve to the client's libinfinirt.
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!library) {
        fprintf(stderr, "simulated CUDA: %s\n", dlerror());
        abort();
    }
    return library;
}

std::atomic<int> failure{0};
std::atomic<infinirtHostFn_t> kernels{nullptr};
thread_local Error last = infinirtSuccess;

// On real hardware a kernel error is sticky: every function returns it until the process ends. Here
// one function returns it, so that later tests are not affected.
bool sticky() {
    static const bool value = getenv("INFINI_SIMULATED_STICKY") != nullptr;
    return value;
}

bool tells_failures(const char *function) {
    return strstr(function, "Synchronize") || strstr(function, "Query") ||
           !strncmp(function, "Memcpy", 6) || !strcmp(function, "GraphLaunch");
}

}  // namespace

void *own_symbol(const char *name) {
    static void *const library = open_instance();
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "simulated CUDA: %s\n", dlerror());
        abort();
    }
    return symbol;
}

Error with_failures(const char *function, Error result) {
    if (!failure.load(std::memory_order_relaxed)) return result;
    if (!sticky() && !tells_failures(function)) return result;
    int found = sticky() ? failure.load() : failure.exchange(0);
    return found ? last = static_cast<Error>(found) : result;
}

}  // namespace simulated

using namespace simulated;

void simulatedReportFailure(infinirtError_t error) {
    int none = 0;
    failure.compare_exchange_strong(none, error);
}

// A device is reset for all threads. They get its new context when they next select it; on hardware
// other functions do that, too.
namespace {

constexpr int kDevices = 16;
std::atomic<unsigned> resets[kDevices];
thread_local int chosen_device = -1;
thread_local unsigned chosen_context = 0;

unsigned context_of(int device) {
    return 1 + unsigned(device) % kDevices + kDevices * resets[device % kDevices];
}

}  // namespace

unsigned simulatedContext() {
    return chosen_device >= 0 && chosen_context == context_of(chosen_device) ? chosen_context : 0;
}

SIMULATED_EXPORT infinirtError_t cudaSetDevice(int device) {
    static const auto own = own_function<decltype(&infinirtSetDevice)>("infinirtSetDevice_v2");
    const Error error = own(device);
    if (!error) chosen_context = context_of(chosen_device = device);
    return with_failures("SetDevice", error);
}

SIMULATED_EXPORT infinirtError_t cudaDeviceReset() {
    static const auto own = own_function<decltype(&infinirtDeviceReset)>("infinirtDeviceReset");
    int device = 0;
    static const auto ask = own_function<decltype(&infinirtGetDevice)>("infinirtGetDevice_v2");
    if (!ask(&device)) ++resets[device % kDevices];
    return with_failures("DeviceReset", own());
}

SIMULATED_EXPORT infinirtError_t cudaThreadExit() { return cudaDeviceReset(); }

void simulatedNameKernels(infinirtHostFn_t function) { kernels = function; }

SIMULATED_EXPORT infinirtError_t cudaGetLastError() {
    static const auto own = own_function<decltype(&infinirtGetLastError)>("infinirtGetLastError");
    Error first = last, second = own();
    last = infinirtSuccess;
    return first ? first : second;
}

// "cudaErrorInvalidValue"
SIMULATED_EXPORT const char *cudaGetErrorName(infinirtError_t error) {
    static const auto own = own_function<decltype(&infinirtGetErrorName)>("infinirtGetErrorName");
    static std::mutex lock;
    static auto *names = new std::map<int, std::string>;
    const char *name = own(error);
    constexpr const char *kPrefix = "infinirt";
    if (strncmp(name, kPrefix, strlen(kPrefix)) != 0) return name;
    std::lock_guard guard(lock);
    std::string &renamed = (*names)[error];
    if (renamed.empty()) renamed = std::string("cuda") + (name + strlen(kPrefix));
    return renamed.c_str();
}

SIMULATED_EXPORT infinirtError_t cudaPeekAtLastError() {
    static const auto own =
        own_function<decltype(&infinirtPeekAtLastError)>("infinirtPeekAtLastError");
    return last ? last : own();
}

SIMULATED_EXPORT infinirtError_t cudaGetDeviceProperties_v2(infinirtDeviceProp *prop, int device) {
    static const auto own =
        own_function<decltype(&infinirtGetDeviceProperties)>("infinirtGetDeviceProperties_v2");
    Error error = own(prop, device);
    if (!error) describe_limits(*prop);
    return with_failures("GetDeviceProperties", error);
}

SIMULATED_EXPORT infinirtError_t cudaGraphNodeGetType(infinirtGraphNode_t node,
                                                      infinirtGraphNodeType *type) {
    static const auto own =
        own_function<decltype(&infinirtGraphNodeGetType)>("infinirtGraphNodeGetType");
    static const auto ask =
        own_function<decltype(&infinirtGraphHostNodeGetParams)>("infinirtGraphHostNodeGetParams");
    Error error = own(node, type);
    infinirtHostNodeParams params{};
    if (!error && *type == infinirtGraphNodeTypeHost && ask(node, &params) == infinirtSuccess &&
        params.fn == kernels.load())
        *type = infinirtGraphNodeTypeKernel;
    return with_failures("GraphNodeGetType", error);
}

// Pool memory may have been used by the same operator before, so it is filled with garbage to
// expose elements that it does not write.
static Error spoil(Error error, void **memory, size_t bytes, infinirtStream_t stream) {
    static const auto fill = own_function<decltype(&infinirtMemsetAsync)>("infinirtMemsetAsync_v2");
    static const auto ask =
        own_function<decltype(&infinirtStreamIsCapturing)>("infinirtStreamIsCapturing");
    infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
    if (!error && *memory && ask(stream, &status) == infinirtSuccess &&
        status == infinirtStreamCaptureStatusNone)
        error = fill(*memory, kGarbage, bytes, stream);
    return error;
}

SIMULATED_EXPORT infinirtError_t cudaMallocAsync(void **memory, size_t bytes,
                                                 infinirtStream_t stream) {
    static const auto own = own_function<decltype(&infinirtMallocAsync)>("infinirtMallocAsync_v2");
    return with_failures("MallocAsync", spoil(own(memory, bytes, stream), memory, bytes, stream));
}

SIMULATED_EXPORT infinirtError_t cudaMallocFromPoolAsync(void **memory, size_t bytes,
                                                         infinirtMemPool_t pool,
                                                         infinirtStream_t stream) {
    static const auto own =
        own_function<decltype(&infinirtMallocFromPoolAsync)>("infinirtMallocFromPoolAsync");
    return with_failures("MallocFromPoolAsync",
                         spoil(own(memory, bytes, pool, stream), memory, bytes, stream));
}
