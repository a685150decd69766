// The simulated libcuda: modules, functions, launches. A launch is a host function in the stream,
// so streams, events, capture and graphs treat it like any other work.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "hopper.h"
#include "launch.h"

using namespace simulated;

// ---- Modules and functions ----------------------------------------------------------------------

SIMULATED_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    const unsigned context = current_context();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    *module = load_module(image);
    if (*module) (*module)->context = context;
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
            *value = capability();
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
        if (value < 0 || size_t(value) + function->module->shared_bytes > shared_optin())
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
    const int warp = Profile::get().warp;
    int by_threads = kThreadsOfProcessor / ((threads + warp - 1) / warp * warp);
    int by_shared = int(shared_of_processor() / shared);
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
    if (!function || function->module->context != current_context())
        return CUDA_ERROR_INVALID_HANDLE;
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

// ---- Bulk copies --------------------------------------------------------------------------------

// Only what kernels here use: four sizes, 16-bit elements, 128 bytes swizzled. See copies.h.
SIMULATED_EXPORT CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *memory,
                                                 const uint64_t *sizes, const uint64_t *strides,
                                                 const uint32_t *box, const uint32_t *steps,
                                                 int interleave, int swizzle, int, int) {
    constexpr int kWords = 1, kSwizzle128 = 3;
    if (type != kWords || rank != 4 || interleave || swizzle != kSwizzle128 ||
        reinterpret_cast<uintptr_t>(memory) % 16 || reinterpret_cast<uintptr_t>(map) % 64)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t words[13] = {reinterpret_cast<uintptr_t>(memory)};
    for (int i = 0; i < 4; ++i) {
        const uint64_t stride = i ? strides[i - 1] : 2;
        if (!sizes[i] || !box[i] || box[i] > 256 || steps[i] != 1 || (i && stride % 16))
            return CUDA_ERROR_INVALID_VALUE;
        words[1 + i] = sizes[i], words[5 + i] = stride, words[9 + i] = box[i];
    }
    std::memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}

// ---- Values in memory ---------------------------------------------------------------------------

namespace {

struct ValueWork : Work {
    volatile uint32_t *place;
    uint32_t value;
    unsigned flags;
};

void write_value(void *data) {
    auto *work = static_cast<ValueWork *>(data);
    *work->place = work->value;
    work->done();
}

void wait_for_value(void *data) {
    auto *work = static_cast<ValueWork *>(data);
    auto come = [&] {
        uint32_t now = *work->place;
        switch (work->flags & 3) {
            case 0:
                return int32_t(now - work->value) >= 0;
            case 1:
                return now == work->value;
            case 2:
                return (now & work->value) != 0;
            default:
                return ~(now | work->value) != 0;
        }
    };
    while (!come()) usleep(100);
    work->done();
}

CUresult enqueue_value(CUstream stream, infinirtHostFn_t function, CUdeviceptr place,
                       uint32_t value, unsigned flags) {
    auto *work = static_cast<ValueWork *>(malloc(sizeof(ValueWork)));
    if (!work) return CUDA_ERROR_OUT_OF_MEMORY;
    new (work) ValueWork{{}, reinterpret_cast<uint32_t *>(place), value, flags};
    return enqueue(stream, function, work);
}

}  // namespace

SIMULATED_EXPORT CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr place,
                                                  uint32_t value, unsigned flags) {
    return enqueue_value(stream, write_value, place, value, flags);
}
SIMULATED_EXPORT CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr place, uint32_t value,
                                                 unsigned flags) {
    return enqueue_value(stream, wait_for_value, place, value, flags);
}

// ---- Devices and contexts: the runtime's --------------------------------------------------------

SIMULATED_EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

SIMULATED_EXPORT CUresult cuDriverGetVersion(int *version) {
    *version = Profile::get().version;
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
    snprintf(name, size_t(bytes), "%s", Profile::get().device.c_str());
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
