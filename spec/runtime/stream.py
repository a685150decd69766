"""Streams.

A stream is a queue: its work is done in order, beside the work of other streams. The null stream
waits for, and holds up, every stream of its device that was not made with
infinirtStreamNonBlocking.
"""

FUNCTIONS = """
StreamCreate(out infinirtStream_t *pStream)
    Make a stream on the current device.

StreamCreateWithFlags(out infinirtStream_t *pStream, unsigned int flags)
    Make a stream; infinirtStreamNonBlocking frees it from the null stream's order.

StreamCreateWithPriority(out infinirtStream_t *pStream, unsigned int flags, int priority)
    Make a stream with flags and a priority; smaller numbers go first. Others are moved into the
    range.

StreamGetPriority(infinirtStream_t hStream, out int *priority)
    Tell a stream's priority.

StreamGetFlags(infinirtStream_t hStream, out unsigned int *flags)
    Tell the flags that a stream was made with.

StreamGetId(infinirtStream_t hStream, out unsigned long long *streamId)
    Tell a number that no other stream of this process ever has.

StreamGetDevice(infinirtStream_t hStream, out int *device)
    Tell the device that a stream belongs to.

CtxResetPersistingL2Cache()
    Make all persisting lines of the second-level cache normal again.

StreamCopyAttributes(infinirtStream_t dst, infinirtStream_t src)
    Give a stream the attributes of another stream of the same device.

StreamGetAttribute(infinirtStream_t hStream, infinirtLaunchAttributeID attr,
        out infinirtLaunchAttributeValue *value_out)
    Tell an attribute of a stream.

StreamSetAttribute(infinirtStream_t hStream, infinirtLaunchAttributeID attr,
        in const infinirtLaunchAttributeValue *value)
    Set an attribute of a stream, for work given to it from now on.

StreamDestroy(infinirtStream_t stream)
    Destroy a stream without waiting; work already in it is still done.

StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags = 0)
    Let all later work in a stream wait for the latest record of an event, also one of another
    device. [across]

StreamAddCallback(infinirtStream_t stream, in infinirtStreamCallback_t callback, ptr void *userData,
        unsigned int flags)
    Call a function, with the stream's state, after the work now in the stream. `flags` must be 0.
    It must not call this API. LaunchHostFunc is the newer form.

StreamSynchronize(infinirtStream_t stream)
    Wait until all work now in a stream is done. [waits]

StreamQuery(infinirtStream_t stream)
    Success when a stream has nothing left to do, infinirtErrorNotReady when it has. [waits]

StreamAttachMemAsync(infinirtStream_t stream, ptr void *devPtr, size_t length = 0,
        unsigned int flags = infinirtMemAttachSingle)
    Say, in stream order, who may touch managed memory. Length 0 means the whole allocation.
"""
