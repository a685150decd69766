// The simulated libcuda: modules, functions, launches. A launch is a host function in the stream, so
// streams, events, capture and graphs treat it as they treat everything.
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "grid.h"
#include "infinirt_runtime_api.h"

using namespace simulated;

namespace {

// The simulated libcudart beside this library.
void *runtime_symbol(const char *name) {
    static void *const library = [] {
        Dl_info self;
        dladdr(reinterpret_cast<void *>(&runtime_symbol), &self);
        std::string path = self.dli_fname;
        path = path.substr(0, path.rfind('/') + 1) + "libcudart.so.12";
        void *found = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!found) {
            fprintf(stderr, "simulated CUDA: %s\n", dlerror());
            abort();
        }
        return found;
    }();
    return dlsym(library, name);
}

#define RUNTIME(name)        \
    static const auto name = \
        reinterpret_cast<decltype(&infinirt##name)>(runtime_symbol("cuda" #name))

bool traced() {
    static const bool value = getenv("INFINI_SIMULATED_TRACE") != nullptr;
    return value;
}

// A launch with its own copy of the parameters.
struct Record {
    Launch launch;
    bool kept;  // by a graph, for any number of runs

    // They lie behind it.
    unsigned char *parameters() { return reinterpret_cast<unsigned char *>(this) + kHead; }
    static constexpr size_t kHead = 64;
};
static_assert(sizeof(Record) <= Record::kHead);

void destroy(void *record) { free(record); }

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// In the stream.
void run(void *data) {
    static const auto report =
        reinterpret_cast<void (*)(infinirtError_t)>(runtime_symbol("simulatedReportFailure"));
    auto *record = static_cast<Record *>(data);
    double start = traced() ? now() : 0;
    int error = run_grid(record->launch);
    if (traced()) {
        const Launch &l = record->launch;
        fprintf(stderr, "simulated CUDA: %s <<<(%u,%u,%u), (%u,%u,%u), %u>>> %.3f ms%s\n",
                l.function->module->name.c_str(), l.grid.x, l.grid.y, l.grid.z, l.block.x,
                l.block.y, l.block.z, l.dynamic_bytes, (now() - start) * 1e3,
                error ? " FAILED" : "");
    }
    if (error) report(static_cast<infinirtError_t>(error));
    if (!record->kept) destroy(record);
}

// The graph that is being captured keeps the record.
CUresult keep(CUstream stream, Record *record) {
    using GetInfo =
        infinirtError_t (*)(infinirtStream_t, infinirtStreamCaptureStatus *, unsigned long long *,
                            infinirtGraph_t *, const infinirtGraphNode_t **, size_t *);
    static const auto get_info =
        reinterpret_cast<GetInfo>(runtime_symbol("cudaStreamGetCaptureInfo_v2"));
    RUNTIME(UserObjectCreate);
    RUNTIME(GraphRetainUserObject);
    infinirtGraph_t graph = nullptr;
    infinirtUserObject_t object = nullptr;
    infinirtStreamCaptureStatus status;
    if (auto error = get_info(static_cast<infinirtStream_t>(stream), &status, nullptr, &graph,
                              nullptr, nullptr))
        return error;
    if (auto error =
            UserObjectCreate(&object, record, destroy, 1, infinirtUserObjectNoDestructorSync))
        return error;
    return GraphRetainUserObject(graph, object, 1, infinirtGraphUserObjectMove);
}

CUresult refuse(CUresult code, const Function &function, const char *why) {
    fprintf(stderr, "simulated CUDA: kernel %s (%s) is not launched: %s\n", function.name.c_str(),
            function.module->name.c_str(), why);
    return code;
}

CUresult check(const Launch &l) {
    const Function &function = *l.function;
    auto wrong = [&](const char *why) { return refuse(CUDA_ERROR_INVALID_VALUE, function, why); };
    const uint64_t threads = uint64_t(l.block.x) * l.block.y * l.block.z;
    if (!l.grid.x || !l.grid.y || !l.grid.z || !threads) return wrong("its grid is empty");
    if (l.grid.x > 0x7fffffffu || l.grid.y > 65535 || l.grid.z > 65535)
        return wrong("its grid is larger than 2147483647 x 65535 x 65535");
    if (threads > kMaxThreads || l.block.z > 64) return wrong("its blocks are too large");
    if (threads > function.most_threads)
        return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, function,
                      "its blocks are larger than its __launch_bounds__");
    size_t shared = function.module->shared_bytes + l.dynamic_bytes;
    if (l.dynamic_bytes > function.dynamic_allowed && shared > kShared)
        return wrong("its shared memory is more than 48 KiB, and cuFuncSetAttribute did not ask");
    if (shared > kSharedOptin) return wrong("its shared memory is more than 227 KiB");
    return CUDA_SUCCESS;
}

CUresult launch(const Launch &wanted, CUstream stream, const void *parameters) {
    RUNTIME(StreamIsCapturing);
    RUNTIME(LaunchHostFunc);
    static const bool named = [] {
        auto name =
            reinterpret_cast<void (*)(infinirtHostFn_t)>(runtime_symbol("simulatedNameKernels"));
        name(run);
        return true;
    }();
    (void)named;
    if (CUresult error = check(wanted)) return error;
    const size_t bytes = wanted.function->parameter_bytes;
    void *memory = aligned_alloc(64, (Record::kHead + bytes + 63) / 64 * 64);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    auto *record = new (memory) Record{wanted, false};
    memcpy(record->parameters(), parameters, bytes);
    record->launch.parameters = record->parameters();
    auto queue = static_cast<infinirtStream_t>(stream);
    infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
    infinirtError_t error = StreamIsCapturing(queue, &status);
    record->kept = status == infinirtStreamCaptureStatusActive;
    if (!error && record->kept)
        if (CUresult failed = keep(stream, record)) {
            destroy(record);
            return failed;
        }
    if (!error) error = LaunchHostFunc(queue, run, record);
    if (error && !record->kept) destroy(record);
    return error;
}

}  // namespace

// ---- Modules and functions ----------------------------------------------------------------------

SIMULATED_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    *module = load_module(image);
    return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

SIMULATED_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned, int *,
                                             void **) {
    return cuModuleLoadData(module, image);
}

SIMULATED_EXPORT CUresult cuModuleUnload(CUmodule module) {
    unload_module(module);
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                              const char *name) {
    *function = find_function(*module, name);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

SIMULATED_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *) {
    return CUDA_ERROR_NOT_FOUND;
}

// Libraries are modules that belong to no context.
SIMULATED_EXPORT CUresult cuLibraryLoadData(CUmodule *library, const void *code, int *, void **,
                                            unsigned, int *, void **, unsigned) {
    return cuModuleLoadData(library, code);
}
SIMULATED_EXPORT CUresult cuLibraryUnload(CUmodule library) { return cuModuleUnload(library); }
SIMULATED_EXPORT CUresult cuLibraryGetKernel(CUfunction *kernel, CUmodule library,
                                             const char *name) {
    return cuModuleGetFunction(kernel, library, name);
}
SIMULATED_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUmodule library) {
    *module = library;
    return CUDA_SUCCESS;
}
SIMULATED_EXPORT CUresult cuKernelGetFunction(CUfunction *function, CUfunction kernel) {
    *function = kernel;
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                             CUfunction function) {
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = int(function->most_threads);
            break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value = int(function->module->shared_bytes);
            break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = 10 * kMajor + kMinor;
            break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = int(function->dynamic_allowed);
            break;
        default:
            *value = 0;
    }
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                             int value) {
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || size_t(value) + function->module->shared_bytes > kSharedOptin)
            return CUDA_ERROR_INVALID_VALUE;
        function->dynamic_allowed = unsigned(value);
    }
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuFuncSetCacheConfig(CUfunction, int) { return CUDA_SUCCESS; }

SIMULATED_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                      CUfunction function,
                                                                      int threads, size_t dynamic) {
    if (threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    size_t shared = function->module->shared_bytes + dynamic + kSharedReserved;
    int by_threads = kThreadsOfProcessor / ((threads + kWarp - 1) / kWarp * kWarp);
    int by_shared = int(kSharedOfProcessor / shared);
    *blocks = std::min({by_threads, by_shared, kBlocksOfProcessor});
    return CUDA_SUCCESS;
}
SIMULATED_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction function, int threads, size_t dynamic, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic);
}

// ---- Launches -----------------------------------------------------------------------------------

SIMULATED_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared, CUstream stream,
                                         void **parameters, void **extra) {
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const void *given = parameters ? parameters[0] : nullptr;
    // Pairs of a number and a value: 1 is the address of a buffer with all parameters.
    for (; extra && *extra; extra += 2)
        if (*extra == reinterpret_cast<void *>(1)) given = extra[1];
    if (!given) return CUDA_ERROR_INVALID_VALUE;
    return launch(
        {function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, nullptr}, stream,
        given);
}

SIMULATED_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                           void **parameters, void **extra) {
    return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                          config->blockDimX, config->blockDimY, config->blockDimZ,
                          config->sharedMemBytes, config->hStream, parameters, extra);
}

// ---- Devices and contexts: the runtime's --------------------------------------------------------

SIMULATED_EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

SIMULATED_EXPORT CUresult cuDriverGetVersion(int *version) {
    *version = 12090;
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuDeviceGetCount(int *count) {
    RUNTIME(GetDeviceCount);
    return GetDeviceCount(count);
}

SIMULATED_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    int count = 0;
    if (CUresult error = cuDeviceGetCount(&count)) return error;
    if (ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    RUNTIME(DeviceGetAttribute);
    return DeviceGetAttribute(value, static_cast<infinirtDeviceAttr>(attribute), device);
}

SIMULATED_EXPORT CUresult cuDeviceGetName(char *name, int bytes, CUdevice) {
    snprintf(name, size_t(bytes), "simulated CUDA device");
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
    *bytes = kMemory;
    return CUDA_SUCCESS;
}

// A context is the number of its device, plus 1.
SIMULATED_EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    RUNTIME(GetDevice);
    return GetDevice(device);
}
SIMULATED_EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
    CUdevice device = 0;
    CUresult error = cuCtxGetDevice(&device);
    *context = reinterpret_cast<CUcontext>(intptr_t(device) + 1);
    return error;
}
SIMULATED_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    RUNTIME(SetDevice);
    return context ? SetDevice(int(reinterpret_cast<intptr_t>(context)) - 1) : infinirtSuccess;
}
SIMULATED_EXPORT CUresult cuCtxSynchronize() {
    RUNTIME(DeviceSynchronize);
    return DeviceSynchronize();
}
SIMULATED_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    *context = reinterpret_cast<CUcontext>(intptr_t(device) + 1);
    return CUDA_SUCCESS;
}
SIMULATED_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }

SIMULATED_EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
    RUNTIME(GetErrorName);
    *text = GetErrorName(static_cast<infinirtError_t>(error));
    return CUDA_SUCCESS;
}
SIMULATED_EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
    RUNTIME(GetErrorString);
    *text = GetErrorString(static_cast<infinirtError_t>(error));
    return CUDA_SUCCESS;
}

SIMULATED_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int, uint64_t,
                                              int *status) {
    void *self = nullptr;
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&cuInit), &info))
        self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *function = nullptr;
    for (const char *ending : {"_v2", ""})
        if (!*function) *function = dlsym(self, (std::string(name) + ending).c_str());
    if (status) *status = *function ? 0 : 1;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
SIMULATED_EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version,
                                           uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
