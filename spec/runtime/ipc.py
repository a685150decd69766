"""Between processes: events and device memory handed over as 64 opaque bytes."""

FUNCTIONS = """
IpcGetEventHandle(out infinirtIpcEventHandle_t *handle, infinirtEvent_t event)
    Describe an event, made with Interprocess and DisableTiming, for other processes.

IpcOpenEventHandle(out infinirtEvent_t *event, infinirtIpcEventHandle_t handle)
    Open another process's event.

IpcGetMemHandle(out infinirtIpcMemHandle_t *handle, ptr void *devPtr)
    Describe the allocation that an address lies in for other processes.

IpcOpenMemHandle(out void **devPtr, infinirtIpcMemHandle_t handle, unsigned int flags)
    Map another process's allocation on the current device. `flags` must be
    infinirtIpcMemLazyEnablePeerAccess.

IpcCloseMemHandle(ptr void *devPtr)
    Unmap what IpcOpenMemHandle mapped.
"""
