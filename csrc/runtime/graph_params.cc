// What nodes do: checking it, reading it, setting it.
#include <cstring>

#include "graph_memory.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

Error refuse_empty(Call &call, const char *what) {
    return call.fail(infinirtErrorInvalidValue,
                     "the node would %s nothing: expected an extent of at least one byte", what);
}

// A single row has no pitch to speak of; CUDA's own getters give 0 for it.
infinirtPitchedPtr with_pitch(infinirtPitchedPtr pointer, size_t x, size_t width) {
    if (pointer.pitch == 0) pointer.pitch = x + width;
    return pointer;
}

}  // namespace

const char *type_name(infinirtGraphNodeType type) {
    switch (type) {
        case infinirtGraphNodeTypeKernel:
            return "kernel";
        case infinirtGraphNodeTypeMemcpy:
            return "memcpy";
        case infinirtGraphNodeTypeMemset:
            return "memset";
        case infinirtGraphNodeTypeHost:
            return "host";
        case infinirtGraphNodeTypeGraph:
            return "child graph";
        case infinirtGraphNodeTypeEmpty:
            return "empty";
        case infinirtGraphNodeTypeWaitEvent:
            return "event wait";
        case infinirtGraphNodeTypeEventRecord:
            return "event record";
        case infinirtGraphNodeTypeExtSemaphoreSignal:
            return "external semaphore signal";
        case infinirtGraphNodeTypeExtSemaphoreWait:
            return "external semaphore wait";
        case infinirtGraphNodeTypeMemAlloc:
            return "memory allocation";
        case infinirtGraphNodeTypeMemFree:
            return "memory free";
        case infinirtGraphNodeTypeConditional:
            return "conditional";
        default:
            return "unknown";
    }
}

Error check_type(Call &call, const Node &node, infinirtGraphNodeType type) {
    if (node.type == type) return infinirtSuccess;
    return call.fail(infinirtErrorInvalidValue, "the node is of type %s: expected %s",
                     type_name(node.type), type_name(type));
}

Error make_memcpy(Call &call, const infinirtMemcpy3DParms &copy, NodeParameters *made) {
    infinirtMemcpy3DParms full = copy;
    if (copy.extent.height == 1 && copy.extent.depth == 1) {
        full.dstPtr = with_pitch(copy.dstPtr, copy.dstPos.x, copy.extent.width);
        full.srcPtr = with_pitch(copy.srcPtr, copy.srcPos.x, copy.extent.width);
    }
    bool empty = false;
    if (Error error = make_copy(call, full, &made->work, &empty)) return error;
    if (empty) return refuse_empty(call, "copy");
    made->copy = full;
    return infinirtSuccess;
}

Error make_memcpy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                  NodeParameters *made) {
    bool empty = false;
    if (Error error = make_copy(call, dst, src, count, kind, &made->work, &empty)) return error;
    if (empty) return refuse_empty(call, "copy");
    made->copy = {};
    made->copy.dstPtr = {dst, count, count, 1};
    made->copy.srcPtr = {const_cast<void *>(src), count, count, 1};
    made->copy.extent = {count, 1, 1};
    made->copy.kind = kind;
    return infinirtSuccess;
}

Error make_memset(Call &call, const infinirtMemsetParams &fill, NodeParameters *made) {
    bool empty = false;
    if (Error error = make_fill(call, fill, &made->work, &empty)) return error;
    if (empty) return refuse_empty(call, "fill");
    made->fill = fill;
    return infinirtSuccess;
}

Error make_host(Call &call, infinirtHostFn_t function, void *data, NodeParameters *made) {
    if (!function)
        return call.fail(infinirtErrorInvalidValue,
                         "the function of the host node is null: expected a function");
    made->host = std::make_shared<HostCall>(HostCall{function, data});
    made->work.kind = INFINI_WORK_HOST;
    made->work.as.host = {HostCall::run, made->host.get()};
    return infinirtSuccess;
}

Error check_reserved(Call &call, const infinirtGraphNodeParams &parameters) {
    bool zero = parameters.reserved2 == 0;
    for (int each : parameters.reserved0) zero = zero && each == 0;
    if (zero) return infinirtSuccess;
    return call.fail(infinirtErrorInvalidValue,
                     "a reserved member of nodeParams is not 0: expected a zeroed structure");
}

Error make_parameters(Call &call, const infinirtGraphNodeParams &parameters, NodeParameters *made) {
    if (Error error = check_reserved(call, parameters)) return error;
    switch (parameters.type) {
        case infinirtGraphNodeTypeMemcpy:
            if (parameters.memcpy.flags != 0)
                return call.fail(infinirtErrorInvalidValue,
                                 "nodeParams.memcpy.flags is %d: expected 0",
                                 parameters.memcpy.flags);
            return make_memcpy(call, parameters.memcpy.copyParams, made);
        case infinirtGraphNodeTypeMemset: {
            const infinirtMemsetParamsV2 &fill = parameters.memset;
            return make_memset(
                call, {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height},
                made);
        }
        case infinirtGraphNodeTypeHost:
            return make_host(call, parameters.host.fn, parameters.host.userData, made);
        case infinirtGraphNodeTypeWaitEvent:
        case infinirtGraphNodeTypeEventRecord: {
            bool record = parameters.type == infinirtGraphNodeTypeEventRecord;
            made->event =
                call.event(record ? parameters.eventRecord.event : parameters.eventWait.event, 1,
                           record ? "nodeParams.eventRecord.event" : "nodeParams.eventWait.event");
            return made->event ? infinirtSuccess : call.error();
        }
        case infinirtGraphNodeTypeMemAlloc:
        case infinirtGraphNodeTypeMemFree:
        case infinirtGraphNodeTypeGraph:
        case infinirtGraphNodeTypeEmpty:
            return call.fail(infinirtErrorNotSupported, "a %s node cannot be set this way",
                             type_name(parameters.type));
        case infinirtGraphNodeTypeKernel:
        case infinirtGraphNodeTypeExtSemaphoreSignal:
        case infinirtGraphNodeTypeExtSemaphoreWait:
        case infinirtGraphNodeTypeConditional:
            return call.fail(infinirtErrorNotSupported, "%s nodes are not supported",
                             type_name(parameters.type));
        default:
            return call.fail(infinirtErrorInvalidValue,
                             "nodeParams.type is %d: expected one of infinirtGraphNodeType",
                             static_cast<int>(parameters.type));
    }
}

namespace impl {
namespace {

Error set(Call &call, Node &node, infinirtGraphNodeType type, NodeParameters &made) {
    GraphLock lock;
    if (Error error = check_type(call, node, type)) return error;
    if (type == infinirtGraphNodeTypeEventRecord && &made.event->device != node.device)
        return call.fail(infinirtErrorInvalidValue,
                         "the event belongs to device %d, the node to device %d: expected the same "
                         "device",
                         made.event->device.index, node.device->index);
    static_cast<NodeParameters &>(node) = made;
    return infinirtSuccess;
}

}  // namespace

Error GraphNodeSetParams(Call &call, Node &node, infinirtGraphNodeParams *nodeParams) {
    if (Error error = check_type(call, node, nodeParams->type)) return error;
    NodeParameters made;
    if (Error error = make_parameters(call, *nodeParams, &made)) return error;
    return set(call, node, nodeParams->type, made);
}

Error GraphMemcpyNodeGetParams(Call &call, Node &node, infinirtMemcpy3DParms *pNodeParams) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeMemcpy)) return error;
    *pNodeParams = node.copy;
    return infinirtSuccess;
}

Error GraphMemcpyNodeSetParams(Call &call, Node &node, const infinirtMemcpy3DParms *pNodeParams) {
    NodeParameters made;
    if (Error error = make_memcpy(call, *pNodeParams, &made)) return error;
    return set(call, node, infinirtGraphNodeTypeMemcpy, made);
}

Error GraphMemcpyNodeSetParams1D(Call &call, Node &node, void *dst, const void *src, size_t count,
                                 infinirtMemcpyKind kind) {
    NodeParameters made;
    if (Error error = make_memcpy(call, dst, src, count, kind, &made)) return error;
    return set(call, node, infinirtGraphNodeTypeMemcpy, made);
}

Error GraphMemsetNodeGetParams(Call &call, Node &node, infinirtMemsetParams *pNodeParams) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeMemset)) return error;
    *pNodeParams = node.fill;
    return infinirtSuccess;
}

Error GraphMemsetNodeSetParams(Call &call, Node &node, const infinirtMemsetParams *pNodeParams) {
    NodeParameters made;
    if (Error error = make_memset(call, *pNodeParams, &made)) return error;
    return set(call, node, infinirtGraphNodeTypeMemset, made);
}

Error GraphHostNodeGetParams(Call &call, Node &node, infinirtHostNodeParams *pNodeParams) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeHost)) return error;
    *pNodeParams = {node.host->function, node.host->data};
    return infinirtSuccess;
}

Error GraphHostNodeSetParams(Call &call, Node &node, const infinirtHostNodeParams *pNodeParams) {
    NodeParameters made;
    if (Error error = make_host(call, pNodeParams->fn, pNodeParams->userData, &made)) return error;
    return set(call, node, infinirtGraphNodeTypeHost, made);
}

Error GraphEventRecordNodeGetEvent(Call &call, Node &node, infinirtEvent_t *event_out) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeEventRecord)) return error;
    *event_out = handle_of(node.event);
    return infinirtSuccess;
}

Error GraphEventRecordNodeSetEvent(Call &call, Node &node, Event &event) {
    NodeParameters made;
    made.event = &event;
    return set(call, node, infinirtGraphNodeTypeEventRecord, made);
}

Error GraphEventWaitNodeGetEvent(Call &call, Node &node, infinirtEvent_t *event_out) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeWaitEvent)) return error;
    *event_out = handle_of(node.event);
    return infinirtSuccess;
}

Error GraphEventWaitNodeSetEvent(Call &call, Node &node, Event &event) {
    NodeParameters made;
    made.event = &event;
    return set(call, node, infinirtGraphNodeTypeWaitEvent, made);
}

Error GraphMemAllocNodeGetParams(Call &call, Node &node, infinirtMemAllocNodeParams *params_out) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeMemAlloc)) return error;
    *params_out = node.allocation;
    return infinirtSuccess;
}

Error GraphMemFreeNodeGetParams(Call &call, Node &node, void *dptr_out) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeMemFree)) return error;
    memcpy(dptr_out, &node.memory->base, sizeof(void *));  // the client's pointer may be misaligned
    return infinirtSuccess;
}

Error GraphChildGraphNodeGetGraph(Call &call, Node &node, infinirtGraph_t *pGraph) {
    GraphLock lock;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeGraph)) return error;
    *pGraph = handle_of(node.child);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
