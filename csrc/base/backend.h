/* The back-end contract: everything a vendor implements and the core calls.
 *
 * A back end is one shared library that exports `infini_backend_open`. The core opens it, checks
 * the sizes and versions below, asks it to probe its hardware, and from then on calls only these
 * tables. The core implements the rest of the runtime API in software: capture and graphs,
 * memory pools, pointer look-up, pitched copies, argument checks, error records, default devices
 * and streams.
 *
 * Rules
 *  - A table begins with its own size. Entries are only appended. The core treats entries
 *    beyond a table's size as null, so an older back end keeps working with a newer core.
 *  - An entry marked (optional) may be null; the text says what the core does then. All others
 *    must be set.
 *  - Every function returns an infinirtError_t. Before returning an error a back end may call
 *    InfiniHost::explain with one sentence for the user (the vendor's code and text, a hint).
 *  - Functions may be called from any thread, also concurrently; no function may throw.
 *  - The core passes only live objects of this back end, and validated memory ranges.
 *
 * Ownership: the core owns every stream, event and allocation it created and releases each exactly
 * once. If work still uses a stream or event that is destroyed, the back end keeps it alive until
 * that work is done.
 */
#ifndef INFINI_BACKEND_H
#define INFINI_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "infinirt_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INFINI_BACKEND_ABI 1

/* ---- Work: what can be submitted to a stream ------------------------------------------------ */

typedef enum InfiniWorkKind {
    /* Copy a box of bytes. */
    INFINI_WORK_COPY = 1,
    /* Fill a box with a repeated value of 1, 2 or 4 bytes. */
    INFINI_WORK_FILL = 2,
    /* Call a host function. It may block: other streams continue meanwhile. */
    INFINI_WORK_HOST = 3,
    /* Record an event. */
    INFINI_WORK_RECORD = 4,
    /* Wait for the latest record of an event that was submitted before this item. */
    INFINI_WORK_WAIT = 5,
    /* Run an operator's plan. Only for back ends that have InfiniOperators. */
    INFINI_WORK_KERNEL = 6
} InfiniWorkKind;

typedef struct InfiniCopy {
    void *dst;
    const void *src;
    size_t width, height, depth; /* bytes, rows, slices: none of them 0 */
    size_t dst_pitch, dst_slice; /* bytes from row to row, from slice to slice */
    size_t src_pitch, src_slice;
    int dst_device, src_device; /* device number, or -1 for host memory */
} InfiniCopy;

typedef struct InfiniFill {
    void *dst;
    uint32_t value;
    uint32_t element;            /* 1, 2 or 4 bytes */
    size_t width, height, depth; /* elements, rows, slices: none of them 0 */
    size_t pitch, slice;         /* bytes from row to row, from slice to slice */
} InfiniFill;

typedef struct InfiniHostCall {
    void (*function)(void *);
    void *data;
} InfiniHostCall;

typedef union InfiniScalar {
    int64_t i; /* integers, truth values, enumerators */
    double f;  /* float and double */
} InfiniScalar;

/* The arguments of one run of a plan. Array parameters are expanded into their entries. */
typedef struct InfiniArguments {
    void *const *pointers;       /* of the tensors, in the order of the run function's parameters */
    const InfiniScalar *scalars; /* its other parameters */
    size_t pointer_count, scalar_count;
    void *workspace; /* at least as large as the plan requires */
} InfiniArguments;

struct InfiniPlan; /* the back end's */

typedef struct InfiniKernel {
    struct InfiniPlan *plan;          /* whoever stores the work holds a reference */
    const InfiniArguments *arguments; /* whoever stores the work copies them */
} InfiniKernel;

typedef struct InfiniWork {
    InfiniWorkKind kind;
    union {
        InfiniCopy copy;
        InfiniFill fill;
        InfiniHostCall host;
        InfiniKernel kernel;
        void *event; /* RECORD, WAIT */
    } as;
} InfiniWork;

/* ---- Device properties ---------------------------------------------------------------------- */

typedef struct InfiniDeviceInfo {
    size_t size; /* sizeof(InfiniDeviceInfo), set by the core */
    char name[256];
    char bus_id[64]; /* PCI address or the like; empty if there is none */
    unsigned char uuid[16];
    size_t memory_bytes;
    int major, minor;    /* architecture version */
    int multiprocessors; /* cores or compute units */
    int clock_khz, memory_clock_khz, memory_bus_bits;
    int l2_bytes;
    int warp_width;
    int integrated;           /* shares memory with the host */
    int host_pointers_usable; /* kernels may dereference any host pointer */
    int copy_engines;
    /* Stream priorities; the greatest priority is the smaller number. */
    int least_priority, greatest_priority;
} InfiniDeviceInfo;

/* ---- The driver table ----------------------------------------------------------------------- */

typedef struct InfiniDriver {
    size_t size; /* sizeof(InfiniDriver) of the header that the back end was built with */

    /* -- Devices -- */

    /* Describe a device. */
    infinirtError_t (*device_info)(int device, InfiniDeviceInfo *info);
    /* Report free and total memory. */
    infinirtError_t (*device_memory)(int device, size_t *free_bytes, size_t *total_bytes);
    /* Wait for all streams of the device. */
    infinirtError_t (*device_synchronize)(int device);
    /* Answer an attribute query. (optional) Default: from device_info. */
    infinirtError_t (*device_attribute)(int device, enum infinirtDeviceAttr attribute, int *value);
    /* Can `device` access the memory of `peer`? (optional) Default: no. */
    infinirtError_t (*peer_access)(int device, int peer, int *can);

    /* -- Memory: `bytes` > 0, addresses at least 256-byte aligned -- */

    /* Allocate device memory, or return MemoryAllocation; the device stays usable. */
    infinirtError_t (*allocate)(int device, size_t bytes, void **memory);
    /* Free it. The core has waited for the work that uses it. */
    infinirtError_t (*release)(int device, void *memory, size_t bytes);
    /* Allocate pinned host memory. (optional) Default: plain host memory. */
    infinirtError_t (*allocate_host)(size_t bytes, unsigned flags, void **memory);
    /* Free it. (optional) Required with allocate_host. */
    infinirtError_t (*release_host)(void *memory, size_t bytes);
    /* Pin the caller's host memory. (optional) Default: no effect. */
    infinirtError_t (*register_host)(void *memory, size_t bytes, unsigned flags);
    /* Unpin it. (optional) Required with register_host. */
    infinirtError_t (*unregister_host)(void *memory, size_t bytes);
    /* Allocate memory for host and device; freed by release. (optional) Default: none. */
    infinirtError_t (*allocate_managed)(int device, size_t bytes, void **memory);

    /* -- Streams. A null handle is the device's legacy default stream: work in it waits for all
     *    work submitted before to the device's blocking streams, and the other way round. -- */

    /* Create a stream; flags and priority as in infinirtStreamCreateWithPriority. */
    infinirtError_t (*stream_create)(int device, unsigned flags, int priority, void **stream);
    /* Destroy a stream. Does not wait. */
    infinirtError_t (*stream_destroy)(int device, void *stream);
    /* Is all submitted work done? Success or NotReady. */
    infinirtError_t (*stream_query)(int device, void *stream);
    /* Wait until all submitted work is done. */
    infinirtError_t (*stream_synchronize)(int device, void *stream);
    /* Append `count` items, in order. The items are copied, but not what they refer to. */
    infinirtError_t (*submit)(int device, void *stream, const InfiniWork *work, size_t count);

    /* -- Events. Before its first record an event counts as complete. -- */

    /* Create an event; flags as in infinirtEventCreateWithFlags. */
    infinirtError_t (*event_create)(int device, unsigned flags, void **event);
    /* Destroy an event. Does not wait. */
    infinirtError_t (*event_destroy)(int device, void *event);
    /* Has the last submitted record happened? Success or NotReady. */
    infinirtError_t (*event_query)(int device, void *event);
    /* Wait for it. */
    infinirtError_t (*event_synchronize)(int device, void *event);
    /* Time between two records; InvalidResourceHandle without timing or record, or NotReady. */
    infinirtError_t (*event_elapsed)(void *start, void *end, float *milliseconds);

    /* -- Between processes (optional, all or none). Default: not supported. -- */

    /* Create a handle of an allocation that another process can open. */
    infinirtError_t (*memory_export)(int device, void *memory, size_t bytes,
                                     infinirtIpcMemHandle_t *handle);
    /* Open such a handle. */
    infinirtError_t (*memory_import)(int device, const infinirtIpcMemHandle_t *handle,
                                     void **memory, size_t *bytes);
    /* Close what memory_import opened. */
    infinirtError_t (*memory_close)(int device, void *memory, size_t bytes);
    /* Create a handle of an event that was created with infinirtEventInterprocess. */
    infinirtError_t (*event_export)(void *event, infinirtIpcEventHandle_t *handle);
    /* Open such a handle; destroyed by event_destroy. */
    infinirtError_t (*event_import)(int device, const infinirtIpcEventHandle_t *handle,
                                    void **event);

    /* Is all work in the streams of the device done, also in destroyed ones? Success or NotReady.
     * (optional) Default: the core waits for the device instead. */
    infinirtError_t (*device_query)(int device);
} InfiniDriver;

/* ---- Operators ------------------------------------------------------------------------------ */

typedef struct InfiniTensor {
    int dtype; /* infiniDtype_t; 0 when an optional tensor is absent */
    int ndim;
    const int64_t *shape;
    const int64_t *strides; /* in elements */
} InfiniTensor;

/* An attribute from the create call. Numbers are in `value` with their own type, and in `number`
 * as double. */
typedef struct InfiniAttribute {
    InfiniScalar value;
    double number;
    const void *list; /* int64_t[count] or text; null if it was not given */
    size_t count;
} InfiniAttribute;

/* One operator with everything that is known before it runs. Valid during the call only.
 *
 * A program with INFINI_PROGRAM_EPILOGUE is not the operator's own: it is a map over the
 * result of the kernel `name`. Tensors, pointers and scalars are the kernel's, then the program's.
 * Where the program reads tensor 0 it gets the kernel's unrounded result; tensor 0 has no memory
 * (its pointer is null) unless the program writes it. Today that kernel is gemm with beta 0. A back
 * end that does not support this returns NotImplemented, and gets the two operations separately. */
typedef struct InfiniOperation {
    const char *name;                  /* "rms_norm" */
    const InfiniTensor *tensors;       /* in the order of the create function's parameters */
    const InfiniAttribute *attributes; /* its other parameters */
    size_t tensor_count, attribute_count;
    const struct InfiniProgram *program; /* see infini/program.h; null: needs a kernel of its own */
    uint32_t modes;                      /* INFINI_MODE_... of the plan */
} InfiniOperation;
#define INFINI_MODE_BATCH_INVARIANT 1u /* a row's bits depend on no other row or thread count */
#define INFINI_MODE_TF32 2u            /* factors of F32 products may be rounded to TF32 */

typedef struct InfiniOperators {
    size_t size;

    /* Prepare an operator. The declaration's rules have been checked. Returns an infiniStatus_t;
     * NotImplemented with an explanation if the back end does not support the operation. */
    int (*plan)(int device, const InfiniOperation *operation, struct InfiniPlan **plan,
                size_t *workspace_bytes);
    /* A plan is reference-counted: it starts with one reference and is destroyed with the last. */
    void (*hold)(struct InfiniPlan *plan);
    void (*drop)(struct InfiniPlan *plan);
} InfiniOperators;

/* ---- What the core offers to a back end ----------------------------------------------------- */

typedef struct InfiniHost {
    size_t size;
    uint32_t abi;
    void (*explain)(
        const char *sentence); /* the reason of the error about to be returned (this thread) */
} InfiniHost;

/* ---- The back end --------------------------------------------------------------------------- */

typedef struct InfiniBackend {
    size_t size;         /* sizeof(InfiniBackend) */
    uint32_t abi;        /* INFINI_BACKEND_ABI that the back end was built with */
    const char *name;    /* device type, lower case: as in INFINI_DEVICE and `infini info` */
    const char *vendor;  /* for display */
    const char *version; /* of the back end, for display */

    /* Look for devices. Returns their number; 0 with one sentence in `reason` if there is none.
     * With devices `reason` may hold a remark, such as a setting that was ignored. */
    int (*probe)(char *reason, size_t reason_bytes);

    const InfiniDriver *driver;

    /* The back end's own implementation of a function of infinirt_runtime_api.h, by its name
     * without the prefix ("StreamCreate"), with that function's signature; null if it has none. The
     * core then forwards the caller's arguments to it instead of using its own implementation.
     * (optional) Default: the core implements every function. */
    void *(*function)(const char *name);

    /* Its operators. (optional) Default: none. */
    const InfiniOperators *operators;
} InfiniBackend;

/* The one symbol a back end exports. Returns null if it cannot work with this host. */
typedef const InfiniBackend *(*InfiniBackendOpen)(const InfiniHost *host);
#define INFINI_BACKEND_OPEN "infini_backend_open"

#ifdef __cplusplus
}
#endif
#endif
