// A runtime library with the interface of toolkit 13, over the simulated one for 12.9. It defines
// the functions and types that differ, with NVIDIA's declarations; everything else is found in the
// library that it is linked with.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "cuda_runtime_api.h"
#include "device_properties.inc"  // Properties12; translate(cudaDeviceProp &, const Properties12 &)

namespace {

using Error = cudaError_t;
using Stream = cudaStream_t;
using Graph = cudaGraph_t;
using Node = cudaGraphNode_t;
using Edge = cudaGraphEdgeData;

void *older = dlopen(OLDER, RTLD_NOW | RTLD_LOCAL);

template <class... Parameters>
auto in12(const char *name, Error (*)(Parameters...) = nullptr) {
    auto function = reinterpret_cast<Error (*)(Parameters...)>(dlsym(older, name));
    if (!function) abort();
    return function;
}

int number_of(const cudaMemLocation &location) {
    return location.type == cudaMemLocationTypeHost ? cudaCpuDeviceId : location.id;
}

struct Attributes12 {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

}  // namespace

extern "C" {

Error cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return cudaSuccess;
}

Error cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    Properties12 found;
    Error error = in12<Properties12 *, int>("cudaGetDeviceProperties_v2")(&found, device);
    if (error == cudaSuccess) translate(*properties, found);
    return error;
}

Error cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
    Attributes12 found;
    Error error = in12<Attributes12 *, const void *>("cudaPointerGetAttributes")(&found, pointer);
    memset(attributes, 0xee, sizeof *attributes);  // all of it, as the real library may
    attributes->type = found.type;
    attributes->device = found.device;
    attributes->devicePointer = found.devicePointer;
    attributes->hostPointer = found.hostPointer;
    return error;
}

Error cudaMemPrefetchAsync(const void *memory, size_t count, cudaMemLocation location,
                           unsigned flags, Stream stream) {
    if (flags != 0) return cudaErrorInvalidValue;
    return in12<const void *, size_t, int, Stream>("cudaMemPrefetchAsync")(
        memory, count, number_of(location), stream);
}

Error cudaMemAdvise(const void *memory, size_t count, cudaMemoryAdvise advice,
                    cudaMemLocation location) {
    return in12<const void *, size_t, cudaMemoryAdvise, int>("cudaMemAdvise")(memory, count, advice,
                                                                              number_of(location));
}

Error cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                           size_t count, cudaMemcpyAttributes *attributes, size_t *indices,
                           size_t number, Stream stream) {
    size_t failed;
    return in12<void *const *, const void *const *, const size_t *, size_t, cudaMemcpyAttributes *,
                size_t *, size_t, size_t *, Stream>("cudaMemcpyBatchAsync")(
        dsts, srcs, sizes, count, attributes, indices, number, &failed, stream);
}

Error cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp *list, unsigned long long flags,
                             Stream stream) {
    size_t failed;
    return in12<size_t, cudaMemcpy3DBatchOp *, size_t *, unsigned long long, Stream>(
        "cudaMemcpy3DBatchAsync")(count, list, &failed, flags, stream);
}

Error cudaStreamGetCaptureInfo(Stream stream, cudaStreamCaptureStatus *status,
                               unsigned long long *id, Graph *graph, const Node **nodes,
                               const Edge **edges, size_t *count) {
    return in12<Stream, cudaStreamCaptureStatus *, unsigned long long *, Graph *, const Node **,
                const Edge **, size_t *>("cudaStreamGetCaptureInfo_v3")(stream, status, id, graph,
                                                                        nodes, edges, count);
}

Error cudaStreamUpdateCaptureDependencies(Stream stream, Node *nodes, const Edge *edges,
                                          size_t count, unsigned flags) {
    return in12<Stream, Node *, const Edge *, size_t, unsigned>(
        "cudaStreamUpdateCaptureDependencies_v2")(stream, nodes, edges, count, flags);
}

Error cudaGraphGetEdges(Graph graph, Node *from, Node *to, Edge *edges, size_t *count) {
    return in12<Graph, Node *, Node *, Edge *, size_t *>("cudaGraphGetEdges_v2")(graph, from, to,
                                                                                 edges, count);
}

Error cudaGraphNodeGetDependencies(Node node, Node *nodes, Edge *edges, size_t *count) {
    return in12<Node, Node *, Edge *, size_t *>("cudaGraphNodeGetDependencies_v2")(node, nodes,
                                                                                   edges, count);
}

Error cudaGraphNodeGetDependentNodes(Node node, Node *nodes, Edge *edges, size_t *count) {
    return in12<Node, Node *, Edge *, size_t *>("cudaGraphNodeGetDependentNodes_v2")(node, nodes,
                                                                                     edges, count);
}

Error cudaGraphAddDependencies(Graph graph, const Node *from, const Node *to, const Edge *edges,
                               size_t count) {
    return in12<Graph, const Node *, const Node *, const Edge *, size_t>(
        "cudaGraphAddDependencies_v2")(graph, from, to, edges, count);
}

Error cudaGraphRemoveDependencies(Graph graph, const Node *from, const Node *to, const Edge *edges,
                                  size_t count) {
    return in12<Graph, const Node *, const Node *, const Edge *, size_t>(
        "cudaGraphRemoveDependencies_v2")(graph, from, to, edges, count);
}

Error cudaGraphAddNode(Node *node, Graph graph, const Node *nodes, const Edge *edges, size_t count,
                       cudaGraphNodeParams *parameters) {
    return in12<Node *, Graph, const Node *, const Edge *, size_t, cudaGraphNodeParams *>(
        "cudaGraphAddNode_v2")(node, graph, nodes, edges, count, parameters);
}

}  // extern "C"
