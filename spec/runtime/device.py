"""Devices.

Device numbers count the devices of the kind that the thread works with. Every thread has a current
device, 0 to begin with; what a thread allocates or creates belongs to the device that is current at
that moment.
"""

FUNCTIONS = """
DeviceReset()
    Wait for the current device, then destroy all that this process holds on it, but what tensors
    hold where the device can keep it.

DeviceSynchronize()
    Wait until all work given to the current device is done. [waits]

DeviceSetLimit(enum infinirtLimit limit, size_t value)
    Ask for a limit on the current device; read it back to see what was granted.

DeviceGetLimit(out size_t *pValue, enum infinirtLimit limit)
    Tell a limit of the current device.

DeviceGetCacheConfig(out enum infinirtFuncCache *pCacheConfig)
    Tell the preferred split between cache and shared memory.

DeviceGetStreamPriorityRange(out? int *leastPriority, out? int *greatestPriority)
    Tell the range of stream priorities. The greatest priority is the smallest number.

DeviceSetCacheConfig(enum infinirtFuncCache cacheConfig)
    State a preferred split between cache and shared memory; devices without the choice ignore it.

DeviceGetByPCIBusId(out int *device, in const char *pciBusId)
    Find the device at a bus address written as domain:bus:device.function, in hexadecimal.

DeviceGetPCIBusId(text(len) char *pciBusId, int len, int device)
    Write a device's bus address into a buffer of `len` bytes, ended by a zero.

DeviceFlushGPUDirectRDMAWrites(enum infinirtFlushGPUDirectRDMAWritesTarget target,
        enum infinirtFlushGPUDirectRDMAWritesScope scope)
    Wait until writes that a third device made to this one can be seen.
    [unsupported: writes of other devices into a device's memory are the driver's matter]

DeviceRegisterAsyncNotification(int device, in infinirtAsyncCallback callbackFunc,
        ptr void *userData, out infinirtAsyncCallbackHandle_t *callback)
    Have a function called when the driver reports something about a device.
    [unsupported: only the driver sends such notices]

DeviceUnregisterAsyncNotification(int device, infinirtAsyncCallbackHandle_t callback)
    Stop what DeviceRegisterAsyncNotification began.
    [unsupported: only the driver sends such notices]

DeviceGetSharedMemConfig(out enum infinirtSharedMemConfig *pConfig)
    Tell the width of shared-memory banks. Out of use since CUDA 12.

DeviceSetSharedMemConfig(enum infinirtSharedMemConfig config)
    State the wanted width of shared-memory banks. Out of use since CUDA 12.

ThreadExit()
    Old name of DeviceReset.

ThreadSynchronize()
    Old name of DeviceSynchronize. [waits]

ThreadSetLimit(enum infinirtLimit limit, size_t value)
    Old name of DeviceSetLimit.

ThreadGetLimit(out size_t *pValue, enum infinirtLimit limit)
    Old name of DeviceGetLimit.

ThreadGetCacheConfig(out enum infinirtFuncCache *pCacheConfig)
    Old name of DeviceGetCacheConfig.

ThreadSetCacheConfig(enum infinirtFuncCache cacheConfig)
    Old name of DeviceSetCacheConfig.

GetDeviceCount(out int *count)
    Count the devices of the thread's kind. [the core's]

GetDeviceProperties(out struct infinirtDeviceProp *prop, int device)
    Tell name, memory and abilities of a device. [symbol: GetDeviceProperties_v2]

DeviceGetAttribute(out int *value, enum infinirtDeviceAttr attr, int device)
    Tell one number about a device; much cheaper than all its properties.

ChooseDevice(out int *device, in const struct infinirtDeviceProp *prop)
    Find the device that comes closest to the properties asked for.

InitDevice(int device, unsigned int deviceFlags, unsigned int flags)
    Set a device up without making it current. `deviceFlags` count if `flags` says so.

SetDevice(int device)
    Make a device the calling thread's current one. [the core's]

GetDevice(out int *device)
    Tell the calling thread's current device. [the core's]

SetValidDevices(list(len) int *device_arr, int len)
    Say which devices, in which order, to try when a thread has chosen none. Length 0 restores the
    default. [the core's]

SetDeviceFlags(unsigned int flags)
    Say how the current device's waits and allocations are to work.

GetDeviceFlags(out unsigned int *flags)
    Tell the flags of the current device.
"""
