"""The first-generation face: `infinicore.h`, `infinirt.h`, loaded by symbol name by old programs.

Both faces share one implementation. A function here calls the function of the same name in the
aligned face with its own arguments, unless a tag says `[calls: ...]`, or `[by hand]`, which means
`infini::rt::first::Name` in C++. Stream, event and graph handles are plain `void *` in this face.
"""

FUNCTIONS = """
Init()
    Load the back ends. Optional: the first call that needs one does it too. [by hand]

GetAllDeviceCount(out int *count_array)
    Fill an array of INFINI_DEVICE_TYPE_COUNT numbers: devices of each kind. [by hand]

GetDeviceCount(infiniDevice_t device, out int *count)
    Count the devices of one kind; 0 when the kind is absent. [by hand]

SetDevice(infiniDevice_t device, int device_id)
    Choose kind and number of the device that this thread works on. [by hand]

GetDevice(out? infiniDevice_t *device_ptr, out? int *device_id_ptr)
    Tell kind and number of this thread's device, (CPU, 0) to begin with. One of the two pointers
    may be null.
    [by hand]

GetMemInfo(infiniDevice_t device, int device_id, out size_t *free_bytes, out size_t *total_bytes)
    Tell free and total memory of any device; the current device stays. [by hand]

GetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
        out infinirtDeviceResourceSnapshot_t *snapshot)
    Tell what a device is using. `valid_fields` says which members were filled in. [by hand]

DeviceSynchronize()
    Wait until all work of the current device is done.

StreamCreate(out infinirtStream_t *stream_ptr)
    Make a stream on the current device.

StreamDestroy(infinirtStream_t stream)
    Destroy a stream; work already in it is still done.

StreamSynchronize(infinirtStream_t stream)
    Wait until all work in a stream is done. A null stream is the default stream, here and below.

StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event)
    Let later work in the stream wait for an event. [calls: StreamWaitEvent(stream, event, 0)]

EventCreate(out infinirtEvent_t *event_ptr)
    Make an event.

EventCreateWithFlags(out infinirtEvent_t *event_ptr, uint32_t flags)
    Make an event with flags of infinirtEventFlags_t. Their bits are not those of the aligned face.
    [by hand]

EventRecord(infinirtEvent_t event, infinirtStream_t stream)
    Record an event behind the work now in a stream.

EventQuery(infinirtEvent_t event, out infinirtEventStatus_t *status_ptr)
    Tell whether the work before an event's last record is done. [by hand]

EventSynchronize(infinirtEvent_t event)
    Wait until the work before an event's last record is done.

EventDestroy(infinirtEvent_t event)
    Destroy an event.

EventElapsedTime(out float *ms_ptr, infinirtEvent_t start, infinirtEvent_t end)
    Tell the milliseconds between two recorded events.

Malloc(out void **p_ptr, size_t size)
    Allocate memory of the current device.

MallocHost(out void **p_ptr, size_t size)
    Allocate pinned host memory.

Free(ptr void *ptr)
    Free memory of Malloc. Null is allowed.

FreeHost(ptr void *ptr)
    Free memory of MallocHost. Null is allowed.

Memcpy(ptr void *dst, ptr const void *src, size_t size, infinirtMemcpyKind_t kind)
    Copy bytes and wait until they are copied.

MemcpyAsync(ptr void *dst, ptr const void *src, size_t size, infinirtMemcpyKind_t kind,
        infinirtStream_t stream)
    Copy bytes in stream order.

MallocAsync(out void **p_ptr, size_t size, infinirtStream_t stream)
    Allocate memory in stream order.

FreeAsync(ptr void *ptr, infinirtStream_t stream)
    Free memory in stream order.

Memset(ptr void *ptr, int value, size_t count)
    Fill bytes with a value.

MemsetAsync(ptr void *ptr, int value, size_t count, infinirtStream_t stream)
    Fill bytes with a value in stream order.

StreamBeginCapture(infinirtStream_t stream, infinirtStreamCaptureMode_t mode)
    Record the work given to a stream from now on instead of doing it.

StreamEndCapture(infinirtStream_t stream, out infinirtGraph_t *graph_ptr)
    End recording and hand over the graph.

GraphDestroy(infinirtGraph_t graph)
    Destroy a graph.

GraphInstantiate(out infinirtGraphExec_t *graph_exec_ptr, infinirtGraph_t graph,
        out? infinirtGraphNode_t *node_ptr, fill(buffer_size) char *log_buffer, size_t buffer_size)
    Make a graph ready to launch. On failure the node at fault and a text are handed over where
    there is room for them.
    [by hand]

GraphExecDestroy(infinirtGraphExec_t graph_exec)
    Destroy a graph that was made ready to launch.

GraphLuanch(infinirtGraphExec_t graph_exec, infinirtStream_t stream)
    Launch a graph in a stream. The first generation's spelling.
    [calls: GraphLaunch(graph_exec, stream)]

GraphLaunch(infinirtGraphExec_t graph_exec, infinirtStream_t stream)
    Launch a graph in a stream.
"""

# Enums of infinicore.h. The words behind a value appear as comments and in the reference.
CORE_ENUMS = """
enum infiniStatus_t  How a call of the first generation ended.
    INFINI_STATUS_SUCCESS = 0                            done
    INFINI_STATUS_INTERNAL_ERROR = 1                     the device or its back end failed
    INFINI_STATUS_NOT_IMPLEMENTED = 2                    this device does not offer it
    INFINI_STATUS_BAD_PARAM = 3                          an argument is not usable
    INFINI_STATUS_NULL_POINTER = 4                       a required pointer is null
    INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED = 5          no back end for this kind of device
    INFINI_STATUS_DEVICE_NOT_FOUND = 6                   no device of this kind and number
    INFINI_STATUS_DEVICE_NOT_INITIALIZED = 7             the device could not be set up
    INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED = 8  the device is too old or too new
    INFINI_STATUS_BAD_TENSOR_DTYPE = 10                  a tensor has a wrong data type
    INFINI_STATUS_BAD_TENSOR_SHAPE = 11                  a tensor has a wrong shape
    INFINI_STATUS_BAD_TENSOR_STRIDES = 12                a tensor has strides that cannot be used
    INFINI_STATUS_INSUFFICIENT_WORKSPACE = 13            the workspace is too small

enum infiniDevice_t  Kinds of device. In lower case, the last words are the names for INFINI_DEVICE.
    INFINI_DEVICE_CPU = 0
    INFINI_DEVICE_NVIDIA = 1
    INFINI_DEVICE_CAMBRICON = 2
    INFINI_DEVICE_ASCEND = 3
    INFINI_DEVICE_METAX = 4
    INFINI_DEVICE_MOORE = 5
    INFINI_DEVICE_ILUVATAR = 6
    INFINI_DEVICE_KUNLUN = 7
    INFINI_DEVICE_HYGON = 8
    INFINI_DEVICE_QY = 9
    INFINI_DEVICE_ALI = 10
    INFINI_DEVICE_TYPE_COUNT = 11

enum infiniDtype_t  Data types. F8 is e4m3; C16 to C128 are complex, named by their total size.
    INFINI_DTYPE_INVALID = 0
    INFINI_DTYPE_BYTE = 1
    INFINI_DTYPE_BOOL = 2
    INFINI_DTYPE_I8 = 3
    INFINI_DTYPE_I16 = 4
    INFINI_DTYPE_I32 = 5
    INFINI_DTYPE_I64 = 6
    INFINI_DTYPE_U8 = 7
    INFINI_DTYPE_U16 = 8
    INFINI_DTYPE_U32 = 9
    INFINI_DTYPE_U64 = 10
    INFINI_DTYPE_F8 = 11
    INFINI_DTYPE_F16 = 12
    INFINI_DTYPE_F32 = 13
    INFINI_DTYPE_F64 = 14
    INFINI_DTYPE_C16 = 15
    INFINI_DTYPE_C32 = 16
    INFINI_DTYPE_C64 = 17
    INFINI_DTYPE_C128 = 18
    INFINI_DTYPE_BF16 = 19
"""

DTYPE_BYTES = {
    **{"BYTE": 1, "BOOL": 1, "I8": 1, "I16": 2, "I32": 4, "I64": 8},
    **{"U8": 1, "U16": 2, "U32": 4, "U64": 8},
    **{"F8": 1, "F16": 2, "BF16": 2, "F32": 4, "F64": 8},
    **{"C16": 2, "C32": 4, "C64": 8, "C128": 16},
}

# Enums of infinirt.h.
ENUMS = """
enum infinirtMemcpyKind_t  Which way a copy goes.
    INFINIRT_MEMCPY_H2H = 0
    INFINIRT_MEMCPY_H2D = 1
    INFINIRT_MEMCPY_D2H = 2
    INFINIRT_MEMCPY_D2D = 3

enum infinirtEventStatus_t  Whether an event has happened.
    INFINIRT_EVENT_COMPLETE = 0
    INFINIRT_EVENT_NOT_READY = 1

enum infinirtEventFlags_t  How an event behaves.
    INFINIRT_EVENT_DEFAULT = 0
    INFINIRT_EVENT_DISABLE_TIMING = 1   cannot be used for elapsed time
    INFINIRT_EVENT_BLOCKING_SYNC = 2    a thread that waits for it sleeps

enum infinirtStreamCaptureMode_t  How strict a capture is with calls that could disturb it.
    INFINIRT_STREAM_CAPTURE_MODE_GLOBAL = 0
    INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1
    INFINIRT_STREAM_CAPTURE_MODE_RELAXED = 2

enum infinirtResourceField_t  Bits of `valid_fields` and `estimated_fields`.
    INFINIRT_RESOURCE_FIELD_NONE = 0
    INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY = 1
    INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2
    INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4
    INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8
    INFINIRT_RESOURCE_FIELD_COMMUNICATION = 16
"""

STRUCTS = """
struct infinirtDeviceResourceSnapshot_t [80 bytes]
    infiniDevice_t device_type
    int device_id
    uint64_t valid_fields
    uint64_t estimated_fields
    size_t free_bytes
    size_t total_bytes
    size_t used_bytes
    size_t reserved_bytes
    float compute_utilization
    float memory_bandwidth_utilization
    float kernel_time_ratio
    float communication_time_ratio
    uint64_t communication_bytes
"""

HANDLES = """
infinirtStream_t = void *
infinirtEvent_t = void *
infinirtGraph_t = void *
infinirtGraphNode_t = void *
infinirtGraphExec_t = void *
"""

# The status for each error of the aligned face. Errors that are not listed become INTERNAL_ERROR.
STATUS_OF_ERROR = """
SUCCESS = Success
BAD_PARAM = ErrorInvalidValue ErrorInvalidPitchValue ErrorInvalidMemcpyDirection
BAD_PARAM = ErrorInvalidHostPointer ErrorInvalidDevicePointer ErrorInvalidResourceHandle
BAD_PARAM = ErrorInvalidConfiguration
BAD_PARAM = ErrorHostMemoryAlreadyRegistered ErrorHostMemoryNotRegistered ErrorIllegalState
NOT_IMPLEMENTED = ErrorNotSupported ErrorNotYetImplemented
DEVICE_NOT_FOUND = ErrorNoDevice ErrorInvalidDevice ErrorDevicesUnavailable
DEVICE_NOT_INITIALIZED = ErrorInitializationError ErrorDeviceUninitialized ErrorInsufficientDriver
"""
