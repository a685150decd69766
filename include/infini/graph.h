/* Graphs that Python or C++ has saved, run from C: load, write the inputs, run, read the outputs.
 * In libinfinicore_cpp_api. Messages behind a status: infiniGetLastErrorMessage (infini/ext.h). */
#ifndef INFINI_GRAPH_H
#define INFINI_GRAPH_H

#include <stddef.h>

#include "infinirt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct InfiniGraph *infiniGraph_t;

/* An input or output. It belongs to the graph; `data` lies on the graph's device and stays where it
 * is. */
typedef struct infiniGraphTensor {
    size_t size; /* set to sizeof(infiniGraphTensor) by the caller */
    const char *name;
    infiniDtype_t dtype;
    size_t ndim;
    const size_t *shape;
    const ptrdiff_t *strides; /* in elements */
    size_t bytes;             /* of a tensor without gaps */
    void *data;
} infiniGraphTensor;

/* Reads a file that Graph.save wrote, and prepares the graph for a device. */
INFINI_EXPORT infiniStatus_t infiniGraphLoad(infiniGraph_t *graph, const char *path,
                                             infiniDevice_t device, int device_index);
INFINI_EXPORT infiniStatus_t infiniGraphDestroy(infiniGraph_t graph);

INFINI_EXPORT infiniStatus_t infiniGraphGetInputCount(infiniGraph_t graph, size_t *count);
INFINI_EXPORT infiniStatus_t infiniGraphGetInput(infiniGraph_t graph, size_t index,
                                                 infiniGraphTensor *tensor);
INFINI_EXPORT infiniStatus_t infiniGraphGetOutputCount(infiniGraph_t graph, size_t *count);
INFINI_EXPORT infiniStatus_t infiniGraphGetOutput(infiniGraph_t graph, size_t index,
                                                  infiniGraphTensor *tensor);

/* Queues one run in the device's stream, and returns. infiniGraphSynchronize waits for it. */
INFINI_EXPORT infiniStatus_t infiniGraphRun(infiniGraph_t graph);
INFINI_EXPORT infiniStatus_t infiniGraphSynchronize(infiniGraph_t graph);

#ifdef __cplusplus
}
#endif
#endif
