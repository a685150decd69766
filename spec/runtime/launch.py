"""Launches: functions of the host, kernels and what is known of them."""

UNSUPPORTED = "the core runs no compiled device code; operators come from InfiniOP"

FUNCTIONS = """
LaunchHostFunc(infinirtStream_t stream, in infinirtHostFn_t fn, ptr void *userData)
    Call a function of the host after the work now in a stream; later work waits for it. It must not
    call this API.
    [served]

LaunchKernel(ptr const void *func, dim3 gridDim, dim3 blockDim, in? void **args, size_t sharedMem,
        infinirtStream_t stream)
    Run a kernel over a grid of blocks.

LaunchKernelExC(in const infinirtLaunchConfig_t *config, ptr const void *func, in? void **args)
    Run a kernel with launch attributes.

LaunchCooperativeKernel(ptr const void *func, dim3 gridDim, dim3 blockDim, in? void **args,
        size_t sharedMem, infinirtStream_t stream)
    Run a kernel all of whose blocks can wait for each other.

LaunchCooperativeKernelMultiDevice(list(numDevices) struct infinirtLaunchParams *launchParamsList,
        unsigned int numDevices, unsigned int flags = 0)
    Run a cooperative kernel on several devices.

FuncSetCacheConfig(ptr const void *func, enum infinirtFuncCache cacheConfig)
    State a kernel's preferred split between cache and shared memory.

FuncGetAttributes(out struct infinirtFuncAttributes *attr, ptr const void *func)
    Tell what a kernel needs.

FuncSetAttribute(ptr const void *func, enum infinirtFuncAttribute attr, int value)
    Set an attribute of a kernel.

FuncGetName(out const char **name, ptr const void *func)
    Tell a kernel's name.

FuncGetParamInfo(ptr const void *func, size_t paramIndex, out size_t *paramOffset,
        out? size_t *paramSize)
    Tell where a kernel's parameter lies and how large it is.

FuncSetSharedMemConfig(ptr const void *func, enum infinirtSharedMemConfig config)
    State a kernel's wanted width of shared-memory banks. Out of use since CUDA 12.
"""
