/* Running graphs from C that were saved from Python or C++: load, write the inputs, run, read the
 * outputs. In libinfinicore_cpp_api. Error messages: infiniGetLastErrorMessage (infini/ext.h). */
#ifndef INFINI_GRAPH_H
#define INFINI_GRAPH_H

#include <stddef.h>

#include "infinirt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct InfiniGraph *infiniGraph_t;

/* An input or output, owned by the graph; `data` is on the graph's device and does not move. */
typedef struct infiniGraphTensor {
    size_t size; /* set to sizeof(infiniGraphTensor) by the caller */
    const char *name;
    infiniDtype_t dtype;
    size_t ndim;
    const size_t *shape;
    const ptrdiff_t *strides; /* in elements */
    size_t bytes;             /* of a dense tensor */
    void *data;
} infiniGraphTensor;

/* Load a file written by Graph.save, and prepare the graph for a device. */
INFINI_EXPORT infiniStatus_t infiniGraphLoad(infiniGraph_t *graph, const char *path,
                                             infiniDevice_t device, int device_index);
INFINI_EXPORT infiniStatus_t infiniGraphDestroy(infiniGraph_t graph);

INFINI_EXPORT infiniStatus_t infiniGraphGetInputCount(infiniGraph_t graph, size_t *count);
INFINI_EXPORT infiniStatus_t infiniGraphGetInput(infiniGraph_t graph, size_t index,
                                                 infiniGraphTensor *tensor);
INFINI_EXPORT infiniStatus_t infiniGraphGetOutputCount(infiniGraph_t graph, size_t *count);
INFINI_EXPORT infiniStatus_t infiniGraphGetOutput(infiniGraph_t graph, size_t index,
                                                  infiniGraphTensor *tensor);

/* Enqueue one run in the device's stream. infiniGraphSynchronize waits for it. */
INFINI_EXPORT infiniStatus_t infiniGraphRun(infiniGraph_t graph);
INFINI_EXPORT infiniStatus_t infiniGraphSynchronize(infiniGraph_t graph);

#ifdef __cplusplus
}
#endif
#endif
