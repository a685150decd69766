// Device settings that are only stored and returned, versions, and the last error.
#include "capture.h"
#include "impl.h"
#include "last_error.h"
#include "memory_error.h"

namespace infini::rt::impl {
namespace {

template <class Value>
Error check_range(Call &call, const char *name, Value value, int last) {
    if (static_cast<int>(value) >= 0 && static_cast<int>(value) <= last) return infinirtSuccess;
    return call.invalid("argument 1 (%s) is %d: expected 0 to %d", name, static_cast<int>(value),
                        last);
}

bool known(const Device &device, infinirtLimit limit) {
    return limit >= 0 && static_cast<size_t>(limit) < std::size(device.limits) &&
           limit <= infinirtLimitPersistingL2CacheSize;
}

}  // namespace

Error GetLastError(Call &call) {
    Error error = call.thread.last_error;
    call.thread.last_error = infinirtSuccess;
    return error;
}

Error PeekAtLastError(Call &call) { return call.thread.last_error; }

Error DriverGetVersion(Call &, int *driverVersion) {
    *driverVersion = INFINIRT_VERSION;
    return infinirtSuccess;
}

Error RuntimeGetVersion(Call &, int *runtimeVersion) {
    *runtimeVersion = INFINIRT_VERSION;
    return infinirtSuccess;
}

Error DeviceSetLimit(Call &call, infinirtLimit limit, size_t value) {
    if (Error error = check_unsafe_call(call)) return error;
    if (!known(call.device(), limit))
        return call.invalid("argument 1 (limit) is %d: expected an infinirtLimit", limit);
    call.device().limits[limit].store(value, std::memory_order_relaxed);
    return infinirtSuccess;
}

Error DeviceGetLimit(Call &call, size_t *pValue, infinirtLimit limit) {
    if (!known(call.device(), limit))
        return call.invalid("argument 2 (limit) is %d: expected an infinirtLimit", limit);
    *pValue = call.device().limits[limit].load(std::memory_order_relaxed);
    return infinirtSuccess;
}

Error DeviceGetCacheConfig(Call &call, infinirtFuncCache *pCacheConfig) {
    *pCacheConfig =
        static_cast<infinirtFuncCache>(call.device().cache_config.load(std::memory_order_relaxed));
    return infinirtSuccess;
}

Error DeviceSetCacheConfig(Call &call, infinirtFuncCache cacheConfig) {
    if (Error error = check_range(call, "cacheConfig", cacheConfig, infinirtFuncCachePreferEqual))
        return error;
    call.device().cache_config.store(cacheConfig, std::memory_order_relaxed);
    return infinirtSuccess;
}

Error DeviceGetSharedMemConfig(Call &call, infinirtSharedMemConfig *pConfig) {
    *pConfig = static_cast<infinirtSharedMemConfig>(
        call.device().shared_memory_config.load(std::memory_order_relaxed));
    return infinirtSuccess;
}

Error DeviceSetSharedMemConfig(Call &call, infinirtSharedMemConfig config) {
    if (Error error = check_range(call, "config", config, infinirtSharedMemBankSizeEightByte))
        return error;
    call.device().shared_memory_config.store(config, std::memory_order_relaxed);
    return infinirtSuccess;
}

// The old names of functions above.
Error ThreadExit(Call &call) { return DeviceReset(call); }
Error ThreadSynchronize(Call &call) { return DeviceSynchronize(call); }
Error ThreadSetLimit(Call &call, infinirtLimit limit, size_t value) {
    return DeviceSetLimit(call, limit, value);
}
Error ThreadGetLimit(Call &call, size_t *pValue, infinirtLimit limit) {
    return DeviceGetLimit(call, pValue, limit);
}
Error ThreadGetCacheConfig(Call &call, infinirtFuncCache *pCacheConfig) {
    return DeviceGetCacheConfig(call, pCacheConfig);
}
Error ThreadSetCacheConfig(Call &call, infinirtFuncCache cacheConfig) {
    return DeviceSetCacheConfig(call, cacheConfig);
}

}  // namespace infini::rt::impl

void infiniRestoreLastError(infinirtError_t error) {
    infini::rt::Thread::current().last_error = error;
}

int infiniMemoryRanOut(void) {
    return infini::rt::Thread::current().last_error == infinirtErrorMemoryAllocation;
}
